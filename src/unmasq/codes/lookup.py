"""Values and sets of numbers, found again after a permutation has moved them.

Sets are compared by the XOR of random 64-bit words of their members: the work grows with the number
of members, and two that differ look alike with odds of 2^-64.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Words = NDArray[np.uint64]


class Lookup:
    """Where values stand in an array.

    >>> places, found = Lookup(np.array([7, 3, 3, 5])).find(np.array([3, 4, 7]))
    >>> places[found].tolist(), found.tolist()
    ([1, 0], [True, False, True])
    """

    def __init__(self, values: NDArray) -> None:
        self._values = values
        self._order = np.argsort(values, kind="stable")
        self._sorted = values[self._order]

    def find(self, values: NDArray) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The first place of each value, and whether there is one."""
        if not len(self._sorted):
            return np.zeros(len(values), np.intp), np.zeros(len(values), bool)
        at = np.minimum(np.searchsorted(self._sorted, values), len(self._sorted) - 1)
        return self._order[at], self._sorted[at] == values

    def unique(self) -> NDArray[np.bool_]:
        """Whether each value stands in one place only."""
        first, last = (np.searchsorted(self._sorted, self._values, s) for s in ("left", "right"))
        return last - first == 1


def random_words(count: int, rng: np.random.Generator) -> Words:
    """None is 0: a set of one member is not the empty one."""
    return rng.integers(1, 2**64, count, np.uint64)


def xor_at_ones(matrix: sparse.csc_array | sparse.csr_array, words: Words) -> Words:
    """The XOR of the words at the ones of each compressed row or column."""
    running = np.zeros(len(matrix.indices) + 1, np.uint64)
    np.bitwise_xor.accumulate(words[matrix.indices], out=running[1:])
    return running[matrix.indptr[1:]] ^ running[matrix.indptr[:-1]]
