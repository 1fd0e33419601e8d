"""Translations of a code, found from its check matrices alone.

A group of permutations of checks and qubits that keeps both check matrices and moves everything
(no element but the identity keeps a check or a qubit): just what a schedule can respect. Colours
are refined by those of the neighbours until they tell the vertices apart, with one vertex after
the other singled out; equal colours then name the images. Every permutation is checked in the end.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmasq.codes.gf2 import Bits
from unmasq.codes.symmetry import Indices

MAX_REFINEMENTS = 4000
MAX_STARTS = 24  # first generators that are tried
Colours = NDArray[np.uint64]
_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def free_automorphisms(checks_x: Bits, checks_z: Bits) -> Indices:
    """Images of (X checks, Z checks, qubits), one row for each element, the identity first.

    An abelian group, the largest that a bounded search finds.
    """
    graph = _Graph(checks_x, checks_z)
    identity = np.arange(graph.size, dtype=np.int32)
    elements = list(graph.moving_everything())
    best = identity[None, :]
    for start in elements[:: max(1, len(elements) // MAX_STARTS)]:
        group = _grown(identity[None, :], start)
        for other in elements:
            if group is None or len(group) == graph.largest_order:
                break
            group = _extended(group, other)
        if group is not None and len(group) > len(best):
            best = group
        if len(best) == graph.largest_order:
            break
    return best[np.lexsort(best.T[::-1])]


def _extended(group: Indices, other: Indices) -> Indices:
    """The group with one more generator, if it stays abelian and moves everything."""
    if (group[:, 0] == other[0]).any():  # in it already, or not compatible with it
        return group
    if not (group[:, other] == other[group]).all():
        return group
    grown = _grown(group, other)
    return group if grown is None else grown


def _grown(group: Indices, other: Indices) -> Indices | None:
    """All products with powers of a commuting element; None if one of them keeps a vertex."""
    identity = np.arange(group.shape[1])
    members = [group]
    power = other
    while not (group == power).all(axis=1).any():
        members.append(power[group])
        power = other[power]
    grown = np.concatenate(members)
    fixed = (grown == identity).any(axis=1)
    return grown if fixed.sum() == 1 else None


class _Graph:
    """The Tanner graph; vertices are X checks, Z checks and qubits."""

    def __init__(self, checks_x: Bits, checks_z: Bits) -> None:
        checks = np.concatenate([checks_x, checks_z])
        m, n = checks.shape
        self.size = m + n
        rows, columns = np.nonzero(checks)
        ends = np.concatenate([rows, m + columns]), np.concatenate([m + columns, rows])
        ones = np.ones(len(ends[0]), np.uint64)
        self.neighbours = sparse.csr_array((ones, ends), shape=(self.size, self.size))
        kinds = np.repeat([1, 2, 3], [len(checks_x), len(checks_z), n])
        self.colours, _ = self._refined(_mixed(kinds.astype(np.uint64)))
        _, sizes = np.unique(self.colours, return_counts=True)
        self.largest_order = math.gcd(*sizes.tolist())
        self.refinements = 0

    def moving_everything(self) -> Iterator[Indices]:
        """Automorphisms without a fixed vertex; they come in the order of one vertex's image."""
        if self.largest_order == 1:
            return
        base: list[tuple[int, Colours, int]] = []  # vertex, colours behind it, sweeps
        colours = self.colours
        while (vertex := _first_ambiguous(colours)) is not None:
            singled, sweeps = self._refined(_singled_out(colours, vertex))
            base.append((vertex, singled, sweeps))
            colours = singled
        yield from self._images(base, 0, self.colours)

    def _images(
        self, base: list[tuple[int, Colours, int]], level: int, colours: Colours
    ) -> Iterator[Indices]:
        if level == len(base):
            images = np.empty(self.size, np.int32)
            images[np.argsort(base[-1][1])] = np.argsort(colours)
            moved = self.neighbours[images][:, images]
            if (moved != self.neighbours).nnz == 0 and (images != np.arange(self.size)).all():
                yield images
            return
        vertex, goal, sweeps = base[level]
        before = self.colours if level == 0 else base[level - 1][1]
        for image in np.flatnonzero(colours == before[vertex]):
            if image == vertex:
                continue
            if self.refinements == MAX_REFINEMENTS:
                return
            self.refinements += 1
            singled, _ = self._refined(_singled_out(colours, int(image)), sweeps)
            if np.array_equal(np.sort(singled), np.sort(goal)):
                yield from self._images(base, level + 1, singled)

    def _refined(self, colours: Colours, sweeps: int | None = None) -> tuple[Colours, int]:
        """As often as asked for, or until no colour splits any more."""
        done, count = 0, len(np.unique(colours))
        while sweeps is None or done < sweeps:
            colours = _mixed(colours + _mixed(self.neighbours @ colours))
            done += 1
            if sweeps is None:
                now = len(np.unique(colours))
                if now == count:
                    break
                count = now
        return colours, done


def _mixed(values: Colours) -> Colours:
    """Scrambled 64-bit words; equal ones stay equal."""
    for _ in range(2):
        values = (values ^ (values >> _SHIFT)) * _ODD
    return values


def _singled_out(colours: Colours, vertex: int) -> Colours:
    changed = colours.copy()
    changed[vertex] = _mixed(colours[vertex : vertex + 1] + _ODD)[0]
    return changed


def _first_ambiguous(colours: Colours) -> int | None:
    """A vertex of the smallest class that has more than one."""
    _, first, sizes = np.unique(colours, return_index=True, return_counts=True)
    several = np.flatnonzero(sizes > 1)
    if not several.size:
        return None
    return int(first[several[np.lexsort((first[several], sizes[several]))[0]]])
