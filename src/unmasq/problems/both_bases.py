"""One experiment, two readouts: the logicals of both bases over the same faults.

A memory experiment reads out the logicals of one basis. Its detectors and faults are those of the
other basis too, only L differs; stacked, they let one network learn both. `read_out` takes some of
the logicals again, as an experiment has them.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from unmasq.codes.symmetry import joined
from unmasq.problems.faults import column_supports
from unmasq.problems.problem import DecodingProblem


def both_bases(of_x: DecodingProblem, of_z: DecodingProblem) -> DecodingProblem:
    """The logicals of X above those of Z; both problems must have the same faults.

    >>> from unmasq.codes import get_code
    >>> from unmasq.problems.building import problem_from_code
    >>> x, z = (problem_from_code(get_code("bb18"), "circuit", 0.003, 2, basis) for basis in "XZ")
    >>> both_bases(x, z).num_logicals
    8
    """
    for problem in (of_x, of_z):
        _require_distinct(problem)
    if column_supports(of_x.check_matrix) != column_supports(of_z.check_matrix) or (
        np.abs(of_x.priors - of_z.priors).max(initial=0) > 1e-9
    ):
        raise ValueError(
            f"problems '{of_x.name}' and '{of_z.name}' must have the same faults in both bases: "
            f"got {of_x.num_faults} and {of_z.num_faults} that differ."
        )
    stacked = sparse.vstack([of_x.logical_matrix, of_z.logical_matrix], format="csc")
    x, z, symmetry = of_x.symmetry, of_z.symmetry, None
    if x is not None and z is not None and np.array_equal(x.check_images, z.check_images):
        symmetry = joined(x, z)
    return dataclasses.replace(of_x, logical_matrix=stacked, basis="XZ", symmetry=symmetry)


def read_out(problem: DecodingProblem, logicals: Sequence[int], basis: str) -> DecodingProblem:
    """The problem of some of its logicals alone; a symmetry keeps its tokens."""
    _require_distinct(problem)
    chosen = sparse.csc_array(problem.logical_matrix.tocsr()[list(logicals)])
    symmetry = problem.symmetry
    if symmetry is not None:
        tokens = symmetry.basis_tokens[list(logicals)]
        symmetry = dataclasses.replace(symmetry, basis_tokens=tokens)
    return dataclasses.replace(problem, logical_matrix=chosen, basis=basis, symmetry=symmetry)


def _require_distinct(problem: DecodingProblem) -> None:
    """Faults in order of their detectors stay in canonical order, whatever logicals they flip."""
    detectors = column_supports(problem.check_matrix)
    if len(set(detectors)) < len(detectors) or () in detectors:
        raise ValueError(
            f"problem '{problem.name}' must tell its faults apart by detectors: got two that "
            "differ in logicals alone, or one that no detector sees."
        )
