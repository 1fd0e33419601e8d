"""What belief propagation makes of a syndrome, as an input of the network.

A layer passes messages once between neighbouring checks; belief propagation does it many times for
next to nothing. Each check is told the log-odds of its qubits' bits after a few, some and all of
the iterations: of the bit that flips this check, and of the other one.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int32, PRNGKeyArray, UInt8

from unmasq.models.geometry import Geometry
from unmasq.quaternary import QubitOdds, TannerGraph, bit_odds, graph_of, min_sum

ASSUMED_P = 0.08  # of the depolarizing channel; min-sum depends little on it
SCALING = 0.5
_CERTAIN = 6.0  # log-odds that count as nearly sure


class BeliefEmbedding(eqx.Module):
    """Log-odds around each check, as a vector for the check."""

    weight: Float[Array, "kinds features d"]
    kind: Int32[Array | np.ndarray, " n"]
    graph_x: TannerGraph
    graph_z: TannerGraph
    x_checks: Int32[Array | np.ndarray, " n_x"]
    z_checks: Int32[Array | np.ndarray, " n_z"]
    back: Int32[Array | np.ndarray, " n"]  # place of each check in (X checks, Z checks)
    iterations: tuple[int, ...] = eqx.field(static=True)

    def __init__(
        self, num_iterations: int, geometry: Geometry, tied: bool, width: int, *, key: PRNGKeyArray
    ):
        if geometry.qubits is None:
            raise ValueError(
                f"bp_iterations must be 0 for other noise than code capacity: got {num_iterations}."
            )
        num_qubits = int(geometry.qubits.max()) + 1
        qubits = np.where(geometry.qubits < 0, num_qubits, geometry.qubits)
        self.x_checks, self.z_checks = (
            np.flatnonzero(geometry.layout.check_type == kind).astype(np.int32) for kind in (0, 1)
        )
        self.back = np.argsort(np.concatenate([self.x_checks, self.z_checks])).astype(np.int32)
        self.graph_x = graph_of(qubits[self.x_checks], num_qubits)
        self.graph_z = graph_of(qubits[self.z_checks], num_qubits)
        self.kind = geometry.check_kinds(tied)
        self.iterations = looks(num_iterations)
        features = 2 * len(self.iterations) * qubits.shape[1]
        shape = (int(self.kind.max()) + 1, features, width)
        self.weight = jr.normal(key, shape) / np.sqrt(features)

    def __call__(self, bits: UInt8[Array, "n B"]) -> Float[Array, "n B d"]:
        by_kind = jax.nn.one_hot(self.kind, self.weight.shape[0], dtype=self.weight.dtype)
        weight = jnp.einsum("nk,kfd->nfd", by_kind, self.weight)
        features = self.features(bits).astype(self.weight.dtype)
        return jnp.einsum("nfb,nfd->nbd", features, weight)

    def features(self, bits: UInt8[Array, "n B"]) -> Float[Array, "n features B"]:
        """Between -1 (surely flipped) and 1; 0 where a check has fewer qubits than others."""
        odds = bit_odds(
            self.graph_x,
            self.graph_z,
            QubitOdds(*[jnp.full((1, 1), np.log((1 - ASSUMED_P) / (ASSUMED_P / 3)))] * 3),
            bits[self.x_checks] == 1,
            bits[self.z_checks] == 1,
            iterations=self.iterations,
            check_rule=min_sum(SCALING),
        )
        seen = []
        for x_odds, z_odds in odds:
            x_side = jnp.concatenate(
                [_around(self.graph_x, z_odds), _around(self.graph_x, x_odds)], axis=1
            )
            z_side = jnp.concatenate(
                [_around(self.graph_z, x_odds), _around(self.graph_z, z_odds)], axis=1
            )
            seen.append(jnp.concatenate([x_side, z_side])[self.back])
        return jnp.tanh(jnp.concatenate(seen, axis=1) / _CERTAIN)


def looks(num_iterations: int) -> tuple[int, ...]:
    """The iterations after which the network is told the odds.

    >>> looks(16), looks(2)
    ((1, 5, 16), (2,))
    """
    return tuple(sorted({num_iterations // 9, num_iterations // 3, num_iterations} - {0}))


def _around(graph: TannerGraph, odds: Float[Array, "n B"]) -> Float[Array, "checks degree B"]:
    padded = jnp.concatenate([odds, jnp.zeros((1, odds.shape[1]))])
    return jnp.take(padded, graph.qubits, axis=0)
