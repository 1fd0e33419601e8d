"""Layers on a batch of token sets, laid out (tokens, batch, width).

Tokens come first so that mixing tokens, gathering neighbours and joining logicals to checks touch
long contiguous rows. Parameters are float32 masters; `cast_floats` makes the compute copy.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int32, PRNGKeyArray, PyTree

from unmasq.codes.symmetry import TieTable
from unmasq.models.config import NetworkConfig


class Linear(eqx.Module):
    """x W + b with W ~ N(0, 1/fan_in), b = 0."""

    weight: Float[Array, "fan_in fan_out"]
    bias: Float[Array, " fan_out"] | None

    def __init__(self, fan_in: int, fan_out: int, *, bias: bool = True, key: PRNGKeyArray):
        self.weight = jr.normal(key, (fan_in, fan_out)) / np.sqrt(fan_in)
        self.bias = jnp.zeros((fan_out,)) if bias else None

    def __call__(self, x: Float[Array, "*batch fan_in"]) -> Float[Array, "*batch fan_out"]:
        y = jnp.einsum("...i,io->...o", x, self.weight)
        return y if self.bias is None else y + _over(self.bias, x)


class LayerNorm(eqx.Module):
    """Zero mean and unit variance over the width, computed in float32; then scale and shift."""

    scale: Float[Array, " d"] | None
    shift: Float[Array, " d"] | None

    def __init__(self, width: int, *, bias: bool = True):
        self.scale = jnp.ones((width,)) if bias else None
        self.shift = jnp.zeros((width,)) if bias else None

    def __call__(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        wide = x.astype(jnp.float32)
        mean = jnp.mean(wide, axis=-1, keepdims=True)
        variance = jnp.mean(jnp.square(wide), axis=-1, keepdims=True) - jnp.square(mean)
        normal = ((wide - mean) * jax.lax.rsqrt(variance + 1e-5)).astype(x.dtype)
        if self.scale is None or self.shift is None:
            return normal
        return normal * _over(self.scale, x) + _over(self.shift, x)


class Places(eqx.Module):
    """A tie table on the device: turns values into matrices.

    Tied values expand by a product with a one-hot matrix: the gradient of a gather with few
    distinct rows would be a contended scatter-add. All different is a plain reshape.
    """

    index: Int32[Array | np.ndarray, "rows columns"] | None
    num_values: int = eqx.field(static=True)
    shape: tuple[int, int] = eqx.field(static=True)

    def __init__(self, table: TieTable):
        rows, columns = table.index.shape
        self.shape = (rows, columns)
        self.num_values = table.num_values
        self.index = None if table.is_free else table.index

    def expand(self, values: Float[Array, "*heads V"]) -> Float[Array, "*heads rows columns"]:
        if self.index is None:
            return values.reshape(*values.shape[:-1], *self.shape)
        one_hot = jax.nn.one_hot(self.index.ravel(), self.num_values, dtype=values.dtype, axis=0)
        expanded = jnp.einsum("...v,vp->...p", values, one_hot, precision=jax.lax.Precision.HIGHEST)
        return expanded.reshape(*values.shape[:-1], *self.shape)


class FactoredAttention(eqx.Module):
    """MHFA: heads mix tokens with trained matrices A that do not depend on the input.

    `weights`, one for each value, multiply all heads' values (the paper's A * K). Only the first
    `rows` tokens are computed, all by default.
    """

    value: Linear  # V
    out: Linear  # U
    attention: Float[Array, "h V"]

    def __init__(
        self, width: int, heads: int, places: Places, *, bias: bool = True, key: PRNGKeyArray
    ):
        value_key, out_key, attention_key = jr.split(key, 3)
        self.value = Linear(width, width, bias=bias, key=value_key)
        self.out = Linear(width, width, bias=bias, key=out_key)
        tokens = places.shape[1]
        self.attention = jr.normal(attention_key, (heads, places.num_values)) / np.sqrt(tokens)

    def __call__(
        self,
        x: Float[Array, "n B d"],
        places: Places,
        weights: Float[Array, " V"] | None = None,
        rows: int | None = None,
    ) -> Float[Array, "rows B d"]:
        values = self.attention if weights is None else self.attention * weights[None, :]
        matrices = places.expand(values)[:, :rows]
        n, batch, width = x.shape
        heads = matrices.shape[0]
        size = width // heads
        # Heads in front, so that each is one plain product: faster than leaving it to the compiler.
        split = self.value(x).reshape(n, batch, heads, size).transpose(2, 0, 1, 3)
        mixed = jnp.matmul(matrices, split.reshape(heads, n, batch * size))
        joined = mixed.reshape(heads, -1, batch, size).transpose(1, 2, 0, 3)
        return self.out(joined.reshape(-1, batch, width))


class FeedForward(eqx.Module):
    """W2 gelu(W1 x + b1) + b2."""

    up: Linear
    down: Linear

    def __init__(self, width: int, hidden: int, *, bias: bool = True, key: PRNGKeyArray):
        up_key, down_key = jr.split(key)
        self.up = Linear(width, hidden, bias=bias, key=up_key)
        self.down = Linear(hidden, width, bias=bias, key=down_key)

    def __call__(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        return self.down(jax.nn.gelu(self.up(x)))


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


def cast_floats(tree: PyTree, dtype: jnp.dtype) -> PyTree:
    """Floating leaves in `dtype`; everything else as it is."""
    return jax.tree.map(
        lambda leaf: leaf.astype(dtype) if eqx.is_inexact_array(leaf) else leaf, tree
    )


def count_parameters(tree: PyTree) -> int:
    """Trainable numbers: all floating leaves."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array)))


def _over(vector: Float[Array, " d"], x: Float[Array, "*batch any"]) -> Float[Array, "*ones d"]:
    return vector.reshape((1,) * (x.ndim - 1) + vector.shape)
