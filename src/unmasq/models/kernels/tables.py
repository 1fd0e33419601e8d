"""Who hears whom on a Tanner graph, and by which matrix: what the kernels read."""

from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np

if TYPE_CHECKING:
    from unmasq.models.messages import Group, Wires

Ints = np.ndarray | jax.Array  # int32


class Table(NamedTuple):
    """For each row that comes out: whose rows it takes, and by which matrices."""

    source: Ints  # (out, slots)
    matrix: Ints  # (out, slots)


class Exchange(NamedTuple):
    """A sum over neighbours, and what its gradients read."""

    forth: Table
    back: Table  # where each row that went in was taken, and by which matrix
    pairs: Ints  # (matrices, pairs, 2): the rows that went in and came out by each matrix


class Routes(NamedTuple):
    """The three sums of a block on one Tanner graph; its rows are in the order of `Wires`."""

    reduce: Exchange  # z from x
    to_qubits: Exchange  # y from z
    to_checks: Exchange  # m from y, checks as in x

    @classmethod
    def of(cls, wires: "Wires") -> "Routes | None":
        """None for a graph with a boundary, or one whose vertices or relations differ in number.

        Kernels have loops of one length: every row must be taken, and every matrix used, equally
        often.
        """
        checks, qubits = wires.check_groups, wires.qubit_groups
        if not wires.full or not all(
            len({of(group) for group in groups}) == 1
            for groups in (checks, qubits)
            for of in (lambda g: g.stop - g.start, lambda g: len(g.relations))
        ):
            return None
        rows = checks[-1].stop
        site = np.arange(rows) if wires.site is None else np.asarray(wires.site)
        place = np.arange(rows) if wires.row is None else np.asarray(wires.row)
        number = np.repeat(np.arange(len(checks)), rows // len(checks))
        source, matrix = _table(checks, qubits, np.asarray(wires.qubit_of))
        return cls(
            _exchange(site[:, None], number[:, None]),
            _exchange(*_table(qubits, checks, np.asarray(wires.check_of))),
            _exchange(source[place], matrix[place]),
        )


def _table(
    hearers: "tuple[Group, ...]", speakers: "tuple[Group, ...]", of: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sources and matrices of all that hear, group by group."""
    source, matrix = [], []
    start_of = {r: group.start for group in speakers for r in group.relations}
    for number, group in enumerate(hearers):
        starts = np.array([start_of[r] for r in group.relations])
        source.append(of[group.start : group.stop, list(group.relations)] + starts)
        slots = len(group.relations)
        matrix.append(np.broadcast_to(number * slots + np.arange(slots), source[-1].shape))
    return np.concatenate(source), np.concatenate(matrix)


def _exchange(source: np.ndarray, matrix: np.ndarray) -> Exchange:
    slots = source.shape[1]
    by_source, by_matrix = (
        np.argsort(each, axis=None, kind="stable").reshape(int(each.max()) + 1, -1)
        for each in (source, matrix)
    )
    return Exchange(
        Table(_int32(source), _int32(matrix)),
        Table(_int32(by_source // slots), _int32(matrix.ravel()[by_source])),
        _int32(np.stack([source.ravel()[by_matrix], by_matrix // slots], axis=-1)),
    )


def _int32(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.int32)
