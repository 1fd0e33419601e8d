"""Belief propagation before a network: a first guess of the error, and what the network is told."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Int32, PRNGKeyArray, UInt8

from unmasq.codes.symmetry import Indices

CERTAIN = 6.0  # log-odds that count as nearly sure


class Attempt(NamedTuple):
    """One run of belief propagation; as arrays, all attempts share what is compiled."""

    iterations: int | Int32[Array, ""]  # at most
    scaling: float | Float32[Array, ""]  # of min-sum messages
    memory: float | Float32[Array, ""] = 0.0  # gamma; code-capacity noise has none


class BpOutcome(NamedTuple):
    """What belief propagation makes of shots."""

    features: Float[Array, "frames S F B"]  # in -1..1, of the S checks that the network is told of
    residual: UInt8[Array, "frames n B"]  # the detectors that guess and error flip together
    solved: Bool[Array, " B"]  # the guess explains the syndrome
    guess: UInt8[Array, "B K"]  # the logicals that the guess flips
    weight: Int32[Array, " B"]  # qubits or faults that it takes


class BeliefEmbedding(eqx.Module):
    """The features of each check as a vector, by its kind; 0 for checks without any."""

    weight: Float[Array, "kinds F d"]
    kind: Int32[Array | np.ndarray, " S"]
    sites: Int32[Array | np.ndarray, " S"] | None  # of the checks with features; None for all

    def __init__(
        self,
        num_features: int,
        kinds: Indices,
        width: int,
        sites: Indices | None = None,
        *,
        key: PRNGKeyArray | None = None,
    ):
        """Without a key the weights are 0: the network begins as one that is told nothing."""
        self.kind = kinds
        self.sites = sites
        shape = (int(kinds.max()) + 1, num_features, width)
        self.weight = (
            jnp.zeros(shape) if key is None else jr.normal(key, shape) / np.sqrt(num_features)
        )

    def __call__(self, features: Float[Array, "S F B"], checks: int) -> Float[Array, "n B d"]:
        """Of all `checks`."""
        by_kind = jax.nn.one_hot(self.kind, self.weight.shape[0], dtype=self.weight.dtype)
        weight = jnp.einsum("nk,kfd->nfd", by_kind, self.weight)
        told = jnp.einsum("nfb,nfd->nbd", features.astype(self.weight.dtype), weight)
        if self.sites is None:
            return told
        blank = jnp.zeros((checks, *told.shape[1:]), told.dtype)
        return blank.at[self.sites].set(told, unique_indices=True)
