"""Belief propagation before the network: a first guess of the error, and how sure it is.

A layer passes messages once between neighbouring checks; belief propagation does it many times for
next to nothing, and mostly finds an error with the syndrome. The network decodes what is left: the
syndrome of guess and error together, and the logicals that they flip together. It is told the
log-odds of each check's qubits after a few, some and all of the iterations: of the bit that flips
this check, and of the other one.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int32, PRNGKeyArray, UInt8

from unmasq.models.geometry import Geometry
from unmasq.models.quaternary import (
    BpResult,
    Neighbours,
    QubitOdds,
    at_checks,
    bp4_on_the_way,
    min_sum,
    neighbours_by_check,
    syndrome_of,
)
from unmasq.shots.sampling import parity

ASSUMED_P = 0.08  # of the depolarizing channel; min-sum depends little on it
_CERTAIN = 6.0  # log-odds that count as nearly sure


class BpOutcome(NamedTuple):
    """What belief propagation makes of shots."""

    features: Float[Array, "n features B"]  # in -1..1 for each check; 0 where a qubit is missing
    residual: UInt8[Array, "n B"]  # the checks that guess and error flip together
    guess: UInt8[Array, "B K"]  # the logicals that the guess flips
    weight: Int32[Array, " B"]  # qubits that it takes to be faulty


class Beliefs(eqx.Module):
    """Quaternary min-sum on the problem's graph. Nothing here is trained."""

    graph_x: Neighbours
    graph_z: Neighbours
    x_checks: Int32[Array | np.ndarray, " n_x"]
    z_checks: Int32[Array | np.ndarray, " n_z"]
    back: Int32[Array | np.ndarray, " n"]  # place of each check in (X checks, Z checks)
    logicals_of_x: UInt8[Array | np.ndarray, "K qubits"]
    logicals_of_z: UInt8[Array | np.ndarray, "K qubits"]
    iterations: tuple[int, ...] = eqx.field(static=True)
    scaling: float = eqx.field(static=True)

    def __init__(self, num_iterations: int, geometry: Geometry, scaling: float):
        if geometry.qubits is None:
            raise ValueError(
                f"bp_iterations must be 0 for other noise than code capacity: got {num_iterations}."
            )
        self.logicals_of_x = geometry.qubits.logicals_of_x
        self.logicals_of_z = geometry.qubits.logicals_of_z
        num_qubits = self.logicals_of_x.shape[1]
        of_checks = geometry.qubits.of_checks
        qubits = np.where(of_checks < 0, num_qubits, of_checks)
        self.x_checks, self.z_checks = (
            np.flatnonzero(geometry.layout.check_type == kind).astype(np.int32) for kind in (0, 1)
        )
        self.back = np.argsort(np.concatenate([self.x_checks, self.z_checks])).astype(np.int32)
        self.graph_x = neighbours_by_check(qubits[self.x_checks], num_qubits)
        self.graph_z = neighbours_by_check(qubits[self.z_checks], num_qubits)
        self.iterations = feature_iterations(num_iterations)
        self.scaling = scaling

    @property
    def num_features(self) -> int:
        return 1 + 2 * len(self.iterations) * self.graph_x.qubits.shape[1]

    def __call__(self, bits: UInt8[Array, "n B"]) -> BpOutcome:
        prior = jnp.full((1, 1), np.log((1 - ASSUMED_P) / (ASSUMED_P / 3)), jnp.float32)
        found = bp4_on_the_way(
            (self.graph_x, self.graph_z),
            QubitOdds(prior, prior, prior),
            (bits[self.x_checks] == 1, bits[self.z_checks] == 1),
            iterations=self.iterations,
            check_rule=min_sum(self.scaling),
        )
        odds = jnp.concatenate([self._around(each) for each in found], axis=1)
        fired = 1 - 2 * bits[:, None, :].astype(jnp.float32)
        features = jnp.concatenate([fired, jnp.tanh(odds / _CERTAIN)], axis=1)
        last = found[-1]
        explained = jnp.concatenate(
            [syndrome_of(self.graph_x, last.z_bits), syndrome_of(self.graph_z, last.x_bits)]
        )[self.back]
        logicals = jnp.concatenate([self.logicals_of_x, self.logicals_of_z], axis=1)
        flipped = jnp.concatenate([last.x_bits, last.z_bits]).T
        guess = parity(logicals.astype(jnp.float32), flipped.astype(jnp.float32))
        weight = jnp.sum(last.x_bits | last.z_bits, axis=0, dtype=jnp.int32)
        return BpOutcome(features, bits ^ explained.astype(jnp.uint8), guess, weight)

    def _around(self, found: BpResult) -> Float[Array, "n around B"]:
        """Odds of each check's qubits: those of the bit that it sees, then of the other."""
        x_side, z_side = (
            jnp.concatenate([at_checks(graph, seen), at_checks(graph, other)], axis=1)
            for graph, seen, other in (
                (self.graph_x, found.z_odds, found.x_odds),
                (self.graph_z, found.x_odds, found.z_odds),
            )
        )
        return jnp.concatenate([x_side, z_side])[self.back]


class BeliefEmbedding(eqx.Module):
    """The features of each check as a vector, by its kind."""

    beliefs: Beliefs
    weight: Float[Array, "kinds features d"]
    kind: Int32[Array | np.ndarray, " n"]

    def __init__(
        self,
        num_iterations: int,
        geometry: Geometry,
        tied: bool,
        width: int,
        *,
        scaling: float,
        key: PRNGKeyArray,
    ):
        self.beliefs = Beliefs(num_iterations, geometry, scaling)
        self.kind = geometry.check_kinds(tied)
        features = self.beliefs.num_features
        shape = (int(self.kind.max()) + 1, features, width)
        self.weight = jr.normal(key, shape) / np.sqrt(features)

    def __call__(self, features: Float[Array, "n features B"]) -> Float[Array, "n B d"]:
        by_kind = jax.nn.one_hot(self.kind, self.weight.shape[0], dtype=self.weight.dtype)
        weight = jnp.einsum("nk,kfd->nfd", by_kind, self.weight)
        return jnp.einsum("nfb,nfd->nbd", features.astype(self.weight.dtype), weight)


def feature_iterations(num_iterations: int) -> tuple[int, ...]:
    """The iterations after which the network is told the odds.

    >>> feature_iterations(16), feature_iterations(2)
    ((1, 5, 16), (2,))
    """
    return tuple(sorted({num_iterations // 9, num_iterations // 3, num_iterations} - {0}))
