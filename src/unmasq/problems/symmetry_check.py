"""Whether a problem really has the symmetry it was given: faults go to faults, logicals along.

An element of the group moves detectors as it moves their checks. It is a symmetry of the problem if
every fault then stands where a fault of the same probability stood, if the logicals it flips are
sums of old ones and of check flips (see `moved_faults`), and if a basis logical that the token
images take to another one is flipped by exactly the moved faults. Generators are checked, the other
elements composed of them: the work grows with the ones of H and L, not with the size of the group.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmasq.codes.lookup import Lookup, random_words, xor_at_ones
from unmasq.codes.symmetry import Indices, Symmetry
from unmasq.problems.moved_faults import MovedFaults

if TYPE_CHECKING:
    from unmasq.problems.problem import DecodingProblem

_WAY_OUT = "Leave the symmetry out, or give one that the circuit has."


def require_symmetry(problem: "DecodingProblem") -> None:
    """Refuses a symmetry that is not one of H, L and the noise."""
    symmetry = problem.symmetry
    if symmetry is None:
        return
    sizes = (symmetry.num_checks, len(symmetry.basis_tokens))
    if sizes != (problem.layout.num_checks, problem.num_logicals):
        raise ValueError(
            f"symmetry must act on {problem.layout.num_checks} checks and {problem.num_logicals} "
            f"logicals: got {sizes[0]} and {sizes[1]}."
        )
    check = _Check(problem, symmetry)
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
        moves[element] = check.moved(element)
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
        check.require_moved_tokens(element, move)


class _Check:
    """Of one element after the other, against the faults of a problem."""

    def __init__(self, problem: "DecodingProblem", symmetry: Symmetry) -> None:
        self._problem = problem
        self._symmetry = symmetry
        self._faults = faults = MovedFaults(problem)
        self._logical_words = random_words(problem.num_logicals, faults.rng)
        self._fault_words = random_words(problem.num_faults, faults.rng)
        self._by_both = Lookup(
            faults.hashes ^ xor_at_ones(problem.logical_matrix, self._logical_words)
        )

    def moved(self, element: int) -> Indices:
        """Where an element takes each fault; refused where there is no such fault."""
        problem, faults = self._problem, self._faults
        images = self._symmetry.check_images[element]
        if (problem.layout.moved(images) < 0).any():
            raise self._refusal(element, "takes a detector to a frame that lacks the check")
        goals, found = faults.goals(images)
        self._require(element, found, "to detectors that no fault flips")
        try:
            maps = faults.logical_map(goals)
        except ValueError as error:
            raise self._refusal(
                element, "takes logicals to other things than sums of logicals and check flips"
            ) from error
        words = xor_at_ones(sparse.csc_array(maps), self._logical_words)
        hashes = faults.moved_hashes(images) ^ xor_at_ones(faults.known, words)
        goals, found = self._by_both.find(hashes)
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
        own = xor_at_ones(self._faults.logical_rows, self._fault_words)
        moved = xor_at_ones(self._faults.logical_rows, self._fault_words[move])
        place = {int(token): k for k, token in enumerate(symmetry.basis_tokens)}
        for k, token in enumerate(symmetry.token_images[element, symmetry.basis_tokens]):
            goal = place.get(int(token))
            if goal is not None and moved[k] != own[goal]:
                raise self._refusal(
                    element, f"takes logical {k} to {goal}, but not the faults that flip it"
                )

    def _require(self, element: int, holds: NDArray[np.bool_], what: str) -> None:
        if not holds.all():
            j = int(np.flatnonzero(~holds)[0])
            detectors, logicals = map(list, self._problem.faults()[j])
            fault = f"fault {j} (detectors {detectors}, logicals {logicals})"
            raise self._refusal(element, f"takes {fault} {what}")

    def _refusal(self, element: int, what: str) -> ValueError:
        return ValueError(
            f"symmetry must be one of problem '{self._problem.name}', with its noise: got an "
            f"element, number {element}, that {what}. {_WAY_OUT}"
        )


def _not_a_group() -> ValueError:
    return ValueError(
        "symmetry must hold each element of a group once, the identity among them: got a set that "
        f"is not closed. {_WAY_OUT}"
    )
