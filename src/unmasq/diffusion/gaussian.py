"""Continuous diffusion: the Gaussian noise schedule and its deterministic reverse steps."""

import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Int
from numpy.typing import NDArray


@functools.cache
def betas(num_steps: int) -> NDArray[np.float64]:
    """beta_t = (0.1 + 19.9 t/T) / T for t = 1..T."""
    if num_steps <= 20:  # of noise alone nothing can be taken off
        raise ValueError(f"num_steps must be at least 21, so that beta_T < 1: got {num_steps}.")
    t = np.arange(1, num_steps + 1)
    return (0.1 + 19.9 * t / num_steps) / num_steps


@functools.cache
def alphas_bar(num_steps: int) -> NDArray[np.float64]:
    """prod_{t' <= t} (1 - beta_t') for t = 0..T; the first entry is 1."""
    return np.concatenate([[1.0], np.cumprod(1 - betas(num_steps))])


def time_probabilities(num_steps: int) -> NDArray[np.float64]:
    """p(t) proportional to beta_t^2 / (1 - alpha_bar_t), for t = 1..T."""
    weights = betas(num_steps) ** 2 / (1 - alphas_bar(num_steps)[1:])
    return weights / weights.sum()


def add_noise(
    logicals: Float[Array, "B K"], noise: Float[Array, "B K"], t: Int[Array, " B"], num_steps: int
) -> Float32[Array, "B K"]:
    """l_t = sqrt(alpha_bar_t) l_0 + sqrt(1 - alpha_bar_t) epsilon, with l_0 at -0.5 and 0.5."""
    kept = jnp.asarray(alphas_bar(num_steps), jnp.float32)[t][:, None]
    return jnp.sqrt(kept) * logicals + jnp.sqrt(1 - kept) * noise


def inference_times(num_steps: int, num_used: int) -> list[int]:
    """`num_used` of the times T..1, evenly strided, followed by 0."""
    if not 1 <= num_used <= num_steps:
        raise ValueError(f"steps must lie in 1..{num_steps}: got {num_used}.")
    times = np.unique(np.rint(np.linspace(num_steps, 0, num_used + 1)).astype(int))
    return times[::-1].tolist()
