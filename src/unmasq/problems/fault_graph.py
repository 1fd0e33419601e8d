"""`FaultGraph`: the faults that one check type sees, as belief propagation passes messages on them.

With circuit noise a fault flips a few detectors, in one frame or in two. Those of the check type
that sees the logicals say nearly all about them, with an eighth of the faults. The graph travels in
the weight file of a network that begins with belief propagation.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from unmasq.codes.symmetry import Indices, Symmetry
from unmasq.problems.problem import DecodingProblem

Signatures = NDArray[np.uint64]


@dataclasses.dataclass(frozen=True, eq=False)
class FaultGraph:
    """Which faults flip the detector of each frame and site, and what they do to the logicals.

    Slot i of a detector holds the same fault everywhere, seen from there: a symmetry that takes a
    check to another takes the faults in the slots of the one to those of the other, and so does a
    step from frame to frame. Seen from a detector, a fault is known by its signature, a hash of
    where its other detectors stand, whatever the number of rounds.
    """

    sites: Indices  # (S,) check sites of the type
    around: Indices  # (frames, S, slots): fault number, -1 for none
    signatures: Signatures  # (S, named): of the first slots, which a network may be told of
    logicals: NDArray[np.uint8]  # (K, N): flipped by each fault
    odds: NDArray[np.float32]  # (N,): log-odds against each fault

    def __post_init__(self) -> None:
        faults = len(self.odds)
        if (
            self.around.ndim != 3
            or self.signatures.ndim != 2
            or not self.around.shape[1] == len(self.sites) == len(self.signatures)
            or not self.signatures.shape[1] <= self.around.shape[2]
            or self.logicals.shape[1:] != (faults,)
            or not np.isfinite(self.odds).all()
            or not (self.around.size and -1 <= self.around.min() <= self.around.max() < faults)
        ):
            raise ValueError(
                "fault graph must place its faults around each detector: got arrays of shapes "
                f"{self.around.shape}, {self.signatures.shape}, {self.logicals.shape} and "
                f"{self.odds.shape}. Its file was altered."
            )

    @property
    def num_named(self) -> int:
        """Slots with a signature; faults that occur with other numbers of rounds alone follow."""
        return self.signatures.shape[1]


def fault_graph(
    problem: DecodingProblem, symmetry: Symmetry | None, like: FaultGraph | None = None
) -> FaultGraph:
    """Of the check type that sees the logicals; with the slots of `like`, others last."""
    if problem.basis not in ("X", "Z"):
        raise ValueError(
            "bp_iterations must be 0 unless the logicals of one basis are read out: got basis "
            f"{problem.basis}. Set network.bp_iterations=0."
        )
    if symmetry is None:
        raise ValueError(
            "bp_iterations must be 0 for a circuit without a known symmetry: nothing tells which "
            "faults are alike. Set network.bp_iterations=0."
        )
    kind = "XZ".index(problem.basis)
    sites = np.flatnonzero(problem.layout.check_type == kind).astype(np.int32)
    seen = problem.restricted_to_type(kind)[1]
    entries = seen.check_matrix.tocoo()
    detector, fault = (numbers.astype(np.int32) for numbers in entries.coords)
    place, frame = seen.layout.check[detector], seen.layout.frame[detector]
    signatures = _signatures(place, frame, fault, symmetry.check_ties().index[np.ix_(sites, sites)])
    named = _by_site(place, signatures, len(sites)) if like is None else like.signatures
    around, slot = _slots(place, frame, signatures, named, seen.layout.num_frames)
    around[frame, place, slot] = fault
    return FaultGraph(
        sites,
        around,
        named,
        seen.logical_matrix.toarray().astype(np.uint8),
        np.log1p(-seen.priors).astype(np.float32) - np.log(seen.priors).astype(np.float32),
    )


def _signatures(place: Indices, frame: Indices, fault: Indices, orbits: Indices) -> Signatures:
    """Of each entry of H: its fault as seen from its detector; never 0.

    A sum over the fault's detectors of words for (frames on, orbit of the pair of checks). Faults
    that look alike from one detector, which differ in their logicals alone, are numbered.
    """
    order = np.argsort(fault, kind="stable")
    starts = np.flatnonzero(np.diff(fault[order], prepend=-1))
    signatures = np.zeros(len(fault), np.uint64)
    for group in np.split(order, starts[1:]):
        steps = (frame[group][None, :] - frame[group][:, None]).astype(np.int64)
        pairs = orbits[place[group][:, None], place[group][None, :]]
        signatures[group] = _words(steps * 2**32 + pairs).sum(axis=1, dtype=np.uint64)
    rank = np.lexsort((fault, signatures, place, frame))
    alike = np.zeros(len(rank), bool)
    for values in (signatures, place, frame):
        alike |= np.diff(values[rank], prepend=values[rank[:1]] + values.dtype.type(1)) != 0
    first = np.maximum.accumulate(np.where(alike, np.arange(len(rank)), 0))
    number = np.empty(len(rank), np.int64)
    number[rank] = np.arange(len(rank)) - first
    return np.maximum(_words(signatures.view(np.int64) + number), np.uint64(1))


def _words(numbers: NDArray[np.int64]) -> Signatures:
    """Well mixed 64-bit words of whole numbers (the finalizer of SplitMix64)."""
    with np.errstate(over="ignore"):
        x = numbers.astype(np.int64).view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def _by_site(place: Indices, signatures: Signatures, sites: int) -> Signatures:
    """The signatures that occur at each site, sorted; 0 fills up."""
    found = [np.unique(signatures[place == site]) for site in range(sites)]
    named = np.zeros((sites, max(map(len, found))), np.uint64)
    for row, words in zip(named, found, strict=True):
        row[: len(words)] = words
    return named


def _slots(
    place: Indices, frame: Indices, signatures: Signatures, named: Signatures, frames: int
) -> tuple[Indices, NDArray[np.intp]]:
    """Room for the faults around each detector, and the slot of each entry of H."""
    slot = np.full(len(signatures), -1)
    for site, words in enumerate(named):
        here = np.flatnonzero(place == site)
        known = np.flatnonzero(words)
        by_word = {int(words[i]): i for i in known}
        slot[here] = [by_word.get(int(word), -1) for word in signatures[here]]
    more = np.flatnonzero(slot < 0)
    filled: dict[tuple[int, int], int] = {}
    for entry in more:
        detector = (int(frame[entry]), int(place[entry]))
        slot[entry] = filled[detector] = filled.get(detector, named.shape[1] - 1) + 1
    width = max(named.shape[1], int(slot.max(initial=-1)) + 1)
    return np.full((frames, len(named), width), -1, np.int32), slot
