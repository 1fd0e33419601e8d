"""The noise a network was trained on, kept with its weights, and when other noise is another task.

The structure of a problem says nothing of its rates, and most networks read none: they decode any
noise of their structure as if it were that of training. Kept are the range of p, and the priors of
some faults of every kind at its upper end. Noise differs clearly where some fault is more than
`FACTOR` times as likely or unlikely, beside the others, as in training, or where its best matching
p lies more than `FACTOR` times above the range. A lower p is normal use. A network that is told
the rates, and saw them spread by a factor exp(+-spread), bears exp(2 spread) times as much.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmasq.problems.faults import scaled_priors
from unmasq.problems.problem import DecodingProblem

FACTOR = 2.0
_OF_EACH_KIND = 4  # faults of equal prior that are kept ...
_KEPT = 512  # ... and of all


class NoiseMismatchWarning(UserWarning):
    """A network is asked about other noise than it was trained on."""


@dataclasses.dataclass(frozen=True, eq=False)
class TrainedNoise:
    """A range of p, and what its upper end means: the priors of some faults, by column."""

    low: float
    high: float
    faults: NDArray[np.int64] | None = None
    priors: NDArray[np.float64] | None = None
    spread: float = 0.0  # of rates that a network is told

    @staticmethod
    def of(
        problem: DecodingProblem, low: float, high: float, spread: float = 0.0
    ) -> "TrainedNoise":
        """A problem at p = low to high; the priors of one without channels are scaled."""
        if problem.channels is not None:
            priors = problem.at(high).priors
        else:
            priors = scaled_priors(problem.priors, high / problem.p)
        chosen = _some_of_each_kind(priors)
        return TrainedNoise(low, high, chosen, priors[chosen], spread)

    @staticmethod
    def read(facts: Any) -> "TrainedNoise":
        """From a weight file's header; faults may be missing."""
        try:
            low, high = float(facts["low"]), float(facts["high"])
            if "faults" not in facts:
                return TrainedNoise(low, high)
            faults = np.array(facts["faults"], np.int64)
            priors = np.array(facts["priors"], np.float64)
            spread = float(facts.get("spread", 0.0))
            sound = faults.ndim == 1 and faults.shape == priors.shape and (faults >= 0).all()
            if not (sound and 0 <= spread < 10 and 0 < low <= high and (priors > 0).all()):
                raise ValueError("sizes or signs are wrong")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(
                "noise of a model must have low and high, and a prior for each of its faults: got "
                f"something else ({error}). Its file or card was altered."
            ) from error
        return TrainedNoise(low, high, faults, priors, spread)

    def facts(self) -> dict[str, Any]:
        """What `read` reads."""
        found: dict[str, Any] = {"low": self.low, "high": self.high}
        if self.faults is not None and self.priors is not None:
            found["faults"] = self.faults.tolist()
            found["priors"] = [float(f"{prior:.6g}") for prior in self.priors]
        if self.spread:
            found["spread"] = self.spread
        return found

    @property
    def label(self) -> str:
        """'p = 0.003 to 0.006'."""
        if self.low == self.high:
            return f"p = {self.high:.4g}"
        return f"p = {self.low:.4g} to {self.high:.4g}"

    def difference(self, problem: DecodingProblem) -> str | None:
        """What is clearly different in the noise of a problem of the trained structure, or None."""
        factor = FACTOR * float(np.exp(2 * self.spread))
        known = self.faults is not None and self.faults.max(initial=0) < problem.num_faults
        if self.faults is None or self.priors is None or not (self.faults.size and known):
            if problem.noise == "custom":  # its p is only the greatest of its rates
                return None
            p = problem.p
        else:
            ratios = problem.priors[self.faults] / self.priors
            middle = float(np.exp(np.median(np.log(ratios))))
            p = middle * self.high
            apart = max(float(ratios.max()) / middle, middle / float(ratios.min()))
            if apart > factor:
                return (
                    f"beside the others, some faults are {apart:.3g} times more or less likely "
                    f"than in training, at the best matching p = {p:.3g}"
                )
        if p > factor * self.high:
            return f"p = {p:.3g} lies far above the trained {self.label}"
        return None


def trained_noise(header: Mapping[str, Any], card: Mapping[str, Any]) -> TrainedNoise | None:
    """Of a weight file, or of its card where it is older; else the recipe's p, no single faults."""
    facts = header.get("noise", card.get("noise"))
    if facts is None:
        recipe = card.get("recipe")
        schedule = recipe.get("noise") if isinstance(recipe, dict) else None
        if not isinstance(schedule, dict) or not isinstance(schedule.get("p"), float):
            return None
        p, low = schedule["p"], schedule.get("low", 1.0)
        facts = {"low": float(f"{p * low:.4g}") if isinstance(low, float) else low, "high": p}
    return TrainedNoise.read(facts)


def _some_of_each_kind(priors: NDArray[np.float64]) -> NDArray[np.int64]:
    """Columns, spread over all that have equal priors, a few of each."""
    kinds = np.unique([f"{prior:.6e}" for prior in priors], return_inverse=True)[1]
    count = max(1, min(_OF_EACH_KIND, _KEPT // max(int(kinds.max(initial=0)) + 1, 1)))
    chosen = []
    for kind in range(int(kinds.max(initial=-1)) + 1):
        found = np.flatnonzero(kinds == kind)
        chosen.append(found[np.arange(min(count, len(found))) * len(found) // count])
    spread = np.unique(np.concatenate([np.zeros(0, np.int64), *chosen]))
    return spread[np.linspace(0, len(spread) - 1, min(_KEPT, len(spread))).astype(np.int64)]
