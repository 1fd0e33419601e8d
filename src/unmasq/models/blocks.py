"""One block of an encoder or decoder: mixing, then feed-forward."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int32, PRNGKeyArray, PyTree

from unmasq.models.attention import FactoredAttention, TieExpander
from unmasq.models.config import NetworkConfig
from unmasq.models.kernels import serve
from unmasq.models.kernels.tables import Routes
from unmasq.models.layers import FeedForward, LayerNorm
from unmasq.models.messages import Messages, Wires


class _Block(eqx.Module):
    """Mixing and feed-forward, each with a residual and a LayerNorm after it (or before it)."""

    feedforward: FeedForward
    mixing_norm: LayerNorm
    feedforward_norm: LayerNorm
    pre_norm: bool = eqx.field(static=True)

    def __init__(self, config: NetworkConfig, *, key: PRNGKeyArray):
        width, bias = config.width, config.biases
        self.feedforward = FeedForward(width, config.feedforward, bias=bias, key=key)
        self.mixing_norm = LayerNorm(width, bias=bias)
        self.feedforward_norm = LayerNorm(width, bias=bias)
        self.pre_norm = config.norm == "pre"

    def _with_residuals(
        self, x: Array, mixed: Callable[[Array], Array], rows: int | None = None
    ) -> Array:
        if self.pre_norm:
            x = x[:rows] + mixed(self.mixing_norm(x))
            return x + self.feedforward(self.feedforward_norm(x))
        x = self.mixing_norm(x[:rows] + mixed(x))
        return self.feedforward_norm(x + self.feedforward(x))


class Block(_Block):
    """The paper's block: tokens are mixed by factored attention."""

    mixing: FactoredAttention

    def __init__(self, config: NetworkConfig, places: TieExpander, *, key: PRNGKeyArray):
        mixing_key, feedforward_key = jr.split(key)
        super().__init__(config, key=feedforward_key)
        self.mixing = FactoredAttention(
            config.width, config.heads, places, bias=config.biases, key=mixing_key
        )

    def __call__(
        self,
        x: Float[Array, "n B d"],
        places: TieExpander,
        weights: Float[Array, " V"] | None = None,
        rows: int | None = None,
    ) -> Float[Array, "rows B d"]:
        """Only the first `rows` tokens are computed, all by default."""
        return self._with_residuals(x, lambda y: self.mixing(y, places, weights, rows), rows)

    def recall(
        self,
        memory: Float[Array, "n B d"],
        places: TieExpander,
        weights: Float[Array, " V"] | None = None,
        sources: Int32[Array, "E n"] | None = None,
    ) -> Float[Array, "rows S d"]:
        """What tokens that stand still tell the others: see `FactoredAttention.recall`."""
        known = self.mixing_norm(memory) if self.pre_norm else memory
        return self.mixing.recall(known, places, weights, sources)

    def among(
        self,
        x: Float[Array, "rows S d"],
        recalled: Float[Array, "rows S d"],
        places: TieExpander,
        weights: Float[Array, " V"] | None = None,
    ) -> Float[Array, "rows S d"]:
        """The block on the tokens that move, told what `recall` found."""
        return self._with_residuals(x, lambda y: self.mixing.among(y, recalled, places, weights))


class MessageBlock(_Block):
    """Checks are mixed by messages along the Tanner graph."""

    mixing: Messages

    def __init__(self, config: NetworkConfig, wires: Wires, *, key: PRNGKeyArray):
        mixing_key, feedforward_key = jr.split(key)
        super().__init__(config, key=feedforward_key)
        self.mixing = Messages(config.width, config.message_width, wires, key=mixing_key)

    def silent(self) -> "MessageBlock":
        """The block before it adds anything: the matrices that lead out of it are 0."""

        def ways_out(block: MessageBlock) -> PyTree:
            return block.mixing.to_checks, block.feedforward.down

        return eqx.tree_at(ways_out, self, jax.tree.map(jnp.zeros_like, ways_out(self)))

    def __call__(self, x: Float[Array, "n B d"], wires: Wires) -> Float[Array, "n B d"]:
        hidden, reduced = self.feedforward.up.weight.shape[1], self.mixing.width
        if self.mixing_norm.scale is None and serve(x, wires.routes, hidden, reduced):
            assert wires.routes is not None
            return self.by_kernels(x, wires.routes)
        return self._with_residuals(x, lambda y: self.mixing(y, wires))

    def by_kernels(self, x: Float[Array, "n B d"], routes: Routes) -> Float[Array, "n B d"]:
        """The same, a few large pieces at a time; of a block without biases."""
        from unmasq.models.kernels import steps  # Pallas, which few need

        matrices = steps.Matrices(*self.mixing.matrices())
        if self.pre_norm:
            x = steps.messages_added(x, self.mixing_norm(x), matrices, routes)
            return x + self.feedforward(self.feedforward_norm(x))
        x = steps.messages_then_norm(x, matrices, routes)
        up, down = self.feedforward.up.weight, self.feedforward.down.weight
        return steps.feedforward_then_norm(x, up, down)
