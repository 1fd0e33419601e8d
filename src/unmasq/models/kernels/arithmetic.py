"""Gelu and LayerNorm with their gradients, as the kernels compute them."""

import math

import jax
import jax.numpy as jnp
from jax import lax

EPSILON = 1e-5  # of `unmasq.models.layers.LayerNorm`
CURVE = 0.044715  # of gelu, as jax.nn.gelu approximates it by default
SLOPE = 2 * math.sqrt(2 / math.pi)


def gelu(x: jax.Array) -> jax.Array:
    """x s(u), s the logistic function of u = SLOPE (x + CURVE x^3)."""
    return x * _logistic(x, x * x)


def gelu_slope(x: jax.Array) -> jax.Array:
    """Its derivative."""
    square = x * x
    s = _logistic(x, square)
    return s + x * s * (1.0 - s) * (SLOPE + 3 * SLOPE * CURVE * square)


def _logistic(x: jax.Array, square: jax.Array) -> jax.Array:
    u = x * (SLOPE + SLOPE * CURVE * square)
    return 1.0 / (1.0 + jnp.exp2(u * -math.log2(math.e)))


def normalised(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Rows of zero mean and unit variance, and the inverse deviation of each.

    Two passes: the tile is on the chip. A variance that is a sum of squares is never negative.
    """
    width = x.shape[-1]
    centred = x - (jnp.sum(x, axis=-1) / width)[..., None]
    inverse = lax.rsqrt(jnp.sum(centred * centred, axis=-1) / width + EPSILON)
    return centred * inverse[..., None], inverse


def norm_gradient(g: jax.Array, normal: jax.Array, inverse: jax.Array) -> jax.Array:
    """Of what came into `normalised`."""
    width = g.shape[-1]
    mean = jnp.sum(g, axis=-1) / width
    along = jnp.sum(g * normal, axis=-1) / width
    return (g - mean[..., None] - normal * along[..., None]) * inverse[..., None]
