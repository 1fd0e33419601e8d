"""Schedules at hand-computed updates."""

import dataclasses

import jax.numpy as jnp
import pytest

from unmasq.training import OptimizerConfig, Stage, TrainConfig
from unmasq.training.curriculum import (
    FrameRange,
    frame_ranges,
    learning_rate_factor,
)


def factors(config, steps, num_updates=1000, rate_start=0):
    return [
        float(
            learning_rate_factor(
                config, jnp.int32(step), jnp.float32(num_updates), jnp.float32(rate_start)
            )
        )
        for step in steps
    ]


def test_without_a_schedule_the_rate_is_flat_from_the_first_update():
    assert factors(OptimizerConfig(), [0, 1, 500, 999]) == [1, 1, 1, 1]


def test_warm_up_is_linear_from_first_to_one():
    config = OptimizerConfig(first=0.2, warm_up=0.1)
    found = factors(config, [0, 25, 50, 100, 101, 999])
    assert found == pytest.approx([0.2, 0.4, 0.6, 1, 1, 1])


def test_a_cosine_falls_from_flat_until_to_fall_until():
    config = OptimizerConfig(flat_until=0.4, fall_until=0.8, last=0.1)
    found = factors(config, [0, 400, 500, 600, 700, 800, 999])
    expected = [1, 1, 0.1 + 0.9 * (2 + 2**0.5) / 4, 0.55, 0.1 + 0.9 * (2 - 2**0.5) / 4, 0.1, 0.1]
    assert found == pytest.approx(expected, rel=1e-5)


def test_a_changed_rate_warms_up_anew():
    config = OptimizerConfig(first=0.5, warm_up=0.1)
    assert factors(config, [500, 550, 600], rate_start=500) == pytest.approx([0.5, 0.75, 1])


def config(*stages, num_updates=1000):
    return TrainConfig("x", num_updates, 4, stages=stages)


def test_the_rest_of_a_run_trains_on_the_last_frame():
    assert frame_ranges(config(), 7) == [FrameRange(6, 6, 0, 1000)]
    found = frame_ranges(config(Stage(0, -1, 0.25), Stage(2, 4, 0.5)), 7)
    assert found == [
        FrameRange(0, 6, 0, 250),
        FrameRange(2, 4, 250, 750),
        FrameRange(6, 6, 750, 1000),
    ]


def test_stages_tile_the_updates_whatever_the_rounding():
    thirds = config(*[Stage(r, 2, 1 / 3) for r in range(3)], num_updates=100)
    found = frame_ranges(thirds, 3)
    assert [(r.start, r.stop) for r in found] == [(0, 33), (33, 67), (67, 100)]


def test_a_stage_of_less_than_an_update_is_left_out():
    found = frame_ranges(config(Stage(0, 0, 1e-6), Stage(1, 1, 0.5), num_updates=10), 2)
    assert found == [FrameRange(1, 1, 0, 5), FrameRange(1, 1, 5, 10)]


def test_a_stage_keeps_the_rate_of_the_one_before():
    stages = (Stage(0, 1, 0.2), Stage(0, 1, 0.2, rate=0.1), Stage(1, 1, 0.2, rate=0.1))
    found = frame_ranges(config(*stages), 2)
    assert [(r.start, r.rate, r.rate_start) for r in found] == [
        (0, 1.0, 0),
        (200, 0.1, 200),
        (400, 0.1, 200),
        (600, 0.1, 200),
    ]


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (Stage(0, 3, 0.5), "stage frames must lie in 0..2: got 3"),
        (Stage(-4, 2, 0.5), "stage frames must lie in 0..2: got -4"),
        (Stage(2, 1, 0.5), "stage must have first <= last: got 2 and 1"),
    ],
)
def test_stages_that_do_not_fit_are_refused(stage, message):
    with pytest.raises(ValueError, match=message):
        frame_ranges(dataclasses.replace(config(), stages=(stage,)), 3)
