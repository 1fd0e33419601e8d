"""BP-OSD and BP-LSD: which detectors they read, `ldpc`'s meaning of the settings, known rates."""

import numpy as np
import pytest

from baselines.small_problems import repetition_problem, sampled_shots
from statistical import assert_rate
from unmasq.baselines import make_baseline
from unmasq.baselines.bposd import BpOsd
from unmasq.codes import get_code
from unmasq.problems.building import problem_from_code


@pytest.fixture(scope="module")
def bb18():
    return problem_from_code(get_code("bb18"), "circuit", 0.006, rounds=2)


def test_the_settings_are_the_papers(bb18):
    decoder = make_baseline("bposd-x", bb18)._decoder
    assert decoder.max_iter == 1000
    assert decoder.bp_method == "minimum_sum"
    assert decoder.ms_scaling_factor == 1.0
    assert decoder.schedule == "parallel"
    assert decoder.osd_method == "OSD_CS"
    assert decoder.osd_order == 3
    localised = make_baseline("bplsd-x", bb18)._decoder
    assert type(localised).__name__ == "BpLsdDecoder"
    assert localised.max_iter == 1000
    assert localised.lsd_method == "LSD_CS"
    assert localised.lsd_order == 3


@pytest.mark.parametrize("basis", ["X", "Z"])
def test_x_reads_the_checks_that_see_the_logicals_and_no_others(basis):
    problem = problem_from_code(get_code("bb18"), "circuit", 0.006, rounds=2, basis=basis)
    types = problem.layout.check_type[problem.layout.check]
    syndromes, _ = sampled_shots(problem, 20, seed=0)
    without = syndromes.copy()
    without[:, types == 1 - "XZ".index(basis)] = 0
    decoder = make_baseline("bposd-x", problem)
    np.testing.assert_array_equal(decoder.decode_batch(without), decoder.decode_batch(syndromes))
    only_others = syndromes.copy()
    only_others[:, types == "XZ".index(basis)] = 0
    assert only_others.any()
    assert not decoder.decode_batch(only_others).any()


def test_x_is_refused_where_logicals_need_both_types():
    problem = problem_from_code(get_code("bb18"), "code-capacity", 0.05)
    with pytest.raises(ValueError, match=r"basis 'XZ'.*'-xz' decoder"):
        make_baseline("bposd-x", problem)
    make_baseline("bposd-xz", problem)


def test_the_order_stays_below_the_number_of_free_columns():
    """One free column; `ldpc` would write out of bounds at order 3."""
    problem = repetition_problem([0.1, 0.2, 0.1])
    assert make_baseline("bposd-xz", problem)._decoder.osd_order == 1


@pytest.mark.parametrize("scaling", [1.0, 0.5])
def test_ldpc_scales_min_sum_by_a_constant(scaling, bb18):
    """Three iterations, by the definition, on a syndrome on which BP does not stop before."""
    problem = bb18.restricted_to_type(0)[1]
    checks = problem.check_matrix.toarray()
    channel = np.log((1 - problem.priors) / problem.priors)
    decoder = BpOsd(bb18, max_iterations=3, scaling=scaling)._decoder
    syndrome = np.random.default_rng(1).integers(0, 2, len(checks), np.uint8)
    decoder.decode(syndrome)
    assert not decoder.converge
    told = np.zeros(checks.shape)
    for _ in range(3):
        heard = np.where(checks, channel + told.sum(axis=0) - told, np.inf)
        for c, row in enumerate(heard):
            for j in np.flatnonzero(checks[c]):
                others = np.delete(row, j)
                sign = (-1) ** (syndrome[c] + (others <= 0).sum())
                told[c, j] = scaling * sign * np.abs(others).min()
    np.testing.assert_allclose(decoder.log_prob_ratios, channel + told.sum(axis=0), rtol=1e-9)


@pytest.mark.parametrize(("p", "expected"), [(0.006, 0.231), (0.003, 0.067)])
def test_the_error_rate_on_the_small_code_is_the_known_one(p, expected):
    problem = problem_from_code(get_code("bb18"), "circuit", p, rounds=4)
    syndromes, logicals = sampled_shots(problem, 1500, seed=2)
    predictions = make_baseline("bposd-x", problem).decode_batch(syndromes)
    failures = (predictions != logicals).any(axis=1).sum()
    assert_rate(int(failures), 1500, expected)
