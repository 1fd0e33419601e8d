"""What the logicals of a translated shot are: l' = M l + chi f.

A symmetry moves every fault, and the detectors with it. The basis logicals are not closed under it:
those of the moved faults are sums of the old ones (M) and of check flips f (chi), where a check's
flip is the sum of all its detectors. M and chi follow from H and L alone.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmasq.codes import gf2
from unmasq.codes.symmetry import Indices, Symmetry
from unmasq.problems.problem import DecodingProblem, Layout

Bits = NDArray[np.uint8]


@dataclasses.dataclass(frozen=True, eq=False)
class Translates:
    """For each element g: check i of the moved shot is check `sources[g, i]` of the shot."""

    sources: Indices  # (G, n_c)
    logical_maps: Bits  # M (G, K, K)
    flip_maps: Bits  # chi (G, K, n_c)
    check: Indices  # (M,) whose detector it is

    @staticmethod
    def under(
        symmetry: Symmetry, layout: Layout, logical_maps: Bits, flip_maps: Bits
    ) -> "Translates":
        """With what a symmetry says of the checks."""
        sizes = (symmetry.order, len(symmetry.basis_tokens))
        expected = ((*sizes, sizes[1]), (*sizes, symmetry.num_checks))
        if (logical_maps.shape, flip_maps.shape) != expected:
            raise ValueError(
                f"logical_maps and flip_maps must have shapes {expected[0]} and {expected[1]}: got "
                f"{logical_maps.shape} and {flip_maps.shape}."
            )
        sources = np.argsort(symmetry.check_images, axis=1).astype(np.int32)
        return Translates(sources, logical_maps, flip_maps, layout.check)

    @property
    def order(self) -> int:
        return len(self.sources)

    def spread(self, count: int) -> "Translates":
        """`count` of the elements, evenly spread, the first among them."""
        chosen = np.arange(count) * self.order // count
        return Translates(
            self.sources[chosen], self.logical_maps[chosen], self.flip_maps[chosen], self.check
        )

    def inverse_maps(self) -> Bits:
        """M^-1 (G, K, K): back from l' + chi f to l."""
        identity = np.eye(self.logical_maps.shape[1], dtype=np.uint8)
        try:
            return np.stack([gf2.combine(m, identity) for m in self.logical_maps])
        except ValueError as error:
            raise ValueError("logical_maps must be invertible: got one that is not.") from error


def translates_of(problem: DecodingProblem) -> Translates:
    """Solves M and chi on faults that span everything; only detectors tell where a fault goes."""
    symmetry, layout = problem.symmetry, problem.layout
    if symmetry is None:
        raise ValueError(f"problem '{problem.name}' must have a known symmetry: got none.")
    logicals = problem.logical_matrix.toarray()
    places = (layout.check, np.arange(problem.num_detectors))
    sums = sparse.csr_array((np.ones(problem.num_detectors, np.int32), places))
    flips = ((sums @ problem.check_matrix.astype(np.int32)).toarray() % 2).astype(np.uint8)
    detectors = [found for found, _ in problem.faults()]
    place = {key: j for j, key in enumerate(detectors)}
    doubtful = {key for j, key in enumerate(detectors) if place[key] != j}
    clear = np.array([j for key, j in place.items() if key not in doubtful])
    known = np.concatenate([logicals, flips])
    probes = clear[gf2.row_reduce(known[:, clear])[1]]
    grid = layout.grid()
    maps = []
    for images in symmetry.check_images:
        moved = grid[layout.frame, images[layout.check]]
        goals = [place[tuple(sorted(moved[list(detectors[j])].tolist()))] for j in probes]
        maps.append(gf2.combine(known[:, probes], logicals[:, goals]))
    both = np.stack(maps)
    logical_maps, flip_maps = np.split(both, [problem.num_logicals], axis=2)
    return Translates.under(symmetry, layout, logical_maps, flip_maps)
