"""P(s, l) of tiny problems, exactly: the reference for everything that rewrites faults.

Outcomes are numbered by their bits, detector 0 first, the logicals above the detectors.
"""

from collections.abc import Iterable

import numpy as np

from unmasq.problems.problem import DecodingProblem

Fault = tuple[Iterable[int], Iterable[int], float]  # (detectors, logicals, probability)


def distribution(faults: Iterable[Fault], num_detectors: int, num_logicals: int) -> np.ndarray:
    """P(s, l) when each fault happens independently; a detector named twice is named twice."""
    outcomes = np.arange(2 ** (num_detectors + num_logicals))
    probability = (outcomes == 0).astype(np.float64)
    for detectors, logicals, rate in faults:
        flips = 0
        for bit in [*detectors, *(num_detectors + k for k in logicals)]:
            flips ^= 1 << bit
        probability = (1 - rate) * probability + rate * probability[outcomes ^ flips]
    return probability


def distribution_of(problem: DecodingProblem) -> np.ndarray:
    """P(s, l) by the columns of H and L and the priors, and by nothing else of the problem."""
    faults = [
        (np.flatnonzero(column), np.flatnonzero(logicals), prior)
        for column, logicals, prior in zip(
            problem.check_matrix.toarray().T,
            problem.logical_matrix.toarray().T,
            problem.priors,
            strict=True,
        )
    ]
    return distribution(faults, problem.num_detectors, problem.num_logicals)


def outcome_numbers(syndrome: np.ndarray, logicals: np.ndarray) -> np.ndarray:
    """The number of each shot's outcome."""
    bits = np.concatenate([syndrome, logicals], axis=1).astype(np.int64)
    return bits @ (1 << np.arange(bits.shape[1]))
