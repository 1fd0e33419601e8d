"""The noise of training: what is kept of it, and when other noise is clearly other."""

import numpy as np
import pytest

from unmasq.circuits import NoiseModel
from unmasq.codes import get_code
from unmasq.problems.any_rounds import AnyRounds
from unmasq.problems.building import problem_from_code
from unmasq.problems.trained_noise import TrainedNoise, trained_noise


@pytest.fixture(scope="module")
def problem():
    return problem_from_code(get_code("bb18"), "circuit", 0.006, 2)


def test_some_faults_of_every_kind_are_kept(problem):
    noise = TrainedNoise.of(problem, 0.003, 0.006)
    kinds = {f"{prior:.6e}" for prior in problem.priors}
    assert {f"{prior:.6e}" for prior in noise.priors} == kinds
    assert len(noise.faults) <= 4 * len(kinds)
    assert (np.diff(noise.faults) > 0).all()


def test_it_reads_what_it_writes(problem):
    noise = TrainedNoise.of(problem, 0.003, 0.006)
    again = TrainedNoise.read(noise.facts())
    assert again.label == noise.label == "p = 0.003 to 0.006"
    np.testing.assert_array_equal(again.faults, noise.faults)
    np.testing.assert_allclose(again.priors, noise.priors, rtol=1e-5)


@pytest.mark.parametrize("p", [1e-7, 0.001, 0.006, 0.0115])
def test_the_same_noise_at_a_lower_rate_is_no_other(problem, p):
    assert TrainedNoise.of(problem, 0.003, 0.006).difference(problem.at(p)) is None


@pytest.mark.parametrize(
    ("rates", "differs"),
    [
        ((1, 1, 1, 1.4), False),
        ((1, 1, 1, 10), True),
        ((1, 0.1, 1, 1), True),
        ((0.2, 1, 1, 1), True),
        ((0.5, 0.5, 0.5, 0.5), False),
    ],
)
def test_ratios_decide_and_not_the_scale(problem, rates, differs):
    biased = problem_from_code(get_code("bb18"), NoiseModel(*(0.003 * r for r in rates)), rounds=2)
    assert biased.structure_id == problem.structure_id
    found = TrainedNoise.of(problem, 0.003, 0.006).difference(biased)
    assert (found is not None) == differs


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"low": 0.1},
        {"low": "x", "high": 0.1},
        {"low": 0.1, "high": 0.1, "faults": [1, 2], "priors": [0.1]},
        {"low": 0.1, "high": 0.1, "faults": [-1], "priors": [0.1]},
        {"low": 0.1, "high": 0.1, "faults": 3, "priors": None},
        7,
    ],
)
def test_what_was_altered_is_refused_in_one_line(facts):
    with pytest.raises(ValueError, match="noise of a model must have low and high"):
        TrainedNoise.read(facts)
    with pytest.raises(ValueError, match="rounds of a model must have id"):
        AnyRounds.read(facts)


@pytest.mark.parametrize(
    "card",
    [{}, {"recipe": None}, {"recipe": {"noise": 3}}, {"recipe": {"noise": {"p": "x"}}}],
)
def test_a_card_that_does_not_say_leaves_it_open(card):
    assert trained_noise({}, card) is None
