"""What the logicals of a translated shot are: l' = M l + chi f.

A symmetry moves every fault, and the detectors with it. The basis logicals are not closed under it:
those of the moved faults are sums of the old ones and of check flips (see `moved_faults`).
"""

import dataclasses

import numpy as np

from unmasq.codes import gf2
from unmasq.codes.gf2 import Bits
from unmasq.codes.symmetry import Indices, Symmetry
from unmasq.problems.moved_faults import MovedFaults
from unmasq.problems.problem import DecodingProblem, Layout


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
    """M and chi of every element of a problem's symmetry."""
    symmetry, layout = problem.symmetry, problem.layout
    if symmetry is None:
        raise ValueError(f"problem '{problem.name}' must have a known symmetry: got none.")
    faults = MovedFaults(problem)
    maps = [faults.logical_map(faults.goals(images)[0]) for images in symmetry.check_images]
    logical_maps, flip_maps = np.split(np.stack(maps), [problem.num_logicals], axis=2)
    return Translates.under(symmetry, layout, logical_maps, flip_maps)
