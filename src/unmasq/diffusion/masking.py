"""Masked diffusion: hiding logical bits, at random or from the end. No parameters."""

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Int, Int32, PRNGKeyArray, UInt8

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


def hide_at_random(
    logicals: UInt8[Array, "B K"], num_hidden: Int[Array, " B"], *, key: PRNGKeyArray
) -> Int32[Array, "B K"]:
    """Draws l_t from l: hides `num_hidden` bits of each shot, without replacement."""
    order = jnp.argsort(jr.uniform(key, logicals.shape), axis=1)
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
