"""What a network may be told of the noise: how much of it there is around each check.

A fault of prior f has the strength -log(1 - 2f), about 2f. Strengths add up where equal faults
merge, and are multiplied where a channel is scaled. Of each detector: their sums over the faults
that flip it, in four classes, those of one check site or of several, in one frame or in several.
Told is the logarithm of each sum beside that of the nominal noise: 0 at the nominal rates, log s
where all channels are s times as strong.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmasq.problems.faults import strengths
from unmasq.problems.problem import DecodingProblem, Layout

NUM_CLASSES = 4
MOST_STRENGTH = 10.0  # that is told of a fault: f = 1/2 has an infinite one


@dataclasses.dataclass(frozen=True, eq=False)
class NominalRates:
    """The sums at the nominal noise, which travel with a network's weights."""

    layout: Layout
    sums: NDArray[np.float32]  # (frames, sites, classes); 0 where no fault is

    def __post_init__(self) -> None:
        wanted = (self.layout.num_frames, self.layout.num_checks, NUM_CLASSES)
        if self.sums.shape != wanted or not (np.isfinite(self.sums) & (self.sums >= 0)).all():
            raise ValueError(
                f"nominal rates must be numbers of shape {wanted}, at least 0: got shape "
                f"{self.sums.shape}. Their file was altered."
            )

    @staticmethod
    def of(problem: DecodingProblem) -> "NominalRates":
        sums = _sums(problem.check_matrix, problem.priors, problem.layout)
        return NominalRates(problem.layout, sums)

    def features(self, problem: DecodingProblem) -> NDArray[np.float32]:
        """phi (frames, sites, classes) of a problem with these detectors; its layout is ours."""
        sums = _sums(problem.check_matrix, problem.priors, self.layout)
        known = (sums > 0) & (self.sums > 0)
        return np.log(np.where(known, sums, 1) / np.where(known, self.sums, 1))

    def on(self, layout: Layout) -> "NominalRates":
        """For another number of rounds R': frame r < R' has the rates of min(r, R - 1)."""
        last = len(self.sums) - 1
        kept = np.minimum(np.arange(layout.num_frames), last - 1)
        kept[-1] = last
        return NominalRates(layout, self.sums[kept])


def around_detectors(check_matrix: sparse.csc_array, layout: Layout) -> sparse.csr_array:
    """(frames * sites * classes, N): which faults flip the detector there and are of the class."""
    entries = check_matrix.tocoo()
    detector, fault = entries.coords
    classes = 2 * _differ(layout.check[detector], fault, check_matrix.shape[1])
    classes += _differ(layout.frame[detector], fault, check_matrix.shape[1])
    site = layout.frame[detector].astype(np.int64) * layout.num_checks + layout.check[detector]
    shape = (layout.num_frames * layout.num_checks * NUM_CLASSES, check_matrix.shape[1])
    place = site * NUM_CLASSES + classes[fault]
    return sparse.csr_array((np.ones(len(fault)), (place, fault)), shape=shape)


def site_shares(problem: DecodingProblem) -> NDArray[np.float32]:
    """(sites, N): the share of each fault's detectors at each site; where it has none, equal."""
    detector, fault = problem.check_matrix.tocoo().coords
    shares = np.zeros((problem.layout.num_checks, problem.num_faults), np.float32)
    np.add.at(shares, (problem.layout.check[detector], fault), 1)
    shares[:, shares.sum(axis=0) == 0] = 1
    return shares / shares.sum(axis=0)


def _sums(
    check_matrix: sparse.csc_array, priors: NDArray[np.float64], layout: Layout
) -> NDArray[np.float32]:
    told = np.minimum(strengths(priors), MOST_STRENGTH)
    sums = around_detectors(check_matrix, layout) @ told
    return sums.reshape(layout.num_frames, layout.num_checks, NUM_CLASSES).astype(np.float32)


def _differ(values: NDArray, fault: NDArray, num_faults: int) -> NDArray[np.int64]:
    """(N,): 1 for faults with two different values."""
    least, most = np.full(num_faults, np.iinfo(np.int32).max), np.full(num_faults, -1)
    np.minimum.at(least, fault, values)
    np.maximum.at(most, fault, values)
    return (most > least).astype(np.int64)
