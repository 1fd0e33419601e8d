"""How many updates a run has, what its stages and shots are, and recipes that do not fit."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tiny_runs import TINY, framed_problem
from unmasq.codes import get_code
from unmasq.problems.building import problem_from_code
from unmasq.shots.sampling import ShotSampler
from unmasq.training import NoiseSchedule, Stage, fitting, loop, override
from unmasq.training.curriculum import frame_ranges
from unmasq.training.loop import (
    RunTimes,
    train,
)
from unmasq.training.make_trainer import make_trainer
from unmasq.training.run_folder import RunFolder
from unmasq.training.update import Trainer


def not_needed(self, state, frames):
    """In place of `compiled`, where `advance` is made up: nothing is ever computed."""


def test_fit_minutes_fills_the_time_whatever_the_stages_cost(tmp_path, monkeypatch):
    """A second an update in the first half, a tenth of it in the second, by a made-up clock."""
    now = [0.0]

    def costly(self, state, frames, updates):
        now[0] += updates * (1.0 if frames.first == 0 else 0.1)
        return state._replace(step=state.step + updates), jnp.ones(updates)

    monkeypatch.setattr(Trainer, "advance", costly)
    monkeypatch.setattr(Trainer, "compiled", not_needed)
    monkeypatch.setattr(loop.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(fitting, "FIT_SHARE", 0.01)
    config = dataclasses.replace(
        override(TINY, ["network.encoder_layers=1", "evaluate_shots=0"]),
        stages=(Stage(0, -1, 0.5),),
    )
    run, said = RunFolder(tmp_path / "run"), []
    record = train(config, framed_problem(), run, times=RunTimes(fit_minutes=1.0), say=said.append)
    # 4 calls of 4 updates to measure each stage take 17.6 s; 77 updates fill the rest.
    assert record["finished"]
    assert record["step"] == run.open()[0].num_updates == 77
    assert said[:2] == [
        "tiny: compiling, then measuring",
        "29 samples/s measured: 77 updates fill the 42 s left of 1.0 minutes",
    ]
    assert now[0] == pytest.approx(60, abs=1.0)
    assert "evaluation" not in record


@pytest.mark.parametrize("name", ["minutes", "fit_minutes", "save_seconds"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_times_that_make_no_sense_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} must be at least 0: got"):
        RunTimes(**{name: value})


# What does not fit the problem


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["num_steps=3"], "num_steps must divide the 2 logicals: got 3. Choose one of 1, 2."),
        (["stages=[[0, 3, 0.5]]"], "stage frames must lie in 0..2: got 3"),
        (["network.ties=tied"], "ties must be 'free' for a problem without a known symmetry"),
        (["network.encoder_layers=0"], "encoder_layers must be at least 1 for 3 frames: got 0"),
        (
            ["objective=continuous", "network.kind=continuous", "stages=[[0, -1, 0.5]]"],
            "stages must be empty for a continuous network",
        ),
        (
            ["objective=continuous", "network.kind=continuous", "num_steps=20"],
            "num_steps must be at least 21",
        ),
    ],
)
def test_recipes_that_do_not_fit_leave_no_folder(tmp_path, settings, message):
    config = override(TINY, ["network.encoder_layers=1", *settings])
    with pytest.raises(ValueError, match=message):
        train(config, framed_problem(), RunFolder(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_shots_have_rates_of_their_own_in_the_scheduled_range(monkeypatch):
    config = dataclasses.replace(
        TINY, noise=NoiseSchedule(p=0.02, low=0.5, start=0.01, ramp=1.0), updates_per_call=1
    )
    seen = []
    draw = ShotSampler.__call__

    def watched(self, p, drift, *, key):
        assert drift is None
        jax.debug.callback(lambda p: seen.append(np.asarray(p)), p)
        return draw(self, p, key=key)

    monkeypatch.setattr(ShotSampler, "__call__", watched)
    trainer = make_trainer(config, problem_from_code(get_code("bb18"), "code-capacity", 0.01))
    (frames,) = frame_ranges(config, 1)
    state, _ = trainer.advance(trainer.start(), frames, 1)
    later = trainer.place(state._replace(step=jnp.int32(20)))  # half of the ramp
    jax.block_until_ready(trainer.advance(later, frames, 1))
    jax.effects_barrier()
    for rates, top in zip(seen, (0.01, 0.015), strict=True):
        assert rates.shape == (16,)
        assert len(set(rates.tolist())) == 16
        assert ((rates >= top / 2) & (rates <= top)).all()
        assert rates.max() > 0.75 * top > rates.min()


def test_stages_cut_the_calls(tmp_path, monkeypatch):
    """Calls never cross a stage, so a resumed run makes the same calls."""
    config = dataclasses.replace(
        override(TINY, ["network.encoder_layers=1", "evaluate_shots=0"]),
        stages=(Stage(0, -1, 0.25), Stage(1, -1, 0.25)),
    )
    calls = []

    def counted(self, state, frames, updates):
        calls.append((int(state.step), updates, frames.first))
        return state._replace(step=state.step + updates), jnp.ones(updates)

    monkeypatch.setattr(Trainer, "advance", counted)
    monkeypatch.setattr(Trainer, "compiled", not_needed)
    run = RunFolder(tmp_path / "run")
    train(config, framed_problem(), run)
    third = [(20, 4, 2), (24, 4, 2), (28, 4, 2), (32, 4, 2), (36, 4, 2)]
    expected = [(0, 4, 0), (4, 4, 0), (8, 2, 0), (10, 4, 1), (14, 4, 1), (18, 2, 1), *third]
    assert calls == expected
    records = [r for r in run.metrics() if "loss" in r]
    assert [r["step"] for r in records] == [step + updates for step, updates, _ in expected]
    assert [r["frames"] for r in records] == [[first, 2] for _, _, first in expected]
