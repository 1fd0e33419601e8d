"""Matching: faults split into edges as Stim splits them."""

import numpy as np
import pymatching
import pytest
import stim

from baselines.small_problems import sampled_shots
from unmasq.baselines import make_baseline
from unmasq.baselines.matching import is_matchable
from unmasq.codes import get_code
from unmasq.problems.building import (
    problem_from_circuit,
    problem_from_code,
    problem_from_dem,
    problem_from_matrices,
)


def surface_code():
    return stim.Circuit.generated(
        "surface_code:rotated_memory_z",
        distance=3,
        rounds=3,
        after_clifford_depolarization=0.01,
        before_measure_flip_probability=0.01,
    )


def test_it_decodes_as_pymatching_does_with_the_model_that_stim_splits():
    circuit = surface_code()
    problem = problem_from_circuit(circuit)
    syndromes, logicals = sampled_shots(problem, 2000, seed=0)
    theirs = pymatching.Matching.from_detector_error_model(
        circuit.detector_error_model(decompose_errors=True)
    ).decode_batch(syndromes)
    ours = make_baseline("pymatching", problem).decode_batch(syndromes)
    assert (ours != theirs).any(axis=1).mean() < 0.01  # ties, and splits that are not unique
    failures = [(bits != logicals).any(axis=1).sum() for bits in (ours, theirs)]
    assert 0 < failures[0] < 1.1 * failures[1]


def test_a_toric_code_is_matchable_and_a_bicycle_code_is_not():
    toric, bicycle = (
        problem_from_code(get_code(name), "circuit", 0.003, 2) for name in ("toric:3", "bb18")
    )
    assert is_matchable(toric)
    assert not is_matchable(bicycle)
    with pytest.raises(ValueError, match=r"must be made of ones with two detectors .* bposd-xz"):
        make_baseline("pymatching", bicycle)
    syndromes, logicals = sampled_shots(toric, 500, seed=0)
    predicted = make_baseline("pymatching", toric).decode_batch(syndromes)
    assert (predicted != logicals).any(axis=1).sum() < logicals.any(axis=1).sum() / 2


def test_a_split_fault_keeps_its_logicals():
    """D0 D1 D2 L0 is D0 L0 and D1 D2, not D0 and D1 D2 L1."""
    dem = "error(0.1) D0 L0\nerror(0.1) D1 D2\nerror(0.01) D0 D1 D2 L0\nerror(0.1) D3 L1"
    problem = problem_from_dem(stim.DetectorErrorModel(dem))
    syndrome = np.array([[1, 1, 1, 0], [0, 0, 0, 1]], np.uint8)
    assert make_baseline("pymatching", problem).decode_batch(syndrome).tolist() == [[1, 0], [0, 1]]
    other = problem_from_dem(stim.DetectorErrorModel(dem.replace("D0 D1 D2 L0", "D0 D1 D2 L1")))
    assert not is_matchable(other)


def test_faults_that_nothing_sees_are_left_to_the_others():
    problem = problem_from_matrices([[1, 0]], [[1, 1]], [0.1, 0.01])
    assert make_baseline("pymatching", problem).decode_batch(np.eye(1, dtype=np.uint8)) == [[1]]
