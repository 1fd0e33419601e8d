"""Tesseract (arXiv:2503.10988), through the optional package `tesseract-decoder`."""

from typing import TYPE_CHECKING

import numpy as np

from unmasq.baselines.adapter import Baseline, import_extra
from unmasq.problems.problem import DecodingProblem

if TYPE_CHECKING:
    import stim


class Tesseract(Baseline):
    """A* search for the most likely error, with the paper's "short beam".

    Beam 15 with climbing, 16 detector orders (each the detectors' own order, up or down), a queue
    of 200 000 nodes, no detector visited twice. Where the search gives up, it returns its guess.
    """

    def __init__(
        self, problem: DecodingProblem, name: str = "tesseract-x", detectors: str = "x"
    ) -> None:
        super().__init__(name, problem, detectors)
        self._arguments = (problem, name, detectors)
        package = import_extra("tesseract_decoder", "tesseract-decoder")
        dem = error_model(self._seen)
        self._decoder = package.tesseract.TesseractConfig(
            dem=dem,
            det_beam=15,
            beam_climbing=True,
            no_revisit_dets=True,
            pqlimit=200_000,
            det_orders=package.utils.build_det_orders(
                dem=dem, num_det_orders=16, method=package.utils.DetOrder.DetIndex, seed=0
            ),
        ).compile_decoder()

    def __reduce__(self) -> tuple:
        return type(self), self._arguments

    def _decode_flagged(self, syndromes: np.ndarray) -> np.ndarray:
        return self._decoder.decode_batch(syndromes.astype(np.bool_)).astype(np.uint8)


def error_model(problem: DecodingProblem) -> "stim.DetectorErrorModel":
    """The problem as Stim's error model: one `error` line for each fault, in column order."""
    import stim

    checks, logicals = problem.check_matrix.tocsc(), problem.logical_matrix.tocsc()
    dem = stim.DetectorErrorModel()
    for fault in range(problem.num_faults):
        targets = [stim.target_relative_detector_id(int(i)) for i in _column(checks, fault)]
        targets += [stim.target_logical_observable_id(int(k)) for k in _column(logicals, fault)]
        dem.append("error", float(problem.priors[fault]), targets)
    # Detectors and logicals that no fault reaches count too.
    for detector in range(problem.num_detectors):
        dem.append("detector", [], [stim.target_relative_detector_id(detector)])
    for logical in range(problem.num_logicals):
        dem.append("logical_observable", [], [stim.target_logical_observable_id(logical)])
    return dem


def _column(matrix: object, fault: int) -> np.ndarray:
    """The rows of the nonzero entries of one column of a CSC matrix."""
    return matrix.indices[matrix.indptr[fault] : matrix.indptr[fault + 1]]  # type: ignore[attr-defined]
