"""Minimum-weight perfect matching through the optional package `pymatching`.

For problems whose faults flip two detectors at most (repetition, toric and surface codes), or are
made of such faults: one that flips more is split into them, as Stim's `decompose_errors` does.
"""

from collections import defaultdict

import numpy as np

from unmasq.baselines.adapter import Baseline, error_model, import_extra
from unmasq.problems.faults import FaultKey, merge_faults
from unmasq.problems.problem import DecodingProblem

Parts = list[FaultKey]


class Matching(Baseline):
    """The likeliest set of edges, X and Z part of a fault taken as independent."""

    def __init__(self, problem: DecodingProblem, name: str = "pymatching") -> None:
        super().__init__(name, problem, "xz")
        self._arguments = (problem, name)
        package = import_extra("pymatching", "pymatching")
        dem = error_model(problem, _edges(problem))
        self._decoder = package.Matching.from_detector_error_model(dem)

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


def _edges(problem: DecodingProblem) -> list[tuple[FaultKey, float]]:
    """With their priors; of edges that differ in their logicals alone the likeliest."""
    parts = zip(_parts_of_faults(problem), problem.priors.tolist(), strict=True)
    merged = merge_faults((edge, prior) for edges, prior in parts for edge in edges)
    best: dict[tuple[int, ...], tuple[FaultKey, float]] = {}
    for edge, prior in merged.items():
        if edge[0] not in best or best[edge[0]][1] < prior:
            best[edge[0]] = (edge, prior)
    return list(best.values())


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
