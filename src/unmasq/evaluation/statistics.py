"""Rates with 95 % intervals from counts of failures, and paired comparison on common shots.

Plain arithmetic: nothing here knows about decoders or files.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from scipy.special import bdtr, betaincinv, ndtri  # scipy.stats takes a second to import

CONFIDENCE = 0.95


@dataclasses.dataclass(frozen=True)
class Rate:
    """An estimated rate with its interval.

    Where nothing failed, `is_bound` is true: the rate is below `high` with 95 % confidence
    (one-sided), and 0 is no estimate of it.
    """

    value: float
    low: float
    high: float
    is_bound: bool = False

    def __str__(self) -> str:
        """'<2.99e-03', '1.67 [1.40, 1.97]e-02', or from 0.1 on '0.305 [0.249, 0.365]'."""
        if self.is_bound:
            return f"<{self.high:.2e}"
        if self.value >= 0.1:
            return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"
        exponent = math.floor(math.log10(self.value))
        value, low, high = (x / 10.0**exponent for x in (self.value, self.low, self.high))
        return f"{value:.2f} [{low:.2f}, {high:.2f}]e{exponent:03d}"


def clopper_pearson(failures: int, shots: int) -> Rate:
    """The exact interval: it covers the true rate in at least 95 % of experiments."""
    _require_counts(failures, shots)
    if failures == 0:
        return _upper_bound(shots)
    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(failures, shots - failures + 1, tail))
    high = 1.0 if failures == shots else float(betaincinv(failures + 1, shots - failures, 1 - tail))
    return Rate(failures / shots, low, high)


def per_round(rate: Rate, rounds: int) -> Rate:
    """1 - (1 - P)^(1/R): the chance of failure in one of R equal, independent rounds."""
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1: got {rounds}.")

    def of_one(value: float) -> float:
        return 1.0 if value >= 1 else -math.expm1(math.log1p(-value) / rounds)

    return Rate(of_one(rate.value), of_one(rate.low), of_one(rate.high), rate.is_bound)


def mean_logical_rate(logical_failures: Sequence[int], sum_of_squares: int, shots: int) -> Rate:
    """The share of wrong logicals, averaged over all K of them.

    `sum_of_squares` adds the square of the number of wrong logicals of each shot. Logicals fail
    together, so K bits of a shot carry less than K shots would: the interval is Wilson's for
    shots * K / (design effect) independent bits, the design effect being the variance of the
    number of wrong logicals against that of K independent ones.
    """
    failures, num_logicals = sum(logical_failures), len(logical_failures)
    _require_counts(max(logical_failures, default=0), shots)
    if failures == 0:
        return _upper_bound(shots)
    share = failures / (shots * num_logicals)
    variance = sum_of_squares / shots - (failures / shots) ** 2
    independent = num_logicals * share * (1 - share)
    effect = variance / independent if independent > 0 else num_logicals
    return _wilson(share, shots * num_logicals / min(max(effect, 1.0), num_logicals))


@dataclasses.dataclass(frozen=True)
class PairedCounts:
    """How two decoders fared on the same shots (McNemar's table)."""

    shots: int
    both: int  # both failed
    first_only: int  # only the first failed: b
    second_only: int  # only the second failed: c

    @classmethod
    def from_failures(cls, first: np.ndarray, second: np.ndarray) -> "PairedCounts":
        """From one boolean for each common shot and decoder."""
        if first.shape != second.shape:
            raise ValueError(
                f"first and second must cover the same shots: got {len(first)} and {len(second)}."
            )
        return cls(
            len(first),
            int((first & second).sum()),
            int((first & ~second).sum()),
            int((~first & second).sum()),
        )

    @property
    def p_value(self) -> float:
        """Exact two-sided chance of a split at least this uneven between equally good decoders.

        Of b + c shots on which they differ, min(b, c) or fewer go one way: a binomial at 1/2.
        """
        differ = self.first_only + self.second_only
        if differ == 0:
            return 1.0
        return min(1.0, 2 * float(bdtr(min(self.first_only, self.second_only), differ, 0.5)))


def _upper_bound(shots: int) -> Rate:
    """Solves (1 - high)^shots = 5 %: about 3 / shots."""
    return Rate(0.0, 0.0, -math.expm1(math.log(1 - CONFIDENCE) / shots), is_bound=True)


def _wilson(share: float, shots: float) -> Rate:
    """The score interval: shorter than the exact one, and 95 % on average over rates."""
    z2 = float(ndtri((1 + CONFIDENCE) / 2)) ** 2
    centre = (share + z2 / (2 * shots)) / (1 + z2 / shots)
    half = math.sqrt(z2 * (share * (1 - share) / shots + z2 / (4 * shots**2))) / (1 + z2 / shots)
    # At 0 and 1 the interval ends there, up to rounding.
    return Rate(share, min(max(centre - half, 0.0), share), max(min(centre + half, 1.0), share))


def _require_counts(failures: int, shots: int) -> None:
    if shots < 1:
        raise ValueError(f"shots must be at least 1: got {shots}.")
    if not 0 <= failures <= shots:
        raise ValueError(f"failures must lie in 0..{shots}: got {failures}.")
