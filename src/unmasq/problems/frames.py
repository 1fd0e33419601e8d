"""The paper's matrices that follow faults through the frames.

H~[r] tells which faults touch which check site up to frame r; from it come K[r] ('Weight matrix
from circuit-level PCM'), Pi[r] and the intermediate logicals l[r] = L Pi[r] e ('Multi-stage
training'). K~ are counts of faults; the network takes K = K~^(1/8).
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmasq.problems.problem import DecodingProblem


def seen_checks(problem: DecodingProblem) -> list[sparse.csr_array]:
    """H~[r] (n_c, N) for r = 0..R: fault j flips check site i in some frame up to r."""
    layout = problem.layout
    rows = problem.check_matrix.tocsr()
    total = sparse.csr_array((layout.num_checks, problem.num_faults), dtype=np.int32)
    seen = []
    for r in range(layout.num_frames):
        detectors = np.flatnonzero(layout.frame == r)
        to_site = sparse.csr_array(
            (np.ones(detectors.size, np.int32), (layout.check[detectors], detectors)),
            shape=(layout.num_checks, problem.num_detectors),
        )
        total = total + to_site @ rows.astype(np.int32)
        seen.append(sparse.csr_array(total > 0).astype(np.int32))
    return seen


def check_correlations(problem: DecodingProblem) -> NDArray[np.int32]:
    """K~[r] = H~[r] H~[r]^T (R+1, n_c, n_c): how many faults touch both checks up to frame r."""
    return np.stack([(seen @ seen.T).toarray() for seen in seen_checks(problem)]).astype(np.int32)


def fault_seen(problem: DecodingProblem) -> NDArray[np.bool_]:
    """Pi[r] (R+1, N): fault j has touched some check up to frame r."""
    return np.stack([seen.sum(axis=0) > 0 for seen in seen_checks(problem)])


def intermediate_logicals(problem: DecodingProblem) -> list[sparse.csr_array]:
    """L Pi[r] (K, N) for r = 0..R: l[r] is its product with e, modulo 2.

    The last is L itself: l[R] is what the decoder predicts, and a fault that no check ever sees
    (which Pi[R] would drop) flips it too.
    """
    rows = problem.logical_matrix.tocsr()
    earlier = fault_seen(problem)[:-1]
    return [*(sparse.csr_array(rows.multiply(seen[None, :])) for seen in earlier), rows]
