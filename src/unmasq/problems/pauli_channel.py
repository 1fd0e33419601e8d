"""Code-capacity noise as qubits: what each qubit's X, Y and Z error flips, and how often."""

import dataclasses

import numpy as np
from scipy import sparse

from unmasq.codes.lookup import Lookup, random_words, xor_at_ones
from unmasq.codes.symmetry import Indices, pair_orbits
from unmasq.problems.problem import DecodingProblem


@dataclasses.dataclass(frozen=True, eq=False)
class PauliChannel:
    """A code-capacity problem as qubits: what each qubit's X and Z error does, and how often.

    An X error of qubit j flips Z checks `checks_z[:, j]` and logicals `logicals_of_x[:, j]`.
    """

    rows_x: np.ndarray  # detectors that are X checks, which see Z errors
    rows_z: np.ndarray
    checks_x: np.ndarray  # (len(rows_x), n) uint8
    checks_z: np.ndarray
    logicals_of_x: np.ndarray  # (K, n) uint8
    logicals_of_z: np.ndarray
    probabilities: np.ndarray  # (n, 4) of I, X, Z, Y


def pauli_channel(problem: DecodingProblem, asker: str = "Quaternary BP") -> PauliChannel:
    """Finds the qubits of a code-capacity problem: triples of faults X, Z and Y = XZ.

    X faults flip Z checks only, Z faults X checks only; the logicals they reach are disjoint too.
    Independent faults with probabilities q make P(X) = q_x (1 - q_y)(1 - q_z) + (1 - q_x) q_y q_z
    and so on: exactly p/3 each for Stim's depolarizing channel.
    """
    types = problem.layout.check_type[problem.layout.check]
    rows_x, rows_z = np.flatnonzero(types == 0), np.flatnonzero(types == 1)
    checks = problem.check_matrix.tocsr()
    hits_x = np.asarray(checks[rows_x].sum(axis=0)).ravel() > 0
    hits_z = np.asarray(checks[rows_z].sum(axis=0)).ravel() > 0
    z_faults, x_faults = np.flatnonzero(hits_x & ~hits_z), np.flatnonzero(hits_z & ~hits_x)
    y_faults = np.flatnonzero(hits_x & hits_z)
    n = len(x_faults)
    if not (n == len(z_faults) == len(y_faults) > 0 and 3 * n == problem.num_faults):
        raise _not_code_capacity(problem, asker)

    stacked = np.concatenate([problem.check_matrix.toarray(), problem.logical_matrix.toarray()])
    of_x, of_z, of_y = (stacked[:, faults] for faults in (x_faults, z_faults, y_faults))
    parts_x, parts_z = of_x.any(axis=1), of_z.any(axis=1)
    if (parts_x & parts_z).any():
        raise _not_code_capacity(problem, asker)
    x_by_column = {column.tobytes(): j for j, column in enumerate(of_x.T)}
    z_by_column = {column.tobytes(): j for j, column in enumerate(of_z.T)}
    x_of_y = [x_by_column.get((column * parts_x).tobytes(), -1) for column in of_y.T]
    z_of_y = [z_by_column.get((column * parts_z).tobytes(), -1) for column in of_y.T]
    if sorted(x_of_y) != list(range(n)) or sorted(z_of_y) != list(range(n)):
        raise _not_code_capacity(problem, asker)

    # Qubits in the order of their X faults.
    order = np.argsort(x_of_y)
    partner = np.array(z_of_y)[order]
    of_z = of_z[:, partner]
    q_x, q_z, q_y = (
        problem.priors[faults] for faults in (x_faults, z_faults[partner], y_faults[order])
    )
    m = problem.num_detectors
    return PauliChannel(
        rows_x,
        rows_z,
        checks_x=of_z[rows_x],
        checks_z=of_x[rows_z],
        logicals_of_x=of_x[m:],
        logicals_of_z=of_z[m:],
        probabilities=np.stack(
            [
                (1 - q_x) * (1 - q_z) * (1 - q_y) + q_x * q_z * q_y,
                q_x * (1 - q_z) * (1 - q_y) + (1 - q_x) * q_z * q_y,
                q_z * (1 - q_x) * (1 - q_y) + (1 - q_z) * q_x * q_y,
                q_y * (1 - q_x) * (1 - q_z) + (1 - q_y) * q_x * q_z,
            ],
            axis=1,
        ),
    )


def _not_code_capacity(problem: DecodingProblem, asker: str) -> ValueError:
    return ValueError(
        f"{asker} must have code-capacity noise, an X, a Y and a Z fault for each qubit: got "
        f"{problem.name!r} with {problem.noise} noise and {problem.num_faults} faults. "
        "Use bposd-xz or relay-xz."
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Qubits:
    """The qubits of each check site, and the logicals of each qubit.

    With a symmetry, column i of `of_checks` holds the same edge everywhere: an element that takes
    check c to c' takes the i-th qubit of c to the i-th of c'.
    """

    of_checks: Indices  # (n_c, degree), -1 for none
    logicals_of_x: np.ndarray  # (K, n) uint8: flipped by the qubit's X error
    logicals_of_z: np.ndarray


def qubits_of(problem: DecodingProblem) -> Qubits:
    """Of a code-capacity problem."""
    channel, sites = pauli_channel(problem), problem.layout.check
    touched = np.zeros((problem.layout.num_checks, len(channel.probabilities)), bool)
    touched[sites[channel.rows_x]] = channel.checks_x
    touched[sites[channel.rows_z]] = channel.checks_z
    rank: np.ndarray = np.broadcast_to(np.arange(touched.shape[1]), touched.shape)
    if problem.symmetry is not None:
        images = problem.symmetry.check_images
        rank = pair_orbits(images, _qubit_images(touched, images))
    qubits = np.full((len(touched), int(touched.sum(axis=1).max())), -1, np.int32)
    for row, check, ranks in zip(qubits, touched, rank, strict=True):
        found = np.flatnonzero(check)
        if len(set(ranks[found])) < len(found):
            raise ValueError("The symmetry must not exchange qubits of one check while it stays.")
        row[: len(found)] = found[np.argsort(ranks[found])]
    return Qubits(qubits, channel.logicals_of_x, channel.logicals_of_z)


def _qubit_images(touched: np.ndarray, check_images: Indices) -> Indices:
    """Where each element takes each qubit: to the one with the images of its checks."""
    words = random_words(len(touched), np.random.default_rng(0))
    columns = sparse.csc_array(touched)
    by_checks = Lookup(xor_at_ones(columns, words))
    if not by_checks.unique().all():
        raise ValueError("Qubits must differ in their checks: got two that are alike.")
    moved = [by_checks.find(xor_at_ones(columns, words[element]))[0] for element in check_images]
    return np.stack(moved).astype(np.int32)
