"""Faults by what they flip: merging equal ones, laying them out as columns, their channels.

A fault is known by its (detectors, logicals), never by its detectors alone: two faults that fire
the same detectors may differ in the logicals.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmasq.codes import gf2

FaultKey = tuple[tuple[int, ...], tuple[int, ...]]  # (detectors, logicals), both sorted


def merge_faults(faults: Iterable[tuple[FaultKey, float]]) -> dict[FaultKey, float]:
    """{(detectors, logicals): prior}: equal faults merge, those without effect are left out."""
    merged: dict[FaultKey, float] = {}
    for key, prior in faults:
        if key != ((), ()):
            merged[key] = merge_probabilities(merged.get(key, 0.0), prior)
    return merged


def merge_probabilities(p: float, q: float) -> float:
    """Probability that exactly one of two independent equal faults happens."""
    return p * (1 - q) + q * (1 - p)


def require_priors(priors: NDArray[np.float64]) -> None:
    """Refuses what is no probability of a fault."""
    outside = np.flatnonzero(~((priors > 0) & (priors <= 0.5)))
    if outside.size:
        raise ValueError(
            f"priors must lie in (0, 0.5]: got priors[{outside[0]}] = {priors[outside[0]]}. "
            "Drop faults of probability 0; flip those above 0.5."
        )


def fault_columns(
    faults: Mapping[FaultKey, float], num_detectors: int, num_logicals: int
) -> tuple[sparse.csc_array, sparse.csc_array, NDArray[np.float64], list[FaultKey]]:
    """H, L and priors with the columns in canonical order, and that order."""
    order = sorted(faults)
    return (
        gf2.sparse_columns([detectors for detectors, _ in order], num_detectors),
        gf2.sparse_columns([logicals for _, logicals in order], num_logicals),
        np.array([faults[key] for key in order], np.float64),
        order,
    )


def column_supports(matrix: sparse.csc_array) -> list[tuple[int, ...]]:
    """The row numbers of the ones in each column."""
    indices = matrix.indices.tolist()
    starts = matrix.indptr.tolist()
    return [tuple(indices[a:b]) for a, b in zip(starts[:-1], starts[1:], strict=True)]


def strengths(priors: NDArray[np.float64]) -> NDArray[np.float64]:
    """-log(1 - 2f): adds up where independent equal faults merge; infinite at f = 1/2."""
    with np.errstate(divide="ignore"):
        return -np.log1p(-2 * priors)


def scaled_priors(
    priors: NDArray[np.float64], factor: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Priors f(s) of channels `factor` = s times as strong: 1 - 2 f(s) = (1 - 2f)^s.

    >>> scaled_priors(np.array([0.1, 0.5]), 2.0)  # twice the same channel
    array([0.18, 0.5 ])
    """
    return -np.expm1(-factor * strengths(priors)) / 2


# An elementary channel at rate q makes independent faults of probability f with
# 1 - 2f = (1 - base * q) ** power: Stim's exact conversion of depolarizing noise.
CHANNEL_KINDS: Mapping[str, tuple[float, float]] = {  # kind: (base, power)
    "depolarize1": (4 / 3, 1 / 2),
    "depolarize2": (16 / 15, 1 / 8),
    "flip": (2.0, 1.0),
}


def as_counts(counts: NDArray[np.integer]) -> NDArray[np.integer]:
    """In 16 bits where they fit."""
    return counts.astype(np.int16 if counts.max(initial=0) < 2**15 else np.int32)


@dataclasses.dataclass(frozen=True, eq=False)
class Channels:
    """How many elementary channels of each kind every fault merges: priors at any p.

    Channel c has rate `ratios[c]` * p; `counts[j, c]` of them make fault j.
    """

    kinds: tuple[str, ...]
    ratios: tuple[float, ...]
    counts: NDArray[np.integer]  # (N, C)

    def priors(self, p: float) -> NDArray[np.float64]:
        """(1 - prod_c (1 - 2 f_c(p))^n_c) / 2 for each fault."""
        log_product = np.zeros(len(self.counts))
        for kind, ratio, count in zip(self.kinds, self.ratios, self.counts.T, strict=True):
            base, power = CHANNEL_KINDS[kind]
            if base * ratio * p > 1:
                raise ValueError(
                    f"p must keep the rate of every {kind} channel at most {1 / base:.4g}: "
                    f"got {p}, which makes it {ratio * p:.4g}."
                )
            used = count > 0  # at the greatest rate the logarithm is -inf, and f = 1/2
            with np.errstate(divide="ignore"):
                log_product[used] += count[used] * power * np.log1p(-base * ratio * p)
        return -np.expm1(log_product) / 2

    def merged(self, keys: Sequence[FaultKey], order: Sequence[FaultKey]) -> "Channels":
        """The channels of the faults `order`, when fault j has become `keys[j]`."""
        column = {key: j for j, key in enumerate(order)}
        kept = [j for j, key in enumerate(keys) if key in column]
        counts = np.zeros((len(order), len(self.kinds)), np.int64)
        np.add.at(counts, [column[keys[j]] for j in kept], self.counts[kept])
        return Channels(self.kinds, self.ratios, as_counts(counts))
