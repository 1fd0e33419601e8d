"""One block of an encoder or decoder."""

import equinox as eqx
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray

from unmasq.models.attention import FactoredAttention, Places
from unmasq.models.config import NetworkConfig
from unmasq.models.layers import FeedForward, LayerNorm


class Block(eqx.Module):
    """Mixing and feed-forward, each with a residual and a LayerNorm after it (or before it)."""

    mixing: FactoredAttention
    feedforward: FeedForward
    mixing_norm: LayerNorm
    feedforward_norm: LayerNorm
    pre_norm: bool = eqx.field(static=True)

    def __init__(self, config: NetworkConfig, places: Places, *, key: PRNGKeyArray):
        mixing_key, feedforward_key = jr.split(key)
        width, bias = config.width, config.biases
        self.mixing = FactoredAttention(width, config.heads, places, bias=bias, key=mixing_key)
        self.feedforward = FeedForward(width, config.feedforward, bias=bias, key=feedforward_key)
        self.mixing_norm = LayerNorm(width, bias=bias)
        self.feedforward_norm = LayerNorm(width, bias=bias)
        self.pre_norm = config.norm == "pre"

    def __call__(
        self,
        x: Float[Array, "n B d"],
        places: Places,
        weights: Float[Array, " V"] | None = None,
        rows: int | None = None,
    ) -> Float[Array, "rows B d"]:
        if self.pre_norm:
            x = x[:rows] + self.mixing(self.mixing_norm(x), places, weights, rows)
            return x + self.feedforward(self.feedforward_norm(x))
        x = self.mixing_norm(x[:rows] + self.mixing(x, places, weights, rows))
        return self.feedforward_norm(x + self.feedforward(x))
