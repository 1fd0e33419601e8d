"""The Tanner graph of a code's checks and qubits, its edges sorted into relations.

A relation says how a check touches a qubit: by the CNOT of one tick, for checks of one type, or by
edges that a symmetry takes to each other. Messages along all edges of a relation share one matrix,
and codes whose relations have the same names share networks: see `unmasq.models.messages`.
"""

import collections
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unmasq.codes.lookup import Lookup
from unmasq.codes.symmetry import Indices

_EDGES = ("check", "qubit", "relation")


@dataclasses.dataclass(frozen=True, eq=False)
class TannerGraph:
    """Edge e joins `check[e]` and `qubit[e]` by relation `relation[e]`, an index of `names`.

    A check has at most one qubit of each relation, and a qubit at most one check.
    """

    check: Indices  # (E,)
    qubit: Indices  # (E,)
    relation: Indices  # (E,)
    names: tuple[str, ...]  # such as "X2": the CNOT of an X check at tick 2
    num_checks: int
    num_qubits: int

    def __post_init__(self) -> None:
        limits = {
            "check": self.num_checks,
            "qubit": self.num_qubits,
            "relation": len(self.names),
        }
        for name, limit in limits.items():
            values = getattr(self, name)
            if values.shape != self.check.shape or values.ndim != 1:
                raise ValueError(
                    f"{name} must hold one number for each of the {self.check.size} edges: "
                    f"got shape {values.shape}."
                )
            outside = np.flatnonzero((values < 0) | (values >= limit))
            if outside.size:
                raise ValueError(
                    f"{name} must lie in 0..{limit - 1}: got {name}[{outside[0]}] = "
                    f"{values[outside[0]]}."
                )
        if len(set(self.names)) != len(self.names):
            raise ValueError(f"names must be distinct: got {', '.join(self.names)}.")
        if twice := _first_twice(self.check, self.qubit):
            raise ValueError(f"check {twice[0]} must touch qubit {twice[1]} once: got two edges.")
        for name in ("check", "qubit"):
            if twice := _first_twice(getattr(self, name), self.relation):
                raise ValueError(
                    f"{name} {twice[0]} must have one edge of a relation at most: got two of "
                    f"{self.names[twice[1]]}."
                )

    @property
    def num_relations(self) -> int:
        return len(self.names)

    def qubits_of_checks(self) -> Indices:
        """(checks, relations): the qubit that a check has by each relation, -1 for none."""
        table = np.full((self.num_checks, self.num_relations), -1, np.int32)
        table[self.check, self.relation] = self.qubit
        return table

    def checks_of_qubits(self) -> Indices:
        """(qubits, relations): the check that a qubit has by each relation, -1 for none."""
        table = np.full((self.num_qubits, self.num_relations), -1, np.int32)
        table[self.qubit, self.relation] = self.check
        return table

    def arrays(self) -> dict[str, Indices]:
        """Its edges, by the names they have in files."""
        return {f"tanner.{name}": getattr(self, name) for name in _EDGES}

    def facts(self) -> dict[str, Any]:
        """What a file's header says of it beside the arrays."""
        return {
            "names": list(self.names),
            "num_checks": self.num_checks,
            "num_qubits": self.num_qubits,
        }

    @staticmethod
    def read(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> "TannerGraph":
        """What `arrays` and `facts` wrote."""
        check, qubit, relation = (arrays[f"tanner.{name}"] for name in _EDGES)
        sizes = (facts["num_checks"], facts["num_qubits"])
        return TannerGraph(check, qubit, relation, tuple(facts["names"]), *sizes)

    def under(self, check_images: Indices, qubit_images: Indices) -> "TannerGraph":
        """The same edges, with the orbits under a group as relations.

        Row g of the images says where element g takes each check and qubit. An orbit is named
        after the relations that it joins ("X6+Z1"); orbits of the same ones are counted ("X2.1").
        """
        edges = Lookup(self.check.astype(np.int64) * self.num_qubits + self.qubit)
        first = np.arange(len(self.check))
        for checks, qubits in zip(check_images, qubit_images, strict=True):
            moved = checks[self.check].astype(np.int64) * self.num_qubits + qubits[self.qubit]
            place, found = edges.find(moved)
            if not found.all():
                lost = np.flatnonzero(~found)[0]
                raise ValueError(
                    "symmetry must take edges to edges: got one that moves the edge of check "
                    f"{self.check[lost]} and qubit {self.qubit[lost]} elsewhere."
                )
            np.minimum(first, place, out=first)
        joined = {
            orbit: "+".join(sorted({self.names[r] for r in self.relation[first == orbit]}))
            for orbit in np.unique(first)
        }
        shared = collections.Counter(joined.values())
        seen: collections.Counter[str] = collections.Counter()
        labels = {}
        for orbit, name in joined.items():
            seen[name] += 1
            labels[orbit] = f"{name}.{seen[name]}" if shared[name] > 1 else name
        return labelled_graph(
            self.check,
            self.qubit,
            [labels[orbit] for orbit in first],
            self.num_checks,
            self.num_qubits,
        )


def labelled_graph(
    check: np.ndarray, qubit: np.ndarray, labels: Sequence[str], num_checks: int, num_qubits: int
) -> TannerGraph:
    """With a relation for each label, in the labels' order; edges check by check."""
    names = tuple(sorted(set(labels)))
    number = {name: r for r, name in enumerate(names)}
    relation = np.array([number[label] for label in labels], np.int32)
    order = np.lexsort((relation, check))
    return TannerGraph(
        np.asarray(check, np.int32)[order],
        np.asarray(qubit, np.int32)[order],
        relation[order],
        names,
        num_checks,
        num_qubits,
    )


def _first_twice(first: Indices, second: Indices) -> tuple[int, int] | None:
    """A pair that occurs more than once."""
    pairs, counts = np.unique(np.stack([first, second]), axis=1, return_counts=True)
    found = pairs[:, counts > 1]
    return (int(found[0, 0]), int(found[1, 0])) if found.size else None
