"""Problems small enough to solve by hand or by listing everything."""

import numpy as np

from unmasq.problems.building import problem_from_matrices
from unmasq.problems.problem import DecodingProblem, Layout, fault_columns


def identity_problem(size: int) -> DecodingProblem:
    """Fault j flips detector j and logical j: the syndrome is the answer."""
    eye = np.eye(size, dtype=np.uint8)
    return problem_from_matrices(eye, eye, np.linspace(0.01, 0.1, size))


def repetition_problem(priors: list[float]) -> DecodingProblem:
    """Bits in a row, a check between neighbours; the logical is the first bit."""
    n = len(priors)
    checks = np.eye(n - 1, n, dtype=np.uint8) + np.eye(n - 1, n, k=1, dtype=np.uint8)
    return problem_from_matrices(checks, np.eye(1, n, dtype=np.uint8), priors)


def pauli_problem(
    checks_x: np.ndarray,
    checks_z: np.ndarray,
    logicals_x: np.ndarray,
    logicals_z: np.ndarray,
    priors: tuple[float, float, float],
) -> DecodingProblem:
    """Independent X, Z and Y faults on each qubit, with these priors; perfect checks.

    Detectors are X checks, then Z checks; logicals are X ones (flipped by Z), then Z ones.
    """
    n = checks_x.shape[1]
    of_z = np.concatenate([checks_x, 0 * checks_z, logicals_x, 0 * logicals_z])
    of_x = np.concatenate([0 * checks_x, checks_z, 0 * logicals_x, logicals_z])
    m = len(checks_x) + len(checks_z)
    faults = {}
    for columns, prior in zip((of_x, of_z, of_x ^ of_z), priors, strict=True):
        for j in range(n):
            detectors = tuple(np.flatnonzero(columns[:m, j]).tolist())
            logicals = tuple(np.flatnonzero(columns[m:, j]).tolist())
            assert (detectors, logicals) not in faults
            faults[detectors, logicals] = prior
    check_matrix, logical_matrix, values, _ = fault_columns(faults, m, len(of_x) - m)
    layout = Layout(
        np.zeros(m, np.int32),
        np.arange(m, dtype=np.int32),
        np.repeat([0, 1], [len(checks_x), len(checks_z)]).astype(np.int32),
        num_frames=1,
    )
    return DecodingProblem(
        check_matrix, logical_matrix, values, layout, sum(priors), "paulis", basis="XZ"
    )


def syndromes_of(problem: DecodingProblem, errors: np.ndarray) -> np.ndarray:
    return ((errors.astype(np.int64) @ problem.check_matrix.toarray().T) & 1).astype(np.uint8)


def logicals_of(problem: DecodingProblem, errors: np.ndarray) -> np.ndarray:
    return ((errors.astype(np.int64) @ problem.logical_matrix.toarray().T) & 1).astype(np.uint8)


def sampled_shots(problem: DecodingProblem, shots: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(syndromes, logicals) of independently drawn faults."""
    draws = np.random.default_rng(seed).random((shots, problem.num_faults))
    errors = (draws < problem.priors).astype(np.uint8)
    return syndromes_of(problem, errors), logicals_of(problem, errors)


def all_bits(width: int) -> np.ndarray:
    """All 2^width rows of bits, counted little-endian."""
    return ((np.arange(2**width)[:, None] >> np.arange(width)) & 1).astype(np.uint8)


def joint_distribution(problem: DecodingProblem) -> tuple[np.ndarray, np.ndarray]:
    """Every possible syndrome, and exactly P(syndrome, logicals).

    Row i of the first (2^rank, M) goes with row i of the second (2^rank, 2^K), whose columns count
    the logicals little-endian. Each fault mixes the distribution with itself shifted by the fault:
    no decoder and no sampling is involved.
    """
    from unmasq.codes import gf2

    checks = problem.check_matrix.toarray()
    _, independent = gf2.row_reduce(checks.T.copy())
    rank, k = len(independent), problem.num_logicals
    bits = np.concatenate([problem.logical_matrix.toarray(), checks[independent]])
    masks = (bits.astype(np.int64) << np.arange(k + rank)[:, None]).sum(axis=0)
    outcomes = np.arange(2 ** (k + rank))
    probability = np.zeros(len(outcomes))
    probability[0] = 1.0
    for mask, prior in zip(masks, problem.priors, strict=True):
        probability = (1 - prior) * probability + prior * probability[outcomes ^ mask]

    chosen = all_bits(rank)
    # All rows of H are combinations of the independent ones, and so are the syndrome's bits.
    coefficients = gf2.combine(checks[independent], checks)
    syndromes = (chosen.astype(np.int64) @ coefficients.T.astype(np.int64)) & 1
    return syndromes.astype(np.uint8), probability.reshape(2**rank, 2**k)


def success_probability(distribution: np.ndarray, predictions: np.ndarray) -> float:
    """Of a decoder that answers `predictions` to the syndromes of `joint_distribution`."""
    index = (predictions.astype(np.int64) << np.arange(predictions.shape[1])).sum(axis=1)
    return float(distribution[np.arange(len(index)), index].sum())
