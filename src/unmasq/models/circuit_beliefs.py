"""Belief propagation before a network for circuit noise: what it solves, and what it leaves.

Passed are messages among the detectors of the check type that sees the logicals, over all frames at
once. What a network makes of it is its own affair (`bp_use`): it may decode what guess and error
leave together, be told, around each of these detectors, what is believed of every fault, or only be
asked about the shots that are not solved. Nothing here is trained.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int32, UInt8

from unmasq.models.beliefs import CERTAIN, Attempt, BpOutcome
from unmasq.models.memory_bp import Neighbours, at_detectors, believe, neighbours_of
from unmasq.problems.fault_graph import FaultGraph
from unmasq.shots.sampling import parity

_THOUSANDTHS = 1000


class CircuitBeliefs(eqx.Module):
    """Min-sum with memory on a problem's graph of faults."""

    graph: Neighbours
    sites: Int32[Array | np.ndarray, " S"]
    odds: Int32[Array | np.ndarray, " N"]  # in thousandths: whole numbers are no weights
    logicals: UInt8[Array | np.ndarray, "K N"]
    num_named: int = eqx.field(static=True)
    iterations: int = eqx.field(static=True)
    scaling: float = eqx.field(static=True)
    memory: float = eqx.field(static=True)

    def __init__(self, faults: FaultGraph, iterations: int, scaling: float, memory: float):
        frames, sites, slots = faults.around.shape
        self.graph = neighbours_of(faults.around.reshape(frames * sites, slots), len(faults.odds))
        self.sites = faults.sites
        self.odds = np.rint(_THOUSANDTHS * faults.odds).astype(np.int32)
        self.logicals = faults.logicals
        self.num_named = faults.num_named
        self.iterations = iterations
        self.scaling = scaling
        self.memory = memory

    def on(self, faults: FaultGraph) -> "CircuitBeliefs":
        """The same on another graph, such as that of another number of rounds."""
        found = CircuitBeliefs(faults, self.iterations, self.scaling, self.memory)
        return jax.tree.map(jnp.asarray, found)

    @property
    def num_features(self) -> int:
        return 1 + 2 * self.num_named

    @property
    def own(self) -> Attempt:
        """What the network begins with."""
        return Attempt(self.iterations, self.scaling, self.memory)

    def __call__(
        self, bits: UInt8[Array, "frames n B"], attempt: Attempt | None = None
    ) -> BpOutcome:
        """What this attempt makes of the shots, the network's own by default."""
        iterations, scaling, memory = attempt or self.own
        seen = bits[:, self.sites]
        frames, sites, batch = seen.shape
        flat = seen.reshape(frames * sites, batch)
        prior = jnp.asarray(self.odds).astype(jnp.float32) / _THOUSANDTHS
        found = believe(
            self.graph,
            prior,
            flat == 1,
            iterations=iterations,
            scaling=scaling,
            memory=memory,
        )
        told = [
            jnp.tanh(at_detectors(self.graph, odds)[: self.num_named] / CERTAIN)
            for odds in (found.odds, found.mean)
        ]
        fired = 1 - 2 * flat[None].astype(jnp.float32)
        features = jnp.concatenate([fired, *told])  # (features, frames * S, B)
        errors = found.errors.astype(jnp.float32)
        flips = jnp.sum(at_detectors(self.graph, errors), axis=0).astype(jnp.int32) & 1
        left = seen ^ flips.astype(jnp.uint8).reshape(seen.shape)
        return BpOutcome(
            jnp.moveaxis(features.reshape(-1, frames, sites, batch), 0, 2),
            bits.at[:, self.sites].set(left),
            found.solved,
            parity(jnp.asarray(self.logicals).astype(jnp.float32), errors.T),
            jnp.sum(found.errors, axis=0, dtype=jnp.int32),
        )
