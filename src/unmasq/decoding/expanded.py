"""Tied attention written out once, at loading, instead of in every call.

Training keeps one value for each orbit of places and expands them in every step. A decoder's
weights stand still: with the matrices written out, one shot of [[72,12,6]] takes 20 ms instead of
35 on a CPU core with T = 1, and 44 instead of 59 with T = 12.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float

from unmasq.codes.symmetry import free_ties
from unmasq.models import MaskedDenoiser
from unmasq.models.attention import TieExpander


def expand_ties(network: Any) -> Any:
    """The same function with free attention matrices; other networks come back as they are."""
    if not isinstance(network, MaskedDenoiser):
        return network
    if network.encoder.code_weights is not None:
        encoder = _written_out(network.encoder, lambda tree: tree.code_weights)
        network = eqx.tree_at(lambda tree: tree.encoder, network, encoder)
    return _written_out(network, lambda tree: tree.place_weights)


def _written_out(module: Any, weights: Callable[[Any], Any]) -> Any:
    """A module with free `places`: its blocks' attention and `weights` are expanded."""
    places = module.places
    if places is None or places.index is None:
        return module

    def expand(values: Float[Array, "*heads V"]) -> Float[Array, "*heads places"]:
        return places.expand(values).reshape(*values.shape[:-1], -1)

    free = TieExpander(free_ties(*places.shape))
    blocks = [
        eqx.tree_at(lambda tree: tree.mixing.attention, block, expand(block.mixing.attention))
        for block in module.blocks
    ]
    return eqx.tree_at(
        lambda tree: (tree.places, tree.blocks, weights(tree)),
        module,
        (free, blocks, jax.tree.map(expand, weights(module))),
        is_leaf=lambda leaf: leaf is None,
    )
