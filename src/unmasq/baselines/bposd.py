"""Belief propagation with ordered (OSD) or localised (LSD) statistics decoding, through `ldpc`.

The matrices go to `ldpc` directly: its own reader of Stim's error models merges faults on their
detectors alone, which loses what they do to the logicals.
"""

from typing import Any

import numpy as np
import scipy.sparse

from unmasq.baselines.adapter import Baseline
from unmasq.problems.problem import DecodingProblem


class BpOsd(Baseline):
    """Min-sum BP, and where it does not converge OSD on its soft output; predicts L e (mod 2).

    The defaults are the paper's for circuit-level noise: parallel min-sum with scaling 1.0, 1000
    iterations, combination sweep of order 3. In `ldpc` a scaling of 0 does not switch messages
    off, it means 1 - 2^-iteration.

    With `localised`, the second stage is LSD: the same sweep on clusters grown around the
    detection events instead of on the whole matrix.

    A syndrome that no error explains is predicted to flip nothing: LSD would not return from it.
    """

    def __init__(
        self,
        problem: DecodingProblem,
        name: str = "bposd-x",
        detectors: str = "x",
        localised: bool = False,
        max_iterations: int = 1000,
        scaling: float = 1.0,
        order: int = 3,
    ) -> None:
        super().__init__(name, problem, detectors)
        self._arguments = (problem, name, detectors, localised, max_iterations, scaling, order)
        # `ldpc` knows scipy's matrices (csr_matrix), not its arrays (csr_array).
        check_matrix = scipy.sparse.csr_matrix(self._seen.check_matrix)
        self._logical_matrix = self._seen.logical_matrix.astype(np.int32).tocsr()
        self._dependencies = _dependencies(check_matrix)
        rank = check_matrix.shape[0] - self._dependencies.shape[1]
        self._decoder = _ldpc_decoder(
            check_matrix,
            localised,
            # Beyond the dimension of ker H, `ldpc` writes out of bounds.
            min(order, check_matrix.shape[1] - rank),
            error_channel=self._seen.priors.tolist(),
            max_iter=max_iterations,
            bp_method="minimum_sum",
            ms_scaling_factor=scaling,
            schedule="parallel",
        )

    def _decode_flagged(self, syndromes: np.ndarray) -> np.ndarray:
        predictions = np.zeros((len(syndromes), self.num_logicals), np.uint8)
        explained = ~((syndromes @ self._dependencies) & 1).any(axis=1)
        for shot in np.flatnonzero(explained):
            error = self._decoder.decode(syndromes[shot]).astype(np.int32)
            predictions[shot] = (self._logical_matrix @ error) & 1
        return predictions


def _ldpc_decoder(
    check_matrix: scipy.sparse.csr_matrix, localised: bool, order: int, **settings: Any
) -> Any:
    if localised:
        from ldpc.bplsd_decoder import BpLsdDecoder

        method = "LSD_CS" if order else "LSD_0"
        return BpLsdDecoder(check_matrix, **settings, lsd_method=method, lsd_order=order)
    from ldpc.bposd_decoder import BpOsdDecoder

    method = "OSD_CS" if order else "OSD_0"
    return BpOsdDecoder(check_matrix, **settings, osd_method=method, osd_order=order)


def _dependencies(check_matrix: scipy.sparse.csr_matrix) -> np.ndarray:
    """A basis, as columns (M, .), of the sets of detectors that every error flips evenly."""
    from ldpc.mod2 import kernel

    return kernel(check_matrix.T.tocsr()).toarray().T.astype(np.int32)
