"""One experiment, two readouts: the logicals of both bases over the same faults.

A memory experiment reads out the logicals of one basis. Its detectors and faults are those of the
other basis too, only L differs; stacked, they let one network learn both. `read_out` takes some of
the logicals again, as an experiment has them.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from unmasq.codes.symmetry import Symmetry
from unmasq.problems.faults import FaultKey, fault_columns
from unmasq.problems.problem import DecodingProblem


def both_bases(of_x: DecodingProblem, of_z: DecodingProblem) -> DecodingProblem:
    """The logicals of X above those of Z; both problems must have the same faults.

    >>> from unmasq.codes import get_code
    >>> from unmasq.problems.building import problem_from_code
    >>> x, z = (problem_from_code(get_code("bb18"), "circuit", 0.003, 2, basis) for basis in "XZ")
    >>> both_bases(x, z).num_logicals
    8
    """
    z_logicals, z_priors = _by_detectors(of_z)
    x_logicals, x_priors = _by_detectors(of_x)
    if x_logicals.keys() != z_logicals.keys() or any(
        abs(x_priors[key] - z_priors[key]) > 1e-9 for key in x_priors
    ):
        raise ValueError(
            f"problems '{of_x.name}' and '{of_z.name}' must have the same faults in both bases: "
            f"got {of_x.num_faults} and {of_z.num_faults} that differ."
        )
    first = of_x.num_logicals
    keys = [
        (detectors, (*logicals, *(first + k for k in z_logicals[detectors])))
        for detectors, logicals in x_logicals.items()
    ]
    return _with_keys(of_x, keys, first + of_z.num_logicals, "XZ", _joined(of_x, of_z))


def read_out(problem: DecodingProblem, logicals: Sequence[int], basis: str) -> DecodingProblem:
    """The problem of some of its logicals alone; a symmetry keeps its tokens."""
    place = {k: i for i, k in enumerate(logicals)}
    keys = [
        (detectors, tuple(sorted(place[k] for k in flipped if k in place)))
        for detectors, flipped in problem.faults()
    ]
    _require_distinct([detectors for detectors, _ in keys], problem)
    symmetry = problem.symmetry
    if symmetry is not None:
        tokens = symmetry.basis_tokens[list(logicals)]
        symmetry = dataclasses.replace(symmetry, basis_tokens=tokens)
    return _with_keys(problem, keys, len(place), basis, symmetry)


def _joined(of_x: DecodingProblem, of_z: DecodingProblem) -> Symmetry | None:
    """Both sets of tokens under the same elements; None unless they move the checks alike."""
    x, z = of_x.symmetry, of_z.symmetry
    if x is None or z is None or not np.array_equal(x.check_images, z.check_images):
        return None
    return Symmetry(
        x.check_images,
        np.concatenate([x.token_images, x.num_tokens + z.token_images], axis=1),
        np.concatenate([x.basis_tokens, x.num_tokens + z.basis_tokens]),
    )


def _by_detectors(
    problem: DecodingProblem,
) -> tuple[dict[tuple[int, ...], tuple[int, ...]], dict[tuple[int, ...], float]]:
    """{detectors: logicals} and {detectors: prior}."""
    faults = problem.faults()
    logicals = dict(faults)
    _require_distinct([detectors for detectors, _ in faults], problem)
    return logicals, {key: q for (key, _), q in zip(faults, problem.priors.tolist(), strict=True)}


def _require_distinct(detectors: Sequence[tuple[int, ...]], problem: DecodingProblem) -> None:
    if len(set(detectors)) < len(detectors) or () in detectors:
        raise ValueError(
            f"problem '{problem.name}' must tell its faults apart by detectors: got two that "
            "differ in logicals alone, or one that no detector sees."
        )


def _with_keys(
    problem: DecodingProblem,
    keys: Sequence[FaultKey],
    num_logicals: int,
    basis: str,
    symmetry: Symmetry | None,
) -> DecodingProblem:
    """Fault j becomes `keys[j]`."""
    priors = dict(zip(keys, problem.priors.tolist(), strict=True))
    check_matrix, logical_matrix, values, order = fault_columns(
        priors, problem.num_detectors, num_logicals
    )
    return dataclasses.replace(
        problem,
        check_matrix=check_matrix,
        logical_matrix=logical_matrix,
        priors=values,
        channels=problem.channels.merged(keys, order) if problem.channels else None,
        basis=basis,
        symmetry=symmetry,
    )
