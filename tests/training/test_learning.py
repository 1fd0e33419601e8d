"""Training works: every objective and optimizer learns, and decoders come out of it."""

import dataclasses

import numpy as np
import pytest

from quick_compilation import fully_compiled
from statistical import assert_rate
from tiny_runs import TINY, repetition_problem
from unmasq.codes import get_code
from unmasq.problems.building import problem_from_code
from unmasq.recipes import get_recipe
from unmasq.training import NoiseSchedule, OptimizerConfig, override
from unmasq.training.curriculum import frame_ranges
from unmasq.training.loop import train
from unmasq.training.make_trainer import make_trainer
from unmasq.training.measure import error_counts
from unmasq.training.run_folder import RunFolder

SMOKE = dataclasses.replace(
    TINY,
    num_updates=60,
    batch_size=64,
    updates_per_call=20,
    noise=NoiseSchedule(p=0.02),
    optimizer=OptimizerConfig(learning_rate=1e-2),
)


@pytest.fixture(scope="module")
def capacity():
    return problem_from_code(get_code("bb18"), "code-capacity", 0.02)


@pytest.mark.parametrize(
    "settings",
    [
        ["objective=masked"],
        ["num_steps=1", "optimizer.kind=muon"],
        ["objective=autoregressive", "compute_dtype=bfloat16"],
        ["optimizer.kind=muon", "compute_dtype=bfloat16", "network.ties=tied"],
        ["network.ties=tied", "network.bp_iterations=4", "pool=2", "compute_dtype=bfloat16"],
        ["objective=continuous", "network.kind=continuous", "network.feedforward=64"],
    ],
    ids=[
        "masked",
        "T=1 muon",
        "autoregressive bf16",
        "tied muon bf16",
        "beliefs bf16",
        "continuous",
    ],
)
def test_every_objective_learns(capacity, settings):
    config = override(SMOKE, settings)
    trainer = make_trainer(config, capacity)
    state, losses = trainer.start(), []
    for _ in range(3):
        state, new = trainer.advance(state, frame_ranges(config, 1)[0], 20)
        losses.extend(np.asarray(new))
    assert np.mean(losses[-20:]) < 0.5 * losses[0]
    (row,) = error_counts(trainer.network(state.average), capacity, config, [0.02], 1024)
    assert row["shots"] == 1024
    assert 0 < row["failures"] < 1024
    assert ("failures_T1" in row) == (config.objective == "masked")


def test_a_decoder_of_the_repetition_code_beats_no_flip(tmp_path):
    """p = 0.2: no flip fails with 0.2, the best decoder with 3 p^2 (1 - p) + p^3 = 0.104."""
    config = dataclasses.replace(
        TINY,
        num_updates=200,
        batch_size=64,
        updates_per_call=50,
        optimizer=OptimizerConfig(learning_rate=1e-2, warm_up=0.1, flat_until=0.5, last=0.1),
        ema=0.9,
        evaluate_shots=8192,
    )
    record = train(config, repetition_problem(), RunFolder(tmp_path / "run"))
    (row,) = record["evaluation"]
    assert_rate(row["failures"], row["shots"], 0.104)


@pytest.mark.slow
def test_a_small_circuit_level_network_learns(tmp_path):
    """[[18,4,4]], 2 rounds: about a minute on one core.

    A network that knows only how often each logical flips has loss 2.0 at p = 0.006 (1.4 at 0.003)
    and fails as no flip does, on 0.47 of the shots. Three seeds came to losses of 0.50 to 0.52 and
    to rates of 0.226 to 0.247.
    """
    config = override(
        get_recipe("bb18-circuit"),
        [
            "network.width=32",
            "network.feedforward=64",
            "network.heads=8",
            "network.encoder_layers=1",
            "network.decoder_layers=1",
            "num_updates=600",
            "batch_size=128",
            "updates_per_call=25",
            "evaluate_p=[0.006]",
            "evaluate_shots=4096",
        ],
    )
    problem = problem_from_code(get_code("bb18"), "circuit", 0.006, 2)
    run = RunFolder(tmp_path / "run")
    with fully_compiled():
        record = train(config, problem, run)
    losses = [r["loss"] for r in run.metrics() if "loss" in r]
    assert np.mean(losses[-4:]) < 0.6
    (row,) = record["evaluation"]
    assert row["failures"] < 0.28 * row["shots"]
