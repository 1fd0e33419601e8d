"""K[r], J, Pi[r] and l[r] against the paper's formulas, transcribed loop by loop."""

import numpy as np
import pytest
import stim

from unmasq.codes import get_code
from unmasq.problems.building import problem_from_circuit, problem_from_code, problem_from_dem
from unmasq.problems.frames import (
    check_correlations,
    fault_seen,
    intermediate_logicals,
    seen_checks,
)


def ragged():
    """Stim's surface code: the first and the last frame lack half of the checks."""
    circuit = stim.Circuit.generated(
        "surface_code:rotated_memory_z",
        distance=3,
        rounds=3,
        after_clifford_depolarization=0.01,
    )
    return problem_from_circuit(circuit)


def full():
    return problem_from_code(get_code("bb18"), "circuit", 0.006, rounds=1)


def capacity():
    return problem_from_code(get_code("bb18"), "code-capacity", 0.01)


PROBLEMS = pytest.mark.parametrize("make", [ragged, full, capacity])


def blocks_of(problem):
    """H as H[0], H[1], ..., H[R], each (n_c, N); rows of missing checks are 0."""
    h = problem.check_matrix.toarray().astype(int)
    layout = problem.layout
    blocks = np.zeros((layout.num_frames, layout.num_checks, problem.num_faults), int)
    for detector in range(problem.num_detectors):
        blocks[layout.frame[detector], layout.check[detector]] = h[detector]
    return blocks


def h_tilde(blocks, r):
    """H~[r]_ij = 1 if sum over r' = 0..r of H[r']_ij > 0, else 0."""
    total = np.zeros_like(blocks[0])
    for earlier in range(r + 1):
        total = total + blocks[earlier]
    return (total > 0).astype(int)


def product_with_transpose(matrix):
    """The entry (j, k) counts the faults that touch both j and k."""
    size = len(matrix)
    counts = np.zeros((size, size), int)
    for j in range(size):
        for k in range(size):
            counts[j, k] = sum(matrix[j] * matrix[k])
    return counts


@PROBLEMS
def test_seen_checks_are_h_tilde(make):
    problem = make()
    blocks = blocks_of(problem)
    for r, seen in enumerate(seen_checks(problem)):
        np.testing.assert_array_equal(seen.toarray(), h_tilde(blocks, r))


@PROBLEMS
def test_check_correlations_are_k_tilde(make):
    problem = make()
    blocks = blocks_of(problem)
    correlations = check_correlations(problem)
    assert correlations.shape[0] == problem.num_rounds + 1
    for r, correlation in enumerate(correlations):
        np.testing.assert_array_equal(correlation, product_with_transpose(h_tilde(blocks, r)))


@PROBLEMS
def test_intermediate_logicals_are_l_pi(make):
    problem = make()
    blocks = blocks_of(problem)
    logical_matrix = problem.logical_matrix.toarray().astype(int)
    rng = np.random.default_rng(0)
    errors = rng.integers(0, 2, problem.num_faults)
    for r, (seen, rows) in enumerate(
        zip(fault_seen(problem), intermediate_logicals(problem), strict=True)
    ):
        pi = [int(sum(h_tilde(blocks, r)[:, k]) > 0) for k in range(problem.num_faults)]
        np.testing.assert_array_equal(seen, np.array(pi, bool))
        expected = logical_matrix @ (np.array(pi) * errors) % 2
        np.testing.assert_array_equal(rows.toarray().astype(int) @ errors % 2, expected)


def test_a_fault_that_no_check_sees_still_flips_the_final_logicals():
    dem = stim.DetectorErrorModel(
        "error(0.1) D0 L0\nerror(0.1) D1 L0\nerror(0.1) L0\ndetector(0, 0) D0\ndetector(0, 1) D1"
    )
    problem = problem_from_dem(dem)
    assert problem.faults() == [((), (0,)), ((0,), (0,)), ((1,), (0,))]
    first, last = (rows.toarray().tolist() for rows in intermediate_logicals(problem))
    assert first == [[0, 1, 0]]
    assert last == [[1, 1, 1]]
    np.testing.assert_array_equal(fault_seen(problem), [[False, True, False], [False, True, True]])


def test_later_frames_see_at_least_what_earlier_ones_saw():
    correlations = check_correlations(full())
    assert (np.diff(correlations, axis=0) >= 0).all()
    assert (np.diff(fault_seen(full()).astype(int), axis=0) >= 0).all()
