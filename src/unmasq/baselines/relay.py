"""Relay-BP (arXiv:2506.01779), through the optional package `relay-bp`.

Syndromes go in at their exact width: through the package's own sinter adapter, a width that is not
a multiple of 8 gets padding bits no fault explains, and every shot runs all its legs.
"""

import numpy as np
import scipy.sparse

from unmasq.baselines.adapter import Baseline, import_extra
from unmasq.problems.problem import DecodingProblem

_GAMMA_SEED = 0
_NUM_LEGS = 300


class Relay(Baseline):
    """Min-sum BP with disordered memory, relayed over legs until `num_solutions` (S) are found.

    The defaults are its authors' for [[144,12,12]]: alpha 1, gamma_0 0.15, then up to 300 legs of
    60 iterations after the first 80, memory strengths uniform in (-0.226, 0.622).

    The strengths are drawn here once and every shot uses the same 300 vectors. Left to itself the
    package draws on from shot to shot, and a prediction then depends on the shots before it. This
    costs 300 N doubles: 43 MB for [[72,12,6]] with 6 rounds, 171 MB for [[144,12,12]] with 12.
    """

    def __init__(
        self,
        problem: DecodingProblem,
        name: str = "relay-xz",
        detectors: str = "xz",
        num_solutions: int = 1,
    ) -> None:
        super().__init__(name, problem, detectors)
        self._arguments = (problem, name, detectors, num_solutions)
        relay_bp = import_extra("relay_bp", "relay-bp")
        seen = self._seen
        interval = (-0.226, 0.622)
        generator = np.random.default_rng(_GAMMA_SEED)
        decoder = relay_bp.RelayDecoderF64(
            scipy.sparse.csr_matrix(seen.check_matrix),
            error_priors=seen.priors,
            alpha=1.0,
            gamma0=0.15,
            pre_iter=80,
            num_sets=_NUM_LEGS,
            set_max_iter=60,
            explicit_gammas=generator.uniform(*interval, (_NUM_LEGS, seen.num_faults)),
            stop_nconv=num_solutions,
        )
        self._runner = relay_bp.ObservableDecoderRunner(
            decoder, scipy.sparse.csr_matrix(seen.logical_matrix), include_decode_result=False
        )

    def _decode_flagged(self, syndromes: np.ndarray) -> np.ndarray:
        return self._runner.decode_observables_batch(
            np.ascontiguousarray(syndromes), parallel=False, progress_bar=False
        )
