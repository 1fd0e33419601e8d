"""The p of training shots at hand-computed updates."""

import jax.numpy as jnp
import jax.random as jr
import pytest

from unmasq.training import NoiseSchedule
from unmasq.training.shot_error_rate import draw_p, largest_p


def p_at(schedule, steps, num_updates=1000):
    return [float(largest_p(schedule, jnp.int32(s), jnp.float32(num_updates))) for s in steps]


def test_p_ramps_linearly_and_then_stays():
    schedule = NoiseSchedule(p=0.006, start=0.002, ramp=0.2)
    found = p_at(schedule, [0, 50, 100, 200, 201, 999])
    assert found == pytest.approx([0.002, 0.003, 0.004, 0.006, 0.006, 0.006])


def test_without_a_ramp_p_is_fixed():
    assert p_at(NoiseSchedule(p=0.006), [0, 999]) == pytest.approx([0.006, 0.006])


def test_p_of_each_shot_lies_between_the_lowest_and_the_largest():
    schedule = NoiseSchedule(p=0.006, low=0.5)
    p = draw_p(schedule, jnp.int32(7), jnp.float32(10), 4096, key=jr.key(1))
    assert 0.003 <= p.min() < 0.0031
    assert 0.0059 < p.max() <= 0.006
    assert abs(p.mean() - 0.0045) < 1e-4
