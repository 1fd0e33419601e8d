"""The physical error rate p of each training shot."""

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float32, Int, PRNGKeyArray

from unmasq.training.config import NoiseSchedule


def draw_p(
    schedule: NoiseSchedule,
    step: Int[Array, ""],
    num_updates: Float32[Array, ""],
    shots: int,
    *,
    key: PRNGKeyArray,
) -> Float32[Array, " B"]:
    """The p of each training shot: uniform from `low` times the largest p up to it."""
    spread = jr.uniform(key, (shots,), minval=schedule.low, maxval=1.0)
    return largest_p(schedule, step, num_updates) * spread


def largest_p(
    schedule: NoiseSchedule, step: Int[Array, ""], num_updates: Float32[Array, ""]
) -> Float32[Array, ""]:
    """The largest p of a batch at this update."""
    now = jnp.asarray(step, jnp.float32)
    done = jnp.clip(now / jnp.maximum(schedule.ramp * num_updates, 1e-9), 0.0, 1.0)
    done = jnp.where(jnp.asarray(schedule.ramp) > 0, done, 1.0)
    return jnp.asarray(schedule.start + (schedule.p - schedule.start) * done, jnp.float32)
