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

    layers: list[Linear]
    time_width: int = eqx.field(static=True)
    num_logicals: int = eqx.field(static=True)

    def __init__(self, config: NetworkConfig, geometry: Geometry, *, key: PRNGKeyArray):
        self.time_width = config.time_width
        self.num_logicals = geometry.num_logicals
        hidden = config.feedforward
        joined = geometry.num_logicals + config.time_width + geometry.num_detectors
        sizes = [
            (joined, hidden),
            (hidden, hidden),
            (hidden + joined, hidden),
            (hidden, hidden),
            (hidden, geometry.num_logicals),
        ]
        self.layers = [
            Linear(fan_in, fan_out, key=layer_key)
            for (fan_in, fan_out), layer_key in zip(sizes, jr.split(key, 5), strict=True)
        ]

    def __call__(
        self,
        noisy_logicals: Float[Array, "B K"],
        syndrome: UInt8[Array, "B M"],
        t: Int[Array, " B"],
    ) -> Float32[Array, "B K"]:
        """epsilon(l_t, s, t), with l_t around values -0.5 and 0.5."""
        dtype = self.layers[0].weight.dtype
        y = jnp.concatenate(
            [
                noisy_logicals.astype(dtype),
                time_embedding(t, self.time_width).astype(dtype),
                syndrome.astype(dtype) - jnp.asarray(0.5, dtype),
            ],
            axis=1,
        )
        x = jax.nn.gelu(self.layers[0](y))
        x = jax.nn.gelu(self.layers[1](x))
        x = jax.nn.gelu(self.layers[2](jnp.concatenate([x, y], axis=1)))
        x = jax.nn.gelu(self.layers[3](x))
        return self.layers[4](x).astype(jnp.float32)


def time_embedding(t: Int[Array, " B"], width: int) -> Float32[Array, "B width"]:
    """sin(w_k t), then cos(w_k t), with w_k = 1000^(-2k/width)."""
    frequencies = 1000.0 ** (-2 * np.arange(width // 2) / width)
    angles = t[:, None].astype(jnp.float32) * jnp.asarray(frequencies, jnp.float32)[None, :]
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=1)
