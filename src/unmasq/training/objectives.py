"""One batch to one loss, for each objective of the paper.

The decoder is a small part of a network with frames: a shot that was encoded once can carry
several masks, each with its own part of 1..T, which makes the gradient much less noisy. `memory`
and `logicals` hold each shot `masks_per_shot` times in a row.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float32, UInt8

from unmasq.diffusion.gaussian import add_noise
from unmasq.diffusion.loss import autoregressive_loss, masked_loss, noise_loss
from unmasq.diffusion.masking import hide_at_random, hide_from_the_end
from unmasq.models import ContinuousDenoiser, MaskedDenoiser
from unmasq.training.loss_draws import Draws


def masked_objective(
    network: MaskedDenoiser,
    memory: Array,
    logicals: UInt8[Array, "S K"],
    draws: Draws,
    num_steps: int,
) -> Float32[Array, ""]:
    """t uniform in 1..T, n_l t / T bits hidden at random; T = 1 is the paper's LR."""
    size = logicals.shape[1]
    t = draws.times.ravel()
    assert draws.noise is not None
    tokens = hide_at_random(logicals, t * (size // num_steps), draws.noise.reshape(-1, size))
    return masked_loss(network.denoise(memory, tokens), logicals, tokens, t, num_steps)


def autoregressive_objective(
    network: MaskedDenoiser, memory: Array, logicals: UInt8[Array, "S K"], draws: Draws
) -> Float32[Array, ""]:
    """A uniform prefix is shown; the next bit carries the loss."""
    num_hidden = draws.times.ravel()
    tokens = hide_from_the_end(logicals, num_hidden)
    return autoregressive_loss(network.denoise(memory, tokens), logicals, num_hidden)


def continuous_objective(
    network: ContinuousDenoiser,
    syndrome: UInt8[Array, "B M"],
    logicals: UInt8[Array, "B K"],
    draws: Draws,
    num_steps: int,
) -> Float32[Array, ""]:
    """t from p(t), Gaussian noise on l - 0.5; the network predicts the noise."""
    assert draws.noise is not None
    t, noise = draws.times.ravel(), draws.noise.reshape(logicals.shape)
    noisy = add_noise(logicals.astype(jnp.float32) - 0.5, noise, t, num_steps)
    return noise_loss(network(noisy, syndrome, t), noise)
