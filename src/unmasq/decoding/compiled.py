"""Whole decoders as compiled functions of (weights, syndromes).

Shared by all decoders of one architecture and rule. Weights go in as a plain list: flattening the
network's own tree costs more than a small batch on a GPU.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32, UInt8

from unmasq.decoding.beam import chain_log_probabilities
from unmasq.decoding.rules import Rule, begin, denoise_many
from unmasq.decoding.unmasking import Unmasked
from unmasq.decoding.voting import Voted
from unmasq.models.masked import Guess


@functools.lru_cache(maxsize=64)
def compiled(structure: Any, rule: Rule, num_logicals: int, dtype: str) -> Callable:
    """A network, as `jax.tree.flatten` takes it apart, asked by a rule."""

    def decode(leaves: list[Array], syndrome: UInt8[Array, "B M"]) -> Unmasked:
        with jax.default_matmul_precision(_precision(dtype)):
            return rule(jax.tree.unflatten(structure, leaves), syndrome, num_logicals)

    return jax.jit(decode)


@functools.lru_cache(maxsize=64)
def compiled_vote(structure: Any, rule: Rule, num_logicals: int, dtype: str) -> Callable:
    """`Voters`, taken apart, each asked by a rule."""

    def vote(leaves: list[Array], syndrome: UInt8[Array, "B M"]) -> Voted:
        with jax.default_matmul_precision(_precision(dtype)):
            return jax.tree.unflatten(structure, leaves)(rule, syndrome, num_logicals)

    return jax.jit(vote)


@functools.lru_cache(maxsize=8)
def compiled_guess(structure: Any) -> Callable:
    """What belief propagation says, for a network that begins with it."""

    def guess(leaves: list[Array], syndrome: UInt8[Array, "B M"]) -> Guess:
        return jax.tree.unflatten(structure, leaves).guess(syndrome)

    return jax.jit(guess)


@functools.lru_cache(maxsize=8)
def compiled_chain(
    structure: Any, num_logicals: int, order: tuple[int, ...] | None, dtype: str
) -> Callable:
    """log q of all strings, in the chain of one order."""

    def table(leaves: list[Array], syndrome: UInt8[Array, "B M"]) -> Float32[Array, "B strings"]:
        with jax.default_matmul_precision(_precision(dtype)):
            network = jax.tree.unflatten(structure, leaves)
            memory, _, guess = begin(network, syndrome)
            denoise = denoise_many(network, memory)
            found = chain_log_probabilities(denoise, syndrome.shape[0], num_logicals, order)
            return found if guess is None else _renumbered(found, guess)

    return jax.jit(table)


def _renumbered(
    found: Float32[Array, "B strings"], guess: UInt8[Array, "B K"]
) -> Float32[Array, "B strings"]:
    """By the strings themselves, where columns stand for what a guess left of them."""
    places = jnp.arange(guess.shape[1], dtype=jnp.int32)
    number = jnp.sum(guess.astype(jnp.int32) << places[None, :], axis=1)
    columns = jnp.arange(found.shape[1], dtype=jnp.int32)
    return jnp.take_along_axis(found, columns[None, :] ^ number[:, None], axis=1)


def _precision(dtype: str) -> str:
    """float32 shall mean float32: a GPU would multiply it with ten-bit mantissas."""
    return "highest" if dtype == "float32" else "default"
