"""Where a permutation of the checks takes the faults of a problem, and its logicals with them.

A fault moves as its detectors do. The logicals of the moved faults are sums of the old ones and of
check flips, l' = M l + chi f, where a check's flip is the sum of all its detectors.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmasq.codes import gf2
from unmasq.codes.gf2 import Bits
from unmasq.codes.lookup import Lookup, Words, random_words, xor_at_ones
from unmasq.codes.symmetry import Indices

if TYPE_CHECKING:
    from unmasq.problems.problem import DecodingProblem

_SPARE_WORDS = 1  # 64 random sums more than unknowns: a false relation survives with odds 2^-64


class MovedFaults:
    """The faults of a problem, found again by the hashes of their detectors."""

    def __init__(self, problem: "DecodingProblem") -> None:
        self._problem = problem
        self.rng = np.random.default_rng(0)
        self._words = random_words(problem.num_detectors, self.rng)
        self.hashes = xor_at_ones(problem.check_matrix, self._words)
        self._by_detectors = Lookup(self.hashes)
        # Faults that differ from others in their logicals alone cannot tell where logicals go.
        self.clear = self._by_detectors.unique()
        self.logical_rows = sparse.csr_array(problem.logical_matrix)
        self.known = _logicals_and_flips(problem)
        width = -(-self.known.shape[0] // 64) + _SPARE_WORDS
        self._probes = [
            random_words(problem.num_faults, self.rng) * self.clear for _ in range(width)
        ]
        known_rows = sparse.csr_array(self.known)
        self._known_sums = _bits([xor_at_ones(known_rows, probe) for probe in self._probes])

    def moved_hashes(self, check_images: Indices) -> Words:
        """The hash of each fault's detectors after the move."""
        moved = self._problem.layout.moved(check_images)
        return xor_at_ones(self._problem.check_matrix, self._words[moved])

    def goals(self, check_images: Indices) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The first fault with the moved detectors of each fault, and whether there is one."""
        return self._by_detectors.find(self.moved_hashes(check_images))

    def logical_map(self, goals: NDArray[np.intp]) -> Bits:
        """M and chi side by side, (K, K + n_c), where clear fault j goes to `goals[j]`."""
        sums = []
        for probe in self._probes:
            moved = np.zeros_like(probe)
            moved[goals[self.clear]] = probe[self.clear]
            sums.append(xor_at_ones(self.logical_rows, moved))
        return gf2.combine(self._known_sums, _bits(sums))


def _logicals_and_flips(problem: "DecodingProblem") -> sparse.csc_array:
    """(K + n_c, N): what each fault does to the logicals, and to each check over all frames."""
    layout = problem.layout
    ones = np.ones(problem.num_detectors, np.int32)
    shape = (layout.num_checks, problem.num_detectors)
    sums = sparse.csr_array((ones, (layout.check, np.arange(problem.num_detectors))), shape=shape)
    flips = sparse.csc_array(sums @ problem.check_matrix.astype(np.int32))
    flips.data %= 2
    flips.eliminate_zeros()
    return sparse.vstack([problem.logical_matrix.astype(np.int32), flips], format="csc")


def _bits(columns: list[Words]) -> Bits:
    """(n,) words, several of them, as (n, 64 * several) bits."""
    return np.unpackbits(np.stack(columns, axis=1).view(np.uint8), axis=1)
