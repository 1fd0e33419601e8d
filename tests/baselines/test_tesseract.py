"""Tesseract: its error model is the problem, fault by fault, and it finds the likeliest error."""

import numpy as np
import pytest

from baselines.small_problems import sampled_shots
from unmasq.baselines import make_baseline
from unmasq.baselines.adapter import error_model
from unmasq.codes import get_code
from unmasq.problems.building import problem_from_code, problem_from_dem, problem_from_matrices


def test_the_error_model_is_the_problem_again():
    problem = problem_from_code(get_code("bb18"), "circuit", 0.003, rounds=1)
    again = problem_from_dem(error_model(problem))
    assert again.structure_id == problem.structure_id
    np.testing.assert_allclose(again.priors, problem.priors, rtol=1e-14)


def test_the_error_model_keeps_untouched_detectors_and_logicals():
    problem = problem_from_matrices([[1], [0]], [[0], [1], [0]], [0.125])
    dem = error_model(problem)
    assert (dem.num_detectors, dem.num_observables) == (2, 3)
    assert str(dem).splitlines()[0] == "error(0.125) D0 L1"


def test_it_beats_bp_osd_on_the_same_detectors():
    pytest.importorskip("tesseract_decoder")
    problem = problem_from_code(get_code("bb18"), "circuit", 0.008, rounds=2)
    syndromes, logicals = sampled_shots(problem, 1500, seed=0)
    search, bposd = (
        (make_baseline(name, problem).decode_batch(syndromes) != logicals).any(axis=1).sum()
        for name in ("tesseract-x", "bposd-x")
    )
    assert 0 < search < bposd  # 234 and 271 here
