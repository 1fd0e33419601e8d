"""Post-selection: what the error rate becomes when the least confident shots are discarded."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unmasq.evaluation.statistics import Rate, clopper_pearson
from unmasq.problems.problem import DecodingProblem
from unmasq.shots.reader import ShotReader

if TYPE_CHECKING:
    from unmasq.decoding.diffusion_decoder import DiffusionDecoder

BATCH = 8192
# Shares of the shots to discard, at most.
SHARES = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)


@dataclasses.dataclass(frozen=True)
class DiscardPoint:
    """All shots of lower confidence than `threshold` are discarded."""

    threshold: float
    shots: int
    discards: int
    errors: int  # among the shots kept

    @property
    def rate(self) -> Rate:
        """Of the shots kept, with the exact interval."""
        return clopper_pearson(self.errors, self.shots - self.discards)


@dataclasses.dataclass(frozen=True)
class DiscardCurve:
    """Error rate against the share of discarded shots, of one decoder at one p."""

    decoder: str
    problem: str
    rounds: int
    p: float
    points: tuple[DiscardPoint, ...]


def discard_points(
    confidence: np.ndarray, failed: np.ndarray, shares: Sequence[float] = SHARES
) -> tuple[DiscardPoint, ...]:
    """For each share, the highest threshold that discards no more than that.

    Shots of equal confidence are kept or discarded together.
    """
    if confidence.shape != failed.shape or confidence.ndim != 1:
        raise ValueError(
            "confidence and failed must have one value for each shot: got shapes "
            f"{confidence.shape} and {failed.shape}."
        )
    if np.isnan(confidence).any():
        first = int(np.flatnonzero(np.isnan(confidence))[0])
        raise ValueError(f"confidence must be a number for every shot: got NaN in shot {first}.")
    ordered = np.sort(confidence)
    points = []
    for share in shares:
        count = min(int(share * len(ordered)), len(ordered) - 1)
        threshold = float(ordered[count])
        discarded = confidence < threshold
        errors = int((failed & ~discarded).sum())
        points.append(DiscardPoint(threshold, len(failed), int(discarded.sum()), errors))
    return tuple(dict.fromkeys(points))


def measure_discards(
    decoder: "DiffusionDecoder", problem: DecodingProblem, shots: int, seed: int = 0
) -> DiscardCurve:
    """Decodes evaluation shots 0, 1, ... with their confidence."""
    decoder = decoder.for_problem(problem)
    reader = ShotReader(problem, seed)
    confidence, failed = [], []
    for first in range(0, shots, BATCH):
        syndromes, logicals = reader.read(first, min(first + BATCH, shots))
        soft = decoder.decode_soft(syndromes)
        # Logarithms, which tell apart shots whose confidence rounds to 1.
        confidence.append(soft.log_likelihood)
        failed.append((soft.logicals != logicals).any(axis=1))
    points = discard_points(np.concatenate(confidence), np.concatenate(failed))
    named = tuple(dataclasses.replace(x, threshold=float(np.exp(x.threshold))) for x in points)
    return DiscardCurve(decoder.name, problem.name, problem.num_rounds, problem.p, named)
