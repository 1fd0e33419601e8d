"""Whether a problem really has the symmetry it was given: faults go to faults, logicals along.

An element of the group moves detectors as it moves their checks. It is a symmetry of the problem if
every fault then stands where a fault of the same probability stood, if the logicals it flips are
sums of old ones and of check flips (l' = M l + chi f, as in `translates`), and if a basis logical
that the token images take to another one is flipped by exactly the moved faults. Generators are
checked, the other elements composed of them, and sets compared by the XOR of 64-bit random words:
the work grows with the ones of H and L, not with the size of the group.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmasq.codes import gf2
from unmasq.codes.symmetry import Indices, Symmetry

if TYPE_CHECKING:
    from unmasq.problems.problem import DecodingProblem

Words = NDArray[np.uint64]

_SPARE_WORDS = 1  # 64 random sums more than unknowns: a false relation survives with odds 2^-64
_WAY_OUT = "Leave the symmetry out, or give one that the circuit has."


def require_symmetry(problem: "DecodingProblem") -> None:
    """Refuses a symmetry that is not one of H, L and the noise."""
    symmetry = problem.symmetry
    if symmetry is None:
        return
    faults = _Faults(problem, symmetry)
    images = np.concatenate(
        [symmetry.check_images, symmetry.num_checks + symmetry.token_images], axis=1
    ).astype(np.int32)
    number = {row.tobytes(): element for element, row in enumerate(images)}
    identity = number.get(np.arange(images.shape[1], dtype=np.int32).tobytes())
    if identity is None or len(number) < symmetry.order:
        raise _not_a_group()
    moves = {identity: np.arange(problem.num_faults, dtype=np.int32)}
    generators: list[int] = []
    for element in range(symmetry.order):
        if element in moves:
            continue
        moves[element] = faults.moved(element)
        generators.append(element)
        unfinished = list(moves)
        while unfinished:
            first = unfinished.pop()
            for second in generators:
                product = number.get(images[second][images[first]].tobytes())
                if product is None:
                    raise _not_a_group()
                if product not in moves:
                    moves[product] = moves[second][moves[first]]
                    unfinished.append(product)
    for element, move in moves.items():
        faults.require_moved_tokens(element, move)


class _Faults:
    """The faults of a problem, found again by hashes of what they flip."""

    def __init__(self, problem: "DecodingProblem", symmetry: Symmetry):
        self._problem = problem
        self._symmetry = symmetry
        self._detectors = problem.check_matrix
        layout = problem.layout
        site_sums = sparse.csr_array(
            (
                np.ones(problem.num_detectors, np.int32),
                (layout.check, np.arange(len(layout.check))),
            ),
            shape=(layout.num_checks, problem.num_detectors),
        )
        flips = sparse.csc_array(site_sums @ problem.check_matrix.astype(np.int32))
        flips.data %= 2
        flips.eliminate_zeros()
        self._known = sparse.vstack([problem.logical_matrix.astype(np.int32), flips], format="csc")
        self._known_rows = sparse.csr_array(self._known)
        self._logical_rows = sparse.csr_array(problem.logical_matrix)
        rng = np.random.default_rng(0)
        self._detector_words = _random_words(rng, problem.num_detectors)
        self._logical_words = _random_words(rng, problem.num_logicals)
        self._fault_words = _random_words(rng, problem.num_faults)
        self._detector_hashes = _xor(self._detectors, self._detector_words)
        self._by_detectors = _Table(self._detector_hashes)
        self._by_both = _Table(
            self._detector_hashes ^ _xor(problem.logical_matrix, self._logical_words)
        )
        width = -(-self._known.shape[0] // 64) + _SPARE_WORDS
        # Faults that differ from others in their logicals alone cannot tell where logicals go.
        clear = self._by_detectors.unique(self._detector_hashes)
        self._probes = [_random_words(rng, problem.num_faults) * clear for _ in range(width)]
        self._known_sums = _bits([_xor(self._known_rows, probe) for probe in self._probes])

    def moved(self, element: int) -> Indices:
        """Where an element takes each fault; refused where there is no such fault."""
        problem, layout = self._problem, self._problem.layout
        places = layout.grid()[layout.frame, self._symmetry.check_images[element][layout.check]]
        if places.size and places.min() < 0:
            raise self._refusal(element, "takes a detector to a frame that lacks the check")
        hashes = _xor(self._detectors, self._detector_words[places])
        goals, found = self._by_detectors.places(hashes)
        self._require(element, found, "to detectors that no fault flips")
        maps = self._logical_map(element, goals)
        words = np.array(
            [np.bitwise_xor.reduce(self._logical_words[column != 0]) for column in maps.T],
            np.uint64,
        )
        goals, found = self._by_both.places(hashes ^ _xor(self._known, words))
        self._require(element, found, "to other logicals than its detectors say")
        if len(np.unique(goals)) < len(goals):
            raise self._refusal(element, "takes two faults to one")
        priors = problem.priors
        alike = np.abs(priors[goals] - priors) <= 1e-9 * priors
        if problem.channels is not None:
            alike &= (problem.channels.counts[goals] == problem.channels.counts).all(axis=1)
        self._require(element, alike, "to one of another probability or other channels")
        return goals.astype(np.int32)

    def require_moved_tokens(self, element: int, move: Indices) -> None:
        """A basis logical that goes to another is flipped by just the moved faults."""
        symmetry = self._symmetry
        own = _xor(self._logical_rows, self._fault_words)
        moved = _xor(self._logical_rows, self._fault_words[move])
        place = {int(token): k for k, token in enumerate(symmetry.basis_tokens)}
        for k, token in enumerate(symmetry.token_images[element, symmetry.basis_tokens]):
            goal = place.get(int(token))
            if goal is not None and moved[k] != own[goal]:
                raise self._refusal(
                    element, f"takes logical {k} to {goal}, but not the faults that flip it"
                )

    def _logical_map(self, element: int, goals: NDArray[np.intp]) -> NDArray[np.uint8]:
        """(M, chi): the logicals of moved faults from logicals and check flips."""
        sums = []
        for probe in self._probes:
            moved = np.zeros_like(probe)
            chosen = probe != 0
            moved[goals[chosen]] = probe[chosen]
            sums.append(_xor(self._logical_rows, moved))
        try:
            return gf2.combine(self._known_sums, _bits(sums))
        except ValueError as error:
            raise self._refusal(
                element, "takes logicals to other things than sums of logicals and check flips"
            ) from error

    def _require(self, element: int, holds: NDArray[np.bool_], what: str) -> None:
        if not holds.all():
            j = int(np.flatnonzero(~holds)[0])
            detectors, logicals = (
                matrix.indices[matrix.indptr[j] : matrix.indptr[j + 1]].tolist()
                for matrix in (self._problem.check_matrix, self._problem.logical_matrix)
            )
            fault = f"fault {j} (detectors {detectors}, logicals {logicals})"
            raise self._refusal(element, f"takes {fault} {what}")

    def _refusal(self, element: int, what: str) -> ValueError:
        return ValueError(
            f"symmetry must be one of problem '{self._problem.name}', with its noise: got an "
            f"element, number {element}, that {what}. {_WAY_OUT}"
        )


class _Table:
    """Sorted hashes, to find which entry has one."""

    def __init__(self, hashes: Words):
        self._order = np.argsort(hashes, kind="stable")
        self._sorted = hashes[self._order]

    def places(self, hashes: Words) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The first entry with each hash, and whether there is one."""
        if not len(self._sorted):
            return np.zeros(len(hashes), np.intp), np.zeros(len(hashes), bool)
        at = np.minimum(np.searchsorted(self._sorted, hashes), len(self._sorted) - 1)
        return self._order[at], self._sorted[at] == hashes

    def unique(self, hashes: Words) -> NDArray[np.bool_]:
        """Whether exactly one entry has each hash."""
        first, last = (np.searchsorted(self._sorted, hashes, side) for side in ("left", "right"))
        return last - first == 1


def _random_words(rng: np.random.Generator, count: int) -> Words:
    return rng.integers(1, 2**64, count, np.uint64)


def _xor(matrix: sparse.csc_array | sparse.csr_array, words: Words) -> Words:
    """The XOR of the words at the ones of each compressed row or column."""
    running = np.zeros(len(matrix.indices) + 1, np.uint64)
    np.bitwise_xor.accumulate(words[matrix.indices], out=running[1:])
    return running[matrix.indptr[1:]] ^ running[matrix.indptr[:-1]]


def _bits(columns: list[Words]) -> NDArray[np.uint8]:
    """(n,) words, several of them, as (n, 64 * several) bits."""
    return np.unpackbits(np.stack(columns, axis=1).view(np.uint8), axis=1)


def _not_a_group() -> ValueError:
    return ValueError(
        "symmetry must hold each element of a group once, the identity among them: got a set that "
        f"is not closed. {_WAY_OUT}"
    )
