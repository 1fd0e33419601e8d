"""Masked diffusion: hiding logical bits, at random or from the end. No parameters."""

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, Int32, PRNGKeyArray, UInt8

MASK = 2  # beside the shown values 0 and 1
NUM_TOKENS = 3


def require_divisor(num_steps: int, num_logicals: int) -> None:
    """Refuses a training T for which n_l * t / T is not a whole number of bits."""
    if num_steps < 1 or num_logicals % num_steps:
        divisors = [t for t in range(1, num_logicals + 1) if num_logicals % t == 0]
        raise ValueError(
            f"num_steps must divide the {num_logicals} logicals: got {num_steps}. "
            f"Choose one of {', '.join(map(str, divisors))}."
        )


def draw_times(
    shots: int, num_steps: int, masks_per_shot: int, *, key: PRNGKeyArray
) -> Int32[Array, " masks"]:
    """t uniform in 1..T for every mask of the first shot, then of the second, and so on.

    The masks of one shot share 1..T evenly: mask i has its t in the i-th part of it.
    """
    part = jnp.arange(masks_per_shot, dtype=jnp.float32)[None, :]
    place = (part + jr.uniform(key, (shots, masks_per_shot))) / masks_per_shot
    t = 1 + jnp.floor(num_steps * place).astype(jnp.int32)
    return jnp.minimum(t, num_steps).ravel()  # the sum may round up to 1


def hide_at_random(
    logicals: UInt8[Array, "B K"], num_hidden: Int[Array, " B"], noise: Float[Array, "B K"]
) -> Int32[Array, "B K"]:
    """l_t from l: hides the `num_hidden` bits of each shot whose noise, uniform, is least."""
    order = jnp.argsort(noise, axis=1)
    rank = jnp.argsort(order, axis=1)
    return _hide(logicals, rank < num_hidden[:, None])


def hide_from_the_end(
    logicals: UInt8[Array, "B K"], num_hidden: Int[Array, " B"]
) -> Int32[Array, "B K"]:
    """Shows a prefix and hides the last `num_hidden` bits: the autoregressive process."""
    place = jnp.arange(logicals.shape[1])[None, :]
    return _hide(logicals, place >= logicals.shape[1] - num_hidden[:, None])


def _hide(logicals: UInt8[Array, "B K"], hidden: Bool[Array, "B K"]) -> Int32[Array, "B K"]:
    return jnp.where(hidden, jnp.int32(MASK), logicals.astype(jnp.int32))
