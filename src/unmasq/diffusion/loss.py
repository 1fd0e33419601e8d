"""Losses of the paper as unbiased estimates, in float32. No parameters."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, Int, UInt8

from unmasq.diffusion.masking import MASK


def cross_entropy(
    logits: Float32[Array, "*batch"], bits: UInt8[Array, "*batch"]
) -> Float32[Array, "*batch"]:
    """-log q(bit) for log-odds of a one, without overflow."""
    signs = 1 - 2 * bits.astype(jnp.float32)
    return jax.nn.softplus(signs * logits)


def masked_loss(
    logits: Float32[Array, "B K"],
    logicals: UInt8[Array, "B K"],
    tokens: Int[Array, "B K"],
    t: Int[Array, " B"],
    num_steps: int,
) -> Float32[Array, ""]:
    """Estimates sum_t (1/t) E sum_hidden -log q from t uniform in 1..T: T/t * sum_hidden CE."""
    hidden = (tokens == MASK).astype(jnp.float32)
    per_shot = jnp.sum(hidden * cross_entropy(logits, logicals), axis=1)
    return jnp.mean(num_steps / t.astype(jnp.float32) * per_shot)


def autoregressive_loss(
    logits: Float32[Array, "B K"], logicals: UInt8[Array, "B K"], num_hidden: Int[Array, " B"]
) -> Float32[Array, ""]:
    """Estimates sum_k -log q(l_k | l_<k, s) from one uniform k: K * CE of the first hidden bit."""
    size = logicals.shape[1]
    first = (jnp.arange(size)[None, :] == size - num_hidden[:, None]).astype(jnp.float32)
    return size * jnp.mean(jnp.sum(first * cross_entropy(logits, logicals), axis=1))


def noise_loss(predicted: Float32[Array, "B K"], noise: Float[Array, "B K"]) -> Float32[Array, ""]:
    """Mean over shots of |epsilon_theta - epsilon|^2."""
    return jnp.mean(jnp.sum(jnp.square(predicted - noise), axis=1))
