"""Factored attention: tokens are mixed by trained matrices that do not depend on the input."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int32, PRNGKeyArray

from unmasq.codes.symmetry import TieTable
from unmasq.models.layers import Linear


class TieExpander(eqx.Module):
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
        self, width: int, heads: int, places: TieExpander, *, bias: bool = True, key: PRNGKeyArray
    ):
        value_key, out_key, attention_key = jr.split(key, 3)
        self.value = Linear(width, width, bias=bias, key=value_key)
        self.out = Linear(width, width, bias=bias, key=out_key)
        tokens = places.shape[1]
        self.attention = jr.normal(attention_key, (heads, places.num_values)) / np.sqrt(tokens)

    def __call__(
        self,
        x: Float[Array, "n B d"],
        places: TieExpander,
        weights: Float[Array, " V"] | None = None,
        rows: int | None = None,
    ) -> Float[Array, "rows B d"]:
        return self.out(self._mixed(self._matrices(places, weights)[:, :rows], x))

    def recall(
        self,
        memory: Float[Array, "n B d"],
        places: TieExpander,
        weights: Float[Array, " V"] | None = None,
        sources: Int32[Array, "E n"] | None = None,
    ) -> Float[Array, "rows S d"]:
        """What tokens that stand still add to each of the others, before U.

        Moved tokens: `sources` say where each of them comes from, for E moves of each shot
        (S = B E, shots outermost). Moving the matrices instead costs next to nothing.
        """
        rows = places.shape[0]
        matrices = self._matrices(places, weights)[:, :, rows:]
        if sources is None:
            return self._mixed(matrices, memory)
        moves = jax.nn.one_hot(sources, matrices.shape[2], dtype=matrices.dtype)
        moved = jnp.einsum("hki,eij->hekj", matrices, moves, precision=jax.lax.Precision.HIGHEST)
        heads, views = moved.shape[:2]
        mixed = self._mixed(moved.reshape(heads, views * rows, -1), memory)
        return _shots_outermost(mixed.reshape(views, rows, *mixed.shape[1:]))

    def among(
        self,
        x: Float[Array, "rows S d"],
        recalled: Float[Array, "rows S d"],
        places: TieExpander,
        weights: Float[Array, " V"] | None = None,
    ) -> Float[Array, "rows S d"]:
        """The mixing of the tokens that move, with what `recall` says of the others."""
        matrices = self._matrices(places, weights)[:, :, : places.shape[0]]
        return self.out(self._mixed(matrices, x) + recalled)

    def _matrices(
        self, places: TieExpander, weights: Float[Array, " V"] | None
    ) -> Float[Array, "h rows columns"]:
        values = self.attention if weights is None else self.attention * weights[None, :]
        return places.expand(values)

    def _mixed(
        self, matrices: Float[Array, "h rows n"], x: Float[Array, "n B d"]
    ) -> Float[Array, "rows B d"]:
        """A V x, heads joined."""
        n, batch, width = x.shape
        heads = matrices.shape[0]
        size = width // heads
        # Heads in front, so that each is one plain product: faster than leaving it to the compiler.
        split = self.value(x).reshape(n, batch, heads, size).transpose(2, 0, 1, 3)
        mixed = jnp.matmul(matrices, split.reshape(heads, n, batch * size))
        joined = mixed.reshape(heads, -1, batch, size).transpose(1, 2, 0, 3)
        return joined.reshape(-1, batch, width)


def _shots_outermost(x: Float[Array, "E rows B d"]) -> Float[Array, "rows S d"]:
    views, rows, batch, width = x.shape
    return x.transpose(1, 2, 0, 3).reshape(rows, batch * views, width)
