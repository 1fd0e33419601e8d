"""`SoftOutput`: predictions with what the network thinks of them, as plain arrays."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unmasq.decoding.asking import require_probability
from unmasq.decoding.unmasking import Unmasked
from unmasq.decoding.voting import Voted


@dataclasses.dataclass(frozen=True, eq=False)
class SoftOutput:
    """Predictions with what the network thinks of them.

    `probabilities[b, k]` is the network's probability that logical k flipped, given the syndrome
    and the logicals it had revealed before k. `log_likelihood` adds the logs of the predicted
    values' probabilities: the log of the probability that the whole prediction is right. Where
    views voted, the one is the share of their votes, the other the log of the answer's support.
    Both are NaN where a guess was taken and the network not asked.
    """

    logicals: NDArray[np.uint8]  # (B, K)
    probabilities: NDArray[np.float32]  # (B, K)
    log_likelihood: NDArray[np.float32]  # (B,)
    steps: NDArray[np.int32]  # (B,) unmasking steps each shot took

    @property
    def confidence(self) -> NDArray[np.float32]:
        """Probability, by the network itself, that all logicals of the shot are right."""
        return np.exp(self.log_likelihood)

    def discarded(self, below: float | None) -> NDArray[np.bool_]:
        """Post-selection: shots whose confidence lies below a probability; none without one."""
        if below is None:
            return np.zeros(len(self.logicals), bool)
        require_probability(below)
        return self.log_likelihood < np.log(below)

    def only(self, first: int, stop: int) -> "SoftOutput":
        """What is said of logicals first..stop-1, whatever became of the others."""
        logicals, flips = self.logicals[:, first:stop], self.probabilities[:, first:stop]
        right = np.where(logicals == 1, flips, 1 - flips)
        log_likelihood = np.log(np.maximum(right, np.finfo(np.float32).tiny)).sum(axis=1)
        return SoftOutput(logicals, flips, log_likelihood.astype(np.float32), self.steps)

    @staticmethod
    def of(found: Unmasked | Voted, shots: int) -> "SoftOutput":
        """The first `shots` of a batch, from the device; the rest is padding."""
        if isinstance(found, Voted):
            return SoftOutput(*(np.array(field)[:shots] for field in found))
        logicals, logits, steps = (np.array(field)[:shots] for field in found)
        with np.errstate(invalid="ignore"):  # NaN stays NaN, for the caller to see
            log_likelihood = -np.logaddexp(0, (1 - 2.0 * logicals) * logits).sum(axis=1)
            probabilities = np.exp(-np.logaddexp(0, -logits)).astype(np.float32)
        return SoftOutput(logicals, probabilities, log_likelihood.astype(np.float32), steps)

    @staticmethod
    def guessed(logicals: NDArray[np.uint8]) -> "SoftOutput":
        """Predictions that the network has not been asked for."""
        unknown = np.full(logicals.shape, np.nan, np.float32)
        return SoftOutput(
            logicals.copy(), unknown, unknown.sum(axis=1), np.zeros(len(logicals), np.int32)
        )

    @staticmethod
    def joined(parts: "Sequence[SoftOutput]", num_logicals: int) -> "SoftOutput":
        """The shots of all parts in order; there may be none."""
        none = SoftOutput(
            np.zeros((0, num_logicals), np.uint8),
            np.zeros((0, num_logicals), np.float32),
            np.zeros(0, np.float32),
            np.zeros(0, np.int32),
        )
        return SoftOutput(
            *(
                np.concatenate([getattr(part, field.name) for part in (none, *parts)])
                for field in dataclasses.fields(SoftOutput)
            )
        )

    def write(self, rows: NDArray[np.intp], part: "SoftOutput") -> None:
        """Puts the answers of a second pass over those of the first."""
        for field in dataclasses.fields(SoftOutput):
            getattr(self, field.name)[rows] = getattr(part, field.name)
