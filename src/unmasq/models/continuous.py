"""The continuous denoiser for code capacity: predicts the Gaussian noise in l_t."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Float32, Int, PRNGKeyArray, UInt8

from unmasq.models.config import NetworkConfig
from unmasq.models.geometry import Geometry
from unmasq.models.layers import Linear


class ContinuousDenoiser(eqx.Module):
    """Five feed-forward layers on (l_t, emb(t), s - 0.5), which joins again before the third."""

    first: Linear
    blocks: list[Linear]  # the three in the middle
    head: Linear
    time_width: int = eqx.field(static=True)
    num_logicals: int = eqx.field(static=True)

    def __init__(self, config: NetworkConfig, geometry: Geometry, *, key: PRNGKeyArray):
        self.time_width = config.time_width
        self.num_logicals = geometry.num_logicals
        hidden = config.feedforward
        joined = geometry.num_logicals + config.time_width + geometry.num_detectors
        first_key, head_key, *block_keys = jr.split(key, 5)
        self.first = Linear(joined, hidden, key=first_key)
        self.blocks = [
            Linear(fan_in, hidden, key=block_key)
            for fan_in, block_key in zip((hidden, hidden + joined, hidden), block_keys, strict=True)
        ]
        self.head = Linear(hidden, geometry.num_logicals, key=head_key)

    def __call__(
        self,
        noisy_logicals: Float[Array, "B K"],
        syndrome: UInt8[Array, "B M"],
        t: Int[Array, " B"],
    ) -> Float32[Array, "B K"]:
        """epsilon(l_t, s, t), with l_t around values -0.5 and 0.5."""
        dtype = self.first.weight.dtype
        y = jnp.concatenate(
            [
                noisy_logicals.astype(dtype),
                time_embedding(t, self.time_width).astype(dtype),
                syndrome.astype(dtype) - jnp.asarray(0.5, dtype),
            ],
            axis=1,
        )
        x = jax.nn.gelu(self.first(y))
        x = jax.nn.gelu(self.blocks[0](x))
        x = jax.nn.gelu(self.blocks[1](jnp.concatenate([x, y], axis=1)))
        x = jax.nn.gelu(self.blocks[2](x))
        return self.head(x).astype(jnp.float32)


def time_embedding(t: Int[Array, " B"], width: int) -> Float32[Array, "B width"]:
    """sin(w_k t), then cos(w_k t), with w_k = 1000^(-2k/width)."""
    frequencies = 1000.0 ** (-2 * np.arange(width // 2) / width)
    angles = t[:, None].astype(jnp.float32) * jnp.asarray(frequencies, jnp.float32)[None, :]
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=1)
