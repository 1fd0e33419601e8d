"""One batch to one loss, for each objective of the paper.

The decoder is a small part of a network with frames: a shot that was encoded once can carry
several masks, each with its own part of 1..T, which makes the gradient much less noisy. `memory`
and `logicals` hold each shot `masks_per_shot` times in a row.
"""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float32, Int32, PRNGKeyArray, UInt8

from unmasq.diffusion.gaussian import add_noise, time_probabilities
from unmasq.diffusion.loss import autoregressive_loss, masked_loss, noise_loss
from unmasq.diffusion.masking import draw_times, hide_at_random, hide_from_the_end
from unmasq.models import ContinuousDenoiser, MaskedDenoiser


def masked_objective(
    network: MaskedDenoiser,
    memory: Array,
    logicals: UInt8[Array, "B K"],
    num_steps: int,
    masks_per_shot: int = 1,
    *,
    key: PRNGKeyArray,
) -> Float32[Array, ""]:
    """t uniform in 1..T, n_l t / T bits hidden at random; T = 1 is the paper's LR."""
    time_key, hide_key = jr.split(key)
    masks, size = logicals.shape
    t = draw_times(masks // masks_per_shot, num_steps, masks_per_shot, key=time_key)
    tokens = hide_at_random(logicals, t * (size // num_steps), key=hide_key)
    return masked_loss(network.denoise(memory, tokens), logicals, tokens, t, num_steps)


def autoregressive_objective(
    network: MaskedDenoiser,
    memory: Array,
    logicals: UInt8[Array, "B K"],
    masks_per_shot: int = 1,
    *,
    key: PRNGKeyArray,
) -> Float32[Array, ""]:
    """A uniform prefix is shown; the next bit carries the loss."""
    masks, size = logicals.shape
    num_hidden = draw_times(masks // masks_per_shot, size, masks_per_shot, key=key)
    tokens = hide_from_the_end(logicals, num_hidden)
    return autoregressive_loss(network.denoise(memory, tokens), logicals, num_hidden)


def continuous_objective(
    network: ContinuousDenoiser,
    syndrome: UInt8[Array, "B M"],
    logicals: UInt8[Array, "B K"],
    num_steps: int,
    *,
    key: PRNGKeyArray,
) -> Float32[Array, ""]:
    """t from p(t), Gaussian noise on l - 0.5; the network predicts the noise."""
    time_key, noise_key = jr.split(key)
    probabilities = np.asarray(time_probabilities(num_steps), np.float32)
    t: Int32[Array, " B"] = 1 + jr.choice(
        time_key, num_steps, (logicals.shape[0],), p=jnp.asarray(probabilities)
    )
    noise = jr.normal(noise_key, logicals.shape)
    noisy = add_noise(logicals.astype(jnp.float32) - 0.5, noise, t, num_steps)
    return noise_loss(network(noisy, syndrome, t), noise)
