"""Whole decoders as compiled functions of (weights, syndromes).

Shared by all decoders of one architecture and rule. Weights go in as a plain list: flattening the
network's own tree costs more than a small batch on a GPU.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
from jaxtyping import Array, UInt8

from unmasq.decoding.rules import Rule
from unmasq.decoding.unmasking import Unmasked
from unmasq.decoding.voting import Voted
from unmasq.models.masked import Guess


@functools.lru_cache(maxsize=64)
def compiled(structure: Any, rule: Rule, num_logicals: int, dtype: str) -> Callable:
    """A network, as `jax.tree.flatten` takes it apart, asked by a rule."""

    def decode(leaves: list[Array], syndrome: UInt8[Array, "B M"]) -> Unmasked:
        with jax.default_matmul_precision(precision(dtype)):
            return rule(jax.tree.unflatten(structure, leaves), syndrome, num_logicals)

    return jax.jit(decode)


@functools.lru_cache(maxsize=64)
def compiled_vote(structure: Any, rule: Rule, num_logicals: int, dtype: str) -> Callable:
    """`Voters`, taken apart, each asked by a rule."""

    def vote(leaves: list[Array], syndrome: UInt8[Array, "B M"]) -> Voted:
        with jax.default_matmul_precision(precision(dtype)):
            return jax.tree.unflatten(structure, leaves)(rule, syndrome, num_logicals)

    return jax.jit(vote)


@functools.lru_cache(maxsize=8)
def compiled_guess(structure: Any) -> Callable:
    """What belief propagation says, for a network that begins with it."""

    def guess(leaves: list[Array], syndrome: UInt8[Array, "B M"]) -> Guess:
        return jax.tree.unflatten(structure, leaves).guess(syndrome)

    return jax.jit(guess)


def precision(dtype: str) -> str:
    """float32 shall mean float32: a GPU would multiply it with ten-bit mantissas."""
    return "highest" if dtype == "float32" else "default"
