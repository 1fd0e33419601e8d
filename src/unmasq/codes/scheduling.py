"""A schedule for any CSS code: an edge colouring of its Tanner graph that keeps its symmetry.

Edges that a translation exchanges get one tick, so the colouring is that of the quotient graph,
which is bipartite and needs no more colours than its greatest degree (Koenig). First a search for
a valid schedule in which X and Z checks interleave; where it finds none, X checks come first.
"""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from unmasq.codes.gf2 import Bits
from unmasq.codes.schedule import Schedule, Ticks
from unmasq.codes.symmetry import Indices

SEARCH_NODES = 20_000  # ticks tried for each depth before it counts as too short
Edge = tuple[int, int]


def edge_colours(edges: Sequence[Edge]) -> list[int]:
    """Colours 0.. of a bipartite multigraph's edges, as many as its greatest degree.

    One edge after the other: where no colour is free at both ends, the path that alternates
    between a colour free at one end and one free at the other is recoloured.

    >>> edge_colours([(0, 0), (0, 1), (1, 0), (1, 1)])
    [1, 0, 0, 1]
    """
    at: tuple[defaultdict[int, dict[int, int]], ...] = (defaultdict(dict), defaultdict(dict))
    colours = [-1] * len(edges)
    for e, ends in enumerate(edges):
        free = [_smallest_free(at[side][ends[side]]) for side in (0, 1)]
        if free[0] != free[1]:
            path, side, vertex, colour = [], 1, ends[1], free[0]
            while (found := at[side][vertex].get(colour)) is not None:
                path.append(found)
                side = 1 - side
                vertex = edges[found][side]
                colour = free[1] if colour == free[0] else free[0]
            for found in path:
                for s in (0, 1):
                    del at[s][edges[found][s]][colours[found]]
            for found in path:
                colours[found] = free[1] if colours[found] == free[0] else free[0]
                for s in (0, 1):
                    at[s][edges[found][s]][colours[found]] = found
        colours[e] = free[0]
        for s in (0, 1):
            at[s][ends[s]][free[0]] = e
    return colours


def _smallest_free(used: dict[int, int]) -> int:
    return next(colour for colour in range(len(used) + 1) if colour not in used)


def automatic_schedule(checks_x: Bits, checks_z: Bits, images: Indices | None = None) -> Schedule:
    """A schedule that every row of `images` (of X checks, Z checks, qubits) leaves as it is.

    `images` must act freely, as `free_automorphisms` does.
    """
    graph = _Quotient.of(checks_x, checks_z, images)
    ticks = graph.interleaved() or graph.one_after_the_other()
    number = np.concatenate([[0], np.asarray(ticks)])[graph.edge_orbits + 1].astype(np.int32)
    return Schedule(number[: len(checks_x)], number[len(checks_x) :])


@dataclasses.dataclass(frozen=True, eq=False)
class _Quotient:
    """Orbits of edges between orbits of checks and orbits of qubits."""

    edge_orbits: Ticks  # (checks, n): number of the edge's orbit, -1 where there is no edge
    ends: list[Edge]  # (check orbit, qubit orbit) of each
    is_x: list[bool]
    crossings: list[list[Edge]]  # the (X edge, Z edge) of each qubit that a pair of checks shares

    @staticmethod
    def of(checks_x: Bits, checks_z: Bits, images: Indices | None) -> "_Quotient":
        checks = np.concatenate([checks_x, checks_z])
        m, n = checks.shape
        moves = np.arange(m + n)[None, :] if images is None else images
        smallest = moves.min(axis=0)
        rows, columns = np.nonzero(checks)
        names = moves[:, rows].astype(np.int64) * n + (moves[:, m + columns] - m)
        found, orbits = np.unique(names.min(axis=0), return_inverse=True)
        edge_orbits = np.full((m, n), -1, np.int32)
        edge_orbits[rows, columns] = orbits
        first_z = len(checks_x)
        overlaps = checks_x.astype(np.int32) @ checks_z.T.astype(np.int32)
        crossings = set()
        for i in (i for i in range(first_z) if smallest[i] == i):
            for j in np.flatnonzero(overlaps[i]):
                shared = np.flatnonzero(checks_x[i] & checks_z[j])
                pairs = edge_orbits[i, shared], edge_orbits[first_z + j, shared]
                crossings.add(tuple(sorted(zip(*(p.tolist() for p in pairs), strict=True))))
        return _Quotient(
            edge_orbits,
            [(int(smallest[name // n]), int(smallest[m + name % n])) for name in found],
            [bool(name // n < first_z) for name in found],
            [list(pairs) for pairs in sorted(crossings)],
        )

    def one_after_the_other(self) -> list[int]:
        """X checks, then Z checks, each in as many ticks as their greatest degree."""
        ticks = [0] * len(self.ends)
        start = 1
        for is_x in (True, False):
            chosen = [e for e, x in enumerate(self.is_x) if x == is_x]
            colours = edge_colours([self.ends[e] for e in chosen])
            for e, colour in zip(chosen, colours, strict=True):
                ticks[e] = start + colour
            start += max(colours, default=-1) + 1
        return ticks

    def interleaved(self) -> list[int] | None:
        """The first valid schedule of the smallest depth at which a bounded search finds one."""
        apart = max(self.one_after_the_other(), default=0)
        degrees = Counter((side, end) for ends in self.ends for side, end in enumerate(ends))
        shortest = max(degrees.values(), default=0)
        for depth in range(shortest, apart):
            ticks = _search(self, depth)
            if ticks is not None:
                return ticks
        return None


def _search(graph: _Quotient, depth: int) -> list[int] | None:
    """Tick by tick for one edge after the other, back where a rule is broken."""
    order = _by_neighbourhood(graph.ends)
    place = {e: i for i, e in enumerate(order)}
    closing = defaultdict(list)  # crossings whose last edge is the one at this place
    for pairs in graph.crossings:
        closing[max(place[e] for pair in pairs for e in pair)].append(pairs)
    ticks = [0] * len(order)
    busy: set[tuple[int, int, int]] = set()  # (side, vertex, tick)
    nodes, level = 0, 0
    while 0 <= level < len(order):
        e = order[level]
        keys = [(side, graph.ends[e][side]) for side in (0, 1)]
        if ticks[e]:
            busy.difference_update((*key, ticks[e]) for key in keys)
        for tick in range(ticks[e] + 1, depth + 1):
            nodes += 1
            ticks[e] = tick
            if not any((*key, tick) in busy for key in keys) and all(
                sum(ticks[a] < ticks[b] for a, b in pairs) % 2 == 0 for pairs in closing[level]
            ):
                busy.update((*key, tick) for key in keys)
                level += 1
                break
        else:
            ticks[e] = 0
            level -= 1
        if nodes > SEARCH_NODES:
            return None
    return ticks if level == len(order) else None


def _by_neighbourhood(ends: list[Edge]) -> list[int]:
    """Edges in an order in which each touches an earlier one, where the graph allows it."""
    at = defaultdict(list)
    for e, (check, qubit) in enumerate(ends):
        at[0, check].append(e)
        at[1, qubit].append(e)
    order: dict[int, None] = {}
    for first in range(len(ends)):
        waiting = [first]
        while waiting:
            e = waiting.pop(0)
            if e not in order:
                order[e] = None
                waiting += [o for side in (1, 0) for o in at[side, ends[e][side]]]
    return list(order)
