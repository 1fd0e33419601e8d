"""Quaternary BP + OSD for code-capacity noise, as the paper runs it (after arXiv:1904.02703)."""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np

from unmasq.baselines.adapter import Baseline
from unmasq.baselines.osd import integer_weights, ordered_statistics
from unmasq.codes import gf2
from unmasq.models.quaternary import Neighbours, QubitOdds, min_sum, neighbours_of, run_bp4
from unmasq.problems.pauli_channel import pauli_channel
from unmasq.problems.problem import DecodingProblem
from unmasq.shots.batches import cut, pad, padded_size

NUM_ITERATIONS = 100
# Most shots converge within a few iterations; only the others are run to the end.
_FIRST_ITERATIONS = 8
# Batches are padded to powers of two between these, so that few sizes are compiled. A single shot
# stays alone: sixteen take twice its time.
_MIN_BATCH = 16
_MAX_BATCH = 4096


class QuaternaryBpOsd(Baseline):
    """Min-sum BP over I, X, Y, Z, and where it does not converge OSD for X and Z separately.

    The defaults are the paper's: scaling 0.5, at most 100 iterations. OSD ranks columns by the
    likelihood that BP gives them of being flipped, and weighs candidates by the channel; order 10
    is the combination sweep of `ordered_statistics`. OSD replaces both halves of the error, also
    the half whose syndrome BP had met.

    Shots are decoded side by side, in JAX, on all cores that the process may use.
    """

    decodes_batches = True

    def __init__(
        self,
        problem: DecodingProblem,
        name: str = "bp4-osd10",
        osd_order: int = 10,
        scaling: float = 0.5,
    ) -> None:
        super().__init__(name, problem, "xz")
        self._arguments = (problem, name, osd_order, scaling)
        self._channel = pauli_channel(problem)
        self._check_rule = min_sum(scaling)
        self._graphs = (
            _on_device(neighbours_of(self._channel.checks_x)),
            _on_device(neighbours_of(self._channel.checks_z)),
        )
        identity, x, z, y = self._channel.probabilities.T
        odds = (np.log(identity / pauli)[:, None] for pauli in (x, z, y))
        self._channel_odds = QubitOdds(*(jnp.asarray(each, jnp.float32) for each in odds))
        self._osd_x = _Osd(self._channel.checks_x, z + y, osd_order)
        self._osd_z = _Osd(self._channel.checks_z, x + y, osd_order)

    def warm_up(self, shots: int) -> None:
        """Compiles all that so many shots may need, whatever they are."""
        for size in sorted({_padded_size(count) for count in range(1, min(shots, _MAX_BATCH) + 1)}):
            channel = self._channel
            quiet_x, quiet_z = (
                np.zeros((size, len(rows)), bool) for rows in (channel.rows_x, channel.rows_z)
            )
            _, _, x_odds, z_odds, _ = self._run_bp(quiet_x, quiet_z, 1)
            self._osd_x.run(z_odds, quiet_x)
            self._osd_z.run(x_odds, quiet_z)

    def _decode_flagged(self, syndromes: np.ndarray) -> np.ndarray:
        x_errors, z_errors = self.decode_to_errors(syndromes)
        channel = self._channel
        flips = channel.logicals_of_x.astype(np.int32) @ x_errors.T.astype(np.int32)
        flips += channel.logicals_of_z.astype(np.int32) @ z_errors.T.astype(np.int32)
        return (flips.T & 1).astype(np.uint8)

    def decode_to_errors(self, syndromes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """X and Z bits of each qubit's predicted error, both (B, n) bool."""
        n = len(self._channel.probabilities)
        x_errors, z_errors = np.zeros((2, len(syndromes), n), bool)
        for part in cut(len(syndromes), _MAX_BATCH):
            x_errors[part], z_errors[part] = self._decode_part(syndromes[part].astype(bool))
        return x_errors, z_errors

    def _decode_part(self, syndromes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        syndrome_x = syndromes[:, self._channel.rows_x]
        syndrome_z = syndromes[:, self._channel.rows_z]
        x_errors, z_errors, _, _, converged = self._run_bp(
            syndrome_x, syndrome_z, _FIRST_ITERATIONS
        )
        late = np.flatnonzero(~converged)
        if late.size == 0:
            return x_errors, z_errors
        x_errors[late], z_errors[late], x_odds, z_odds, converged = self._run_bp(
            syndrome_x[late], syndrome_z[late], NUM_ITERATIONS
        )
        failed = late[~converged]
        if failed.size:
            # X checks see Z errors, Z checks see X errors.
            z_errors[failed] = self._osd_x.run(z_odds[~converged], syndrome_x[failed])
            x_errors[failed] = self._osd_z.run(x_odds[~converged], syndrome_z[failed])
        return x_errors, z_errors

    def _run_bp(
        self, syndrome_x: np.ndarray, syndrome_z: np.ndarray, num_iterations: int
    ) -> list[np.ndarray]:
        """The fields of `BpResult`, on the host and shots first."""
        result = run_bp4(
            self._graphs,
            self._channel_odds,
            (jnp.asarray(_padded(syndrome_x).T), jnp.asarray(_padded(syndrome_z).T)),
            num_iterations=num_iterations,
            check_rule=self._check_rule,
        )
        return [np.array(leaf.T)[: len(syndrome_x)] for leaf in result]


@dataclasses.dataclass(frozen=True, eq=False)
class _Osd:
    """`ordered_statistics` for one check matrix, on the host's arrays."""

    checks: np.ndarray  # (M, n)
    probabilities: np.ndarray  # (n,) of a flip; candidates weigh log (1 - q) / q
    order: int

    @functools.cached_property
    def _rank(self) -> int:
        return gf2.rank(self.checks)

    @functools.cached_property
    def _weights(self) -> np.ndarray:
        return integer_weights(np.log((1 - self.probabilities) / self.probabilities))

    def run(self, odds: np.ndarray, syndromes: np.ndarray) -> np.ndarray:
        errors = ordered_statistics(
            jnp.asarray(self.checks == 1),
            jnp.asarray(_padded(odds)),
            jnp.asarray(_padded(syndromes)),
            jnp.asarray(self._weights),
            rank=self._rank,
            order=self.order,
        )
        return np.asarray(errors)[: len(syndromes)]


def _padded(shots: np.ndarray) -> np.ndarray:
    """Up to a size that is compiled."""
    return pad(shots, _padded_size(len(shots)))


def _padded_size(shots: int) -> int:
    """Itself for a single shot, else a power of two from `_MIN_BATCH` on."""
    return 1 if shots == 1 else max(_MIN_BATCH, padded_size(shots))


def _on_device(graph: Neighbours) -> Neighbours:
    return Neighbours(*map(jnp.asarray, graph))
