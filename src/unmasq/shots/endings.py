"""Training shots that end several times: each experiment says what many shorter ones would.

An experiment of R rounds is a chain of equal rounds: the faults of round k flip detectors of the
frames k - 1 and k alone. Had it ended after round r < R, its frames up to r - 1 would be the same,
and the noiseless round that follows would show what the faults of round r alone flip in frame r.
So one experiment holds those of all its endings, and a recurrent encoder reads what they share
once.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, UInt8

from unmasq.problems.problem import DecodingProblem
from unmasq.problems.rounds import with_rounds
from unmasq.shots.drift import Drift
from unmasq.shots.sampling import Shots, ShotSampler


class EndedShots(NamedTuple):
    """A batch of experiments, each with E endings."""

    frames: UInt8[Array, "B R n"]  # where the experiment goes on
    last: UInt8[Array, "B E n"]  # what an ending shows in place of the frame after its last round
    logicals: UInt8[Array, "B E K"]
    flips: UInt8[Array, "B E n"]  # of each check, over all frames of the ended experiment


class EndingSampler(eqx.Module):
    """Draws experiments round by round, at each one's p."""

    round: ShotSampler  # of experiments of one round
    endings: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, problem: DecodingProblem, endings: Sequence[int], *, drifts: bool = False):
        self.round = ShotSampler(one_round(problem), drifts=drifts)
        self.endings = tuple(endings)

    def drift(self, spread: float, shots: int, *, key: PRNGKeyArray) -> Drift | None:
        """Factors for so many experiments, where rates drift."""
        return self.round.drift(spread, shots, key=key)

    def __call__(
        self, p: Float[Array, " B"], drift: Drift | None = None, *, key: PRNGKeyArray
    ) -> EndedShots:
        """A batch, as long as the last ending."""
        rounds = self.endings[-1]
        p, drift = jax.tree.map(lambda each: jnp.repeat(each, rounds, axis=0), (p, drift))
        return ended(self.round(p, drift, key=key), self.endings)


def ended(drawn: Shots, endings: Sequence[int]) -> EndedShots:
    """What experiments show whose rounds alone would show `drawn`, (B R) of them, B outermost."""
    rounds = endings[-1]
    by_round = drawn.syndrome.reshape(-1, rounds, 2, drawn.syndrome.shape[1] // 2)
    before, after = by_round[:, :, 0], by_round[:, :, 1]  # in the frames k - 1 and k
    logicals = drawn.logicals.reshape(len(by_round), rounds, -1)
    last = np.asarray(endings) - 1
    return EndedShots(
        before.at[:, 1:].set(before[:, 1:] ^ after[:, :-1]),
        after[:, last],
        _sums(logicals)[:, last],
        _sums(before ^ after)[:, last],
    )


def _sums(bits: UInt8[Array, "B R n"]) -> UInt8[Array, "B R n"]:
    """Modulo 2, over all rounds up to each."""
    return (jnp.cumsum(bits.astype(jnp.int32), axis=1) & 1).astype(jnp.uint8)


def one_round(problem: DecodingProblem) -> DecodingProblem:
    """The experiment of one round, whose faults every longer one repeats in each of its rounds."""
    layout, wanted = problem.layout, problem.layout.num_checks * problem.layout.num_frames
    full = np.array_equal(layout.grid().ravel(), np.arange(wanted))
    if problem.channels is None or layout.num_frames < 2 or not full:
        raise ValueError(
            f"endings must be empty for '{problem.name}': they need rounds, noise that has a "
            "formula, and every check in every frame. Set endings=[]."
        )
    one, several = with_rounds(problem, 1), with_rounds(problem, 3)
    if _chained(one, 3) != _counts(several):
        raise ValueError(
            f"endings must be empty for '{problem.name}', whose rounds are not all alike: its "
            "first or last one has other faults than those between. Set endings=[]."
        )
    return one


def _counts(problem: DecodingProblem) -> dict:
    """How many channels of each kind make each fault."""
    assert problem.channels is not None
    return dict(zip(problem.faults(), map(tuple, problem.channels.counts.tolist()), strict=True))


def _chained(one: DecodingProblem, rounds: int) -> dict:
    """The same of so many rounds, one after the other."""
    size = one.num_detectors // 2
    total: dict = {}
    for ((detectors, logicals), counts), r in itertools.product(
        _counts(one).items(), range(rounds)
    ):
        key = (tuple(d + r * size for d in detectors), logicals)
        total[key] = tuple(map(sum, zip(counts, total.get(key, (0,) * len(counts)), strict=True)))
    return total
