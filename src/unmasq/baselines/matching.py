"""Minimum-weight perfect matching through the optional package `pymatching`.

For problems whose faults flip two detectors at most (repetition, toric and surface codes), or are
made of such faults: one that flips more is split into them, as Stim's `decompose_errors` does.
"""

from collections import defaultdict

import numpy as np

from unmasq.baselines.adapter import Baseline, import_extra
from unmasq.problems.faults import FaultKey
from unmasq.problems.problem import DecodingProblem

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
        return self._decoder.decode_batch(syndromes).astype(np.uint8)


def is_matchable(problem: DecodingProblem) -> bool:
    """Whether every fault flips two detectors at most, or is made of faults that do."""
    try:
        _parts_of_faults(problem)
    except ValueError:
        return False
    return True


def _split_model(problem: DecodingProblem):  # type: ignore[no-untyped-def] # Stim loads late
    import stim

    dem = stim.DetectorErrorModel()
    for parts, prior in zip(_parts_of_faults(problem), problem.priors.tolist(), strict=True):
        targets: list[stim.DemTarget] = []
        for detectors, logicals in parts:
            if targets:
                targets.append(stim.target_separator())
            targets += [stim.target_relative_detector_id(d) for d in detectors]
            targets += [stim.target_logical_observable_id(k) for k in logicals]
        if targets:
            dem.append("error", prior, targets)
    for detector in range(problem.num_detectors):
        dem.append("detector", [], [stim.target_relative_detector_id(detector)])
    for logical in range(problem.num_logicals):
        dem.append("logical_observable", [], [stim.target_logical_observable_id(logical)])
    return dem


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
