"""Minimum-weight perfect matching through the optional package `pymatching`.

For problems whose faults flip two detectors at most (repetition, toric and surface codes), or are
made of such faults: one that flips more is split into them, as Stim's `decompose_errors` does.
"""

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from unmasq.baselines.adapter import Baseline, import_extra
from unmasq.problems.faults import FaultKey, merge_faults
from unmasq.problems.problem import DecodingProblem

if TYPE_CHECKING:
    import stim

Parts = list[FaultKey]


class Matching(Baseline):
    """The likeliest set of edges, X and Z part of a fault taken as independent."""

    def __init__(self, problem: DecodingProblem, name: str = "pymatching") -> None:
        super().__init__(name, problem, "xz")
        self._arguments = (problem, name)
        package = import_extra("pymatching", "pymatching")
        self._decoder = package.Matching.from_detector_error_model(_split_model(problem))

    def __reduce__(self) -> tuple:
        return type(self), self._arguments

    def _decode_flagged(self, syndromes: np.ndarray) -> np.ndarray:
        try:
            return self._decoder.decode_batch(syndromes).astype(np.uint8)
        except ValueError:  # a shot without any matching: it is predicted to flip nothing
            return np.stack([self._decode_one(shot) for shot in syndromes])

    def _decode_one(self, syndrome: np.ndarray) -> np.ndarray:
        try:
            return self._decoder.decode(syndrome).astype(np.uint8)
        except ValueError:
            return np.zeros(self.num_logicals, np.uint8)


def is_matchable(problem: DecodingProblem) -> bool:
    """Whether every fault flips two detectors at most, or is made of faults that do."""
    try:
        _parts_of_faults(problem)
    except ValueError:
        return False
    return True


def _split_model(problem: DecodingProblem) -> "stim.DetectorErrorModel":
    import stim

    dem = stim.DetectorErrorModel()
    for detectors, (logicals, prior) in _edges(problem).items():
        targets = [stim.target_relative_detector_id(d) for d in detectors]
        targets += [stim.target_logical_observable_id(k) for k in logicals]
        dem.append("error", prior, targets)
    for detector in range(problem.num_detectors):
        dem.append("detector", [], [stim.target_relative_detector_id(detector)])
    for logical in range(problem.num_logicals):
        dem.append("logical_observable", [], [stim.target_logical_observable_id(logical)])
    return dem


def _edges(problem: DecodingProblem) -> dict[tuple[int, ...], tuple[tuple[int, ...], float]]:
    """{detectors: (logicals, prior)}; of edges that differ in their logicals the likeliest."""
    parts = zip(_parts_of_faults(problem), problem.priors.tolist(), strict=True)
    merged = merge_faults((edge, prior) for edges, prior in parts for edge in edges)
    best: dict[tuple[int, ...], tuple[tuple[int, ...], float]] = {}
    for (detectors, logicals), prior in merged.items():
        if detectors not in best or best[detectors][1] < prior:
            best[detectors] = (logicals, prior)
    return best


def _parts_of_faults(problem: DecodingProblem) -> list[Parts]:
    """Each fault as edges; one that no detector sees has none."""
    faults = problem.faults()
    edges: dict[int, list[FaultKey]] = defaultdict(list)  # by their first detector
    for detectors, logicals in faults:
        if 0 < len(detectors) <= 2:
            edges[detectors[0]].append((detectors, logicals))
    found = []
    for detectors, logicals in faults:
        if len(detectors) <= 2:
            found.append([(detectors, logicals)] if detectors else [])
            continue
        parts = _split(detectors, set(logicals), edges)
        if parts is None:
            raise ValueError(
                f"faults of '{problem.name}' must be made of ones with two detectors for matching: "
                f"got one that flips detectors {', '.join(map(str, detectors))}. "
                "Use another decoder, such as bposd-xz."
            )
        found.append(parts)
    return found


def _split(
    detectors: tuple[int, ...], logicals: set[int], edges: dict[int, list[FaultKey]]
) -> Parts | None:
    """Edges that flip just these detectors and logicals, found depth first."""
    if not detectors:
        return None if logicals else []
    for part in edges[detectors[0]]:
        if set(part[0]) <= set(detectors):
            left = tuple(d for d in detectors if d not in part[0])
            rest = _split(left, logicals ^ set(part[1]), edges)
            if rest is not None:
                return [part, *rest]
    return None
