"""Training on rates that drift, told or not, from nothing or from a network that was not told."""

import dataclasses

import numpy as np
import pytest

from tiny_runs import TINY
from unmasq.codes import get_code
from unmasq.decoding.diffusion_decoder import load
from unmasq.models.weights import named_arrays
from unmasq.problems.building import problem_from_code
from unmasq.training import NoiseSchedule, override
from unmasq.training.loop import train
from unmasq.training.make_trainer import make_trainer
from unmasq.training.run_folder import RunFolder

WEIGHT = "encoder.rate_embedding.weight"
NETWORK = ("network.encoder_layers=1", "network.mixing=messages", "network.message_width=8")
UNTOLD = override(
    dataclasses.replace(TINY, num_updates=8, noise=NoiseSchedule(0.01, low=0.5, spread=0.7)),
    [*NETWORK, "evaluate_p=[0.005]"],
)
TOLD = override(UNTOLD, ["network.told_rates=true"])


@pytest.fixture(scope="module")
def problem():
    return problem_from_code(get_code("bb18"), "circuit", 0.01, 1)


@pytest.fixture(scope="module")
def runs(tmp_path_factory, problem):
    folder = tmp_path_factory.mktemp("runs")
    for name, config in (("told", TOLD), ("untold", override(UNTOLD, ["evaluate_shots=0"]))):
        train(config, problem, RunFolder(folder / name))
    return folder


def first_loss(run):
    return RunFolder(run).metrics()[0]["loss"]


def test_both_see_the_same_shots_and_learn_apart(runs):
    """The first losses are means of four updates, the first of which is the same."""
    told, untold = first_loss(runs / "told"), first_loss(runs / "untold")
    assert told != untold
    assert told == pytest.approx(untold, rel=1e-2)
    assert np.any(load(runs / "told")._network.encoder.rate_embedding.weight)


def test_a_run_evaluates_at_the_rates_of_each_p_and_says_its_spread(runs, problem):
    decoder = load(runs / "told")
    assert decoder.identity.noise.spread == 0.7
    assert load(runs / "untold").identity.noise.spread == 0.0
    (row,) = RunFolder(runs / "told").metrics()[-1]["evaluation"]
    assert row["p"] == 0.005
    rates = decoder.for_problem(problem.at(0.005))._network.encoder.rates
    assert np.asarray(rates).min() == pytest.approx(np.log(0.5), abs=0.02)


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_told_network_starts_from_an_untold_one(runs, rounds):
    problem = problem_from_code(get_code("bb18"), "circuit", 0.01, rounds)
    start = runs / "untold" / "tiny.safetensors"
    found, old = (
        named_arrays(make_trainer(config, problem, start).start().weights)
        for config in (TOLD, UNTOLD)
    )
    assert found.keys() - old.keys() == {WEIGHT}
    assert not found[WEIGHT].any()
    assert all(np.array_equal(found[name], old[name]) for name in old)
    with pytest.raises(ValueError, match=r"told_rates|rate_embedding"):
        make_trainer(UNTOLD, problem, runs / "told" / "tiny.safetensors")


@pytest.mark.parametrize("spread", [-0.1, 2.5])
def test_a_spread_that_is_none_is_refused(spread):
    with pytest.raises(ValueError, match=r"spread must lie in \[0, 2\]"):
        NoiseSchedule(spread=spread)
