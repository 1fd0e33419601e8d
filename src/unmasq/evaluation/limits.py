"""`Limits`: when a point has enough shots, the same ones whoever decodes them."""

import dataclasses

import numpy as np

BLOCK_SHOTS = 64


@dataclasses.dataclass(frozen=True)
class Limits:
    """When a point has enough: by shots, by failures, whichever comes first."""

    max_shots: int
    max_errors: int | None = None

    def __post_init__(self) -> None:
        if self.max_shots < 1:
            raise ValueError(f"max_shots must be at least 1: got {self.max_shots}.")
        if self.max_errors is not None and self.max_errors < 1:
            raise ValueError(f"max_errors must be at least 1: got {self.max_errors}.")

    def reached(self, shots: int, errors: int) -> bool:
        """Whether `errors` failures in the first `shots` shots are enough."""
        enough = self.max_errors is not None and errors >= self.max_errors
        return shots >= self.max_shots or (enough and shots % BLOCK_SHOTS == 0)

    def cut(self, shots: int, errors: int, failed: np.ndarray) -> int:
        """How many of the next shots still count, behind `shots` shots with `errors` failures."""
        length = min(len(failed), self.max_shots - shots)
        if self.max_errors is None:
            return length
        totals = errors + np.cumsum(failed[:length])
        at_block_end = (shots + np.arange(1, length + 1)) % BLOCK_SHOTS == 0
        enough = np.flatnonzero(at_block_end & (totals >= self.max_errors))
        return int(enough[0]) + 1 if enough.size else length
