"""The continuous decoder: Gaussian noise taken off step by step, then rounded.

The start is l_T = 0, the most likely value of the noise; every step goes to the mean of the next
one. The last mean is an estimate of l_0 at -0.5 and 0.5, so 0.5 more of it is read as a
probability.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, Int32
from numpy.typing import NDArray

from unmasq.decoding.unmasking import Unmasked
from unmasq.diffusion.gaussian import alphas_bar, inference_times

PredictNoise = Callable[[Float32[Array, "B K"], Int32[Array, " B"]], Float32[Array, "B K"]]

_SMALLEST = 1e-6  # probability that a mean of -0.5 or below stands for


def remove_noise(
    predict_noise: PredictNoise, shots: int, num_logicals: int, num_steps: int, num_used: int
) -> Unmasked:
    """`num_used` of the T reverse steps, evenly strided, from l_T = 0 to rounded l_0."""
    times = inference_times(num_steps, num_used)
    keep, remove = reverse_coefficients(num_steps, times)

    def step(noisy: Float32[Array, "B K"], now: tuple) -> tuple[Float32[Array, "B K"], None]:
        t, keep, remove = now
        noise = predict_noise(noisy, jnp.broadcast_to(t, (shots,)))
        return keep * noisy - remove * noise, None

    schedule = (
        jnp.asarray(times[:-1], jnp.int32),
        jnp.asarray(keep, jnp.float32),
        jnp.asarray(remove, jnp.float32),
    )
    mean, _ = jax.lax.scan(step, jnp.zeros((shots, num_logicals), jnp.float32), schedule)
    probability = jnp.clip(mean + 0.5, _SMALLEST, 1 - _SMALLEST)
    steps = jnp.full((shots,), len(times) - 1, jnp.int32)
    logits = jnp.log(probability) - jnp.log1p(-probability)
    return Unmasked((mean > 0).astype(jnp.uint8), logits, steps)


def reverse_coefficients(
    num_steps: int, times: list[int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(a, b) of each step to the mean of l_{t'} given l_t and predicted noise: a l_t - b epsilon.

    With alpha = alpha_bar_t / alpha_bar_t' it is the paper's step; strided steps recompute beta
    from alpha_bar the same way.
    """
    kept = alphas_bar(num_steps)[times]
    alpha = kept[:-1] / kept[1:]
    return 1 / np.sqrt(alpha), (1 - alpha) / np.sqrt(alpha * (1 - kept[:-1]))
