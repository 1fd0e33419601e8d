"""Tesseract (arXiv:2503.10988), through the optional package `tesseract-decoder`."""

import numpy as np

from unmasq.baselines.adapter import Baseline, error_model, import_extra
from unmasq.problems.problem import DecodingProblem


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

    def _decode_flagged(self, syndromes: np.ndarray) -> np.ndarray:
        return self._decoder.decode_batch(syndromes.astype(np.bool_)).astype(np.uint8)
