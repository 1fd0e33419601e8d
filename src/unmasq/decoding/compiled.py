"""What a network is asked for, as compiled functions of (weights, arrays).

Shared by all decoders of one architecture and rule. Weights go in as a plain list: flattening the
network's own tree costs more than a small batch on a GPU.
"""

import functools
from collections.abc import Callable, Hashable
from typing import Any

import jax
from jaxtyping import Array


class FlatNetwork:
    """A network, or voters, taken apart once."""

    def __init__(self, network: Any, dtype: str):
        self.leaves, self.structure = jax.tree.flatten(network)
        self.dtype = dtype

    def compiled(self, ask: Callable, *settings: Hashable) -> Callable:
        """`ask(network, *settings, *arrays)` as a compiled function of the arrays alone."""
        function = compiled(ask, self.structure, self.dtype, *settings)
        return functools.partial(function, self.leaves)


@functools.lru_cache(maxsize=256)
def compiled(ask: Callable, structure: Any, dtype: str, *settings: Hashable) -> Callable:
    """The function behind `FlatNetwork.compiled`, of (leaves, *arrays)."""
    # float32 shall mean float32: a GPU would multiply it with ten-bit mantissas.
    precision = "highest" if dtype == "float32" else "default"

    def call(leaves: list[Array], *arrays: Any) -> Any:
        with jax.default_matmul_precision(precision):
            return ask(jax.tree.unflatten(structure, leaves), *settings, *arrays)

    return jax.jit(call)
