"""What the baselines share: which detectors they read, the shots they skip, how they pickle."""

import abc
import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from unmasq.problems.faults import FaultKey
from unmasq.problems.problem import DecodingProblem
from unmasq.shots.batches import check_syndromes

if TYPE_CHECKING:
    import stim


class MissingExtraError(ImportError, ValueError):
    """An optional package is not installed.

    An ImportError by nature; also a ValueError, so that the command line prints it as one line
    like every other refused request.
    """


def import_extra(module: str, package: str, extra: str = "baselines") -> ModuleType:
    """Imports `module`, or says in one line which extra of unmasq brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{package} must be installed for this decoder: got {error}. "
            f"Run pip install 'unmasq[{extra}]'."
        ) from error


class Baseline(abc.ABC):
    """A foreign decoder behind the `Decoder` protocol.

    A subclass sets itself up from `self._seen`, the problem reduced to the detectors it reads,
    and answers `_decode_flagged` for shots in which at least one of these fired. A shot without
    any is predicted to flip nothing, which is the most likely error where priors are below 1/2.

    Pickling keeps the arguments and builds the decoder again: the foreign objects do not pickle.
    """

    decodes_batches = False  # shot after shot, on one core
    _arguments: tuple  # that it was made with

    def __init__(self, name: str, problem: DecodingProblem, detectors: str) -> None:
        self.name = name
        self.num_detectors = problem.num_detectors
        self.num_logicals = problem.num_logicals
        self._problem = problem
        self._rows, self._seen = seen_problem(problem, detectors)

    def __reduce__(self) -> tuple:
        return type(self), self._arguments

    def decode_batch(self, syndromes: np.ndarray) -> np.ndarray:
        syndromes = check_syndromes(syndromes, self.num_detectors)[:, self._rows]
        predictions = np.zeros((len(syndromes), self.num_logicals), np.uint8)
        flagged = syndromes.any(axis=1)
        if flagged.any() and self.num_logicals and self._seen.num_faults:
            predictions[flagged] = self._decode_flagged(syndromes[flagged])
        return predictions

    @abc.abstractmethod
    def _decode_flagged(self, syndromes: np.ndarray) -> np.ndarray:
        """(B, M') uint8 to (B, K) bits; B > 0 and no row is all 0."""


def error_model(
    problem: DecodingProblem, faults: Iterable[tuple[FaultKey, float]] | None = None
) -> "stim.DetectorErrorModel":
    """The problem, or other faults of its detectors and logicals, as Stim's error model."""
    import stim

    if faults is None:
        faults = zip(problem.faults(), problem.priors.tolist(), strict=True)
    dem = stim.DetectorErrorModel()
    for (detectors, logicals), prior in faults:
        targets = [stim.target_relative_detector_id(d) for d in detectors]
        targets += [stim.target_logical_observable_id(k) for k in logicals]
        dem.append("error", prior, targets)
    # Detectors and logicals that no fault reaches count too.
    for d in range(problem.num_detectors):
        dem.append("detector", [], [stim.target_relative_detector_id(d)])
    for k in range(problem.num_logicals):
        dem.append("logical_observable", [], [stim.target_logical_observable_id(k)])
    return dem


def seen_problem(problem: DecodingProblem, detectors: str) -> tuple[np.ndarray, DecodingProblem]:
    """The rows of the syndrome a decoder reads, and the problem reduced to them.

    "xz" is all detectors. "x" is those of the check type that sees the errors which flip the
    logicals: X checks for a readout in the X basis, Z checks in the Z basis; with a single check
    type, all of them. Where the basis is unknown "x" is refused: it would be "xz" by another name.
    """
    if detectors not in ("x", "xz"):
        raise ValueError(f"detectors must be 'x' or 'xz': got {detectors!r}.")
    if detectors == "x" and problem.basis == "?":
        raise ValueError(
            "A decoder of one check type must know which type sees the logicals: the basis of "
            f"'{problem.name}' is not known. Use the '-xz' decoder, which reads all detectors."
        )
    if detectors == "xz" or len(np.unique(problem.layout.check_type)) < 2:
        return np.arange(problem.num_detectors), problem
    if problem.basis not in ("X", "Z"):
        raise ValueError(
            "A decoder of one check type must have a problem with one logical basis: got "
            f"basis {problem.basis!r}, whose logicals need both types. Use the '-xz' decoder."
        )
    return problem.restricted_to_type("XZ".index(problem.basis))
