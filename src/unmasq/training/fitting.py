"""How many updates fill the minutes that a run was given."""

import dataclasses
import time
from collections.abc import Callable

import jax

from unmasq.training.config import TrainConfig
from unmasq.training.curriculum import FrameRange, frame_ranges
from unmasq.training.processes import agreed
from unmasq.training.update import Trainer, TrainState

FIT_SHARE = 0.02  # of --fit-minutes, spent on measuring each stage


def fitted(
    trainer: Trainer,
    state: TrainState,
    minutes: float,
    started: float,
    say: Callable[[str], None],
) -> TrainConfig:
    """Measures every stage on throwaway updates and sets `num_updates` by it."""
    config = trainer.config
    say(f"{config.name}: compiling, then measuring")
    needed = 0.0
    for frames in frame_ranges(config, trainer.geometry.layout.num_frames):
        state, seconds = _seconds_per_update(trainer, state, frames, FIT_SHARE * 60 * minutes)
        needed += seconds * (frames.stop - frames.start)
    left = max(60 * minutes - (time.monotonic() - started), 0.0)
    updates = agreed(max(int(config.num_updates * left / needed), config.updates_per_call))
    say(
        f"{config.num_updates * config.batch_size / needed:,.0f} samples/s measured: "
        f"{updates} updates fill the {left:.0f} s left of {minutes} minutes"
        + ("; too few to learn much: give it more" if updates == config.updates_per_call else "")
    )
    return dataclasses.replace(config, num_updates=updates)


def _seconds_per_update(
    trainer: Trainer, state: TrainState, frames: FrameRange, at_least: float
) -> tuple[TrainState, float]:
    """Over `at_least` seconds and three turns, after one that compiles.

    A turn is one call for each number of rounds.
    """
    updates = trainer.config.updates_per_call
    turn = max(len(trainer.config.rounds), 1)
    calls = -turn
    begun = time.monotonic()
    while calls < 3 * turn or calls % turn or agreed(time.monotonic() - begun < at_least):
        state, losses = trainer.advance(state, frames, updates)
        jax.block_until_ready(losses)
        calls += 1
        if calls == 0:
            begun = time.monotonic()
    return state, (time.monotonic() - begun) / (calls * updates)
