"""Belief propagation before a network for code-capacity noise: a guess, and how sure it is.

A layer passes messages once between neighbouring checks; belief propagation does it many times for
next to nothing, and mostly finds an error with the syndrome. The network is told the log-odds of
each check's qubits after a few, some and all of the iterations: of the bit that flips this check,
and of the other one.
"""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Int32, UInt8

from unmasq.models.beliefs import CERTAIN, Attempt, BpOutcome
from unmasq.models.quaternary import (
    BpResult,
    Neighbours,
    QubitOdds,
    at_checks,
    bp4_on_the_way,
    min_sum_rule,
    neighbours_by_check,
    syndrome_of,
)
from unmasq.problems.pauli_channel import Qubits
from unmasq.problems.problem import Layout
from unmasq.shots.sampling import parity

ASSUMED_P = 0.08  # of the depolarizing channel; min-sum depends little on it


class CapacityBeliefs(eqx.Module):
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

    def __init__(self, qubits: Qubits, layout: Layout, num_iterations: int, scaling: float):
        self.logicals_of_x = qubits.logicals_of_x
        self.logicals_of_z = qubits.logicals_of_z
        num_qubits = self.logicals_of_x.shape[1]
        around = np.where(qubits.of_checks < 0, num_qubits, qubits.of_checks)
        self.x_checks, self.z_checks = (
            np.flatnonzero(layout.check_type == kind).astype(np.int32) for kind in (0, 1)
        )
        self.back = np.argsort(np.concatenate([self.x_checks, self.z_checks])).astype(np.int32)
        self.graph_x = neighbours_by_check(around[self.x_checks], num_qubits)
        self.graph_z = neighbours_by_check(around[self.z_checks], num_qubits)
        self.iterations = feature_iterations(num_iterations)
        self.scaling = scaling

    @property
    def num_features(self) -> int:
        return 1 + 2 * len(self.iterations) * self.graph_x.qubits.shape[1]

    @property
    def own(self) -> Attempt:
        """What the network begins with, but for what it is told on the way."""
        return Attempt(self.iterations[-1], self.scaling)

    def __call__(self, frames: UInt8[Array, "1 n B"], attempt: Attempt | None = None) -> BpOutcome:
        """What this attempt makes of the shots, the network's own by default.

        Another one tells no network anything: its odds are those after the last iteration.
        """
        (bits,) = frames
        iterations: Sequence[int | Int32[Array, ""]] = self.iterations
        scaling: float | Float32[Array, ""] = self.scaling
        if attempt is not None:
            iterations, scaling = (attempt.iterations,), attempt.scaling
        prior = jnp.full((1, 1), np.log((1 - ASSUMED_P) / (ASSUMED_P / 3)), jnp.float32)
        found = bp4_on_the_way(
            (self.graph_x, self.graph_z),
            QubitOdds(prior, prior, prior),
            (bits[self.x_checks] == 1, bits[self.z_checks] == 1),
            iterations=iterations,
            check_rule=min_sum_rule(scaling),
        )
        odds = jnp.concatenate([self._around(each) for each in found], axis=1)
        fired = 1 - 2 * bits[:, None, :].astype(jnp.float32)
        features = jnp.concatenate([fired, jnp.tanh(odds / CERTAIN)], axis=1)
        last = found[-1]
        explained = jnp.concatenate(
            [syndrome_of(self.graph_x, last.z_bits), syndrome_of(self.graph_z, last.x_bits)]
        )[self.back]
        logicals = jnp.concatenate([self.logicals_of_x, self.logicals_of_z], axis=1)
        flipped = jnp.concatenate([last.x_bits, last.z_bits]).T
        guess = parity(logicals.astype(jnp.float32), flipped.astype(jnp.float32))
        weight = jnp.sum(last.x_bits | last.z_bits, axis=0, dtype=jnp.int32)
        residual = bits ^ explained.astype(jnp.uint8)
        solved = jnp.all(residual == 0, axis=0)
        return BpOutcome(features[None], residual[None], solved, guess, weight)

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


def feature_iterations(num_iterations: int) -> tuple[int, ...]:
    """The iterations after which the network is told the odds.

    >>> feature_iterations(16), feature_iterations(2)
    ((1, 5, 16), (2,))
    """
    return tuple(sorted({num_iterations // 9, num_iterations // 3, num_iterations} - {0}))
