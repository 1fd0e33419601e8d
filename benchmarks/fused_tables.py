"""A block of messages as `fused_kernels.py` sees it: tables of neighbours, stacks of matrices."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from unmasq.models.blocks import MessageBlock
from unmasq.models.messages import Wires


class Table(NamedTuple):
    """For each row that comes out: whose rows it takes, and by which matrices."""

    source: np.ndarray  # (out, slots) int32
    matrix: np.ndarray  # (out, slots) int32

    def turned(self) -> "Table":
        """For the gradient: where each row that went in was taken, and by which matrix."""
        inputs = int(self.source.max()) + 1
        taken = np.bincount(self.source.ravel(), minlength=inputs)
        assert (taken == taken[0]).all(), "every row must be taken equally often"
        order = np.argsort(self.source, axis=None, kind="stable").reshape(inputs, -1)
        return Table(_int32(order // self.source.shape[1]), self.matrix.ravel()[order])

    def pairs(self) -> np.ndarray:
        """(matrices, pairs, 2): the rows that went in and came out by each matrix."""
        matrices = int(self.matrix.max()) + 1
        used = np.bincount(self.matrix.ravel(), minlength=matrices)
        assert (used == used[0]).all(), "every matrix must be used equally often"
        order = np.argsort(self.matrix, axis=None, kind="stable").reshape(matrices, -1)
        return _int32(np.stack([self.source.ravel()[order], order // self.source.shape[1]], -1))


class Routes(NamedTuple):
    """The tables of one Tanner graph; qubits and told checks in the order of `Wires`."""

    reduce: Table  # z from x
    to_qubits: Table  # y from z
    to_checks: Table  # m from y, checks as in x

    @classmethod
    def of(cls, wires: Wires) -> "Routes":
        degrees = [
            {len(group.relations) for group in groups}
            for groups in (wires.check_groups, wires.qubit_groups)
        ]
        if not wires.full or any(len(found) > 1 for found in degrees):
            raise ValueError(
                "wires must give all checks, and all qubits, as many neighbours: got "
                f"{degrees[0]} of checks, {degrees[1]} of qubits, full: {wires.full}."
            )
        rows = wires.check_groups[-1].stop
        site = np.arange(rows) if wires.site is None else np.asarray(wires.site)
        place = np.arange(rows) if wires.row is None else np.asarray(wires.row)
        number = np.concatenate(
            [np.full(g.stop - g.start, i) for i, g in enumerate(wires.check_groups)]
        )
        checks, qubits = wires.check_groups, wires.qubit_groups
        told = _table(qubits, checks, np.asarray(wires.check_of))
        heard = _table(checks, qubits, np.asarray(wires.qubit_of))
        return cls(
            Table(_int32(site)[:, None], _int32(number)[:, None]),
            told,
            Table(heard.source[place], heard.matrix[place]),
        )


def _table(hearers: tuple, speakers: tuple, of: np.ndarray) -> Table:
    source, matrix = [], []
    start_of = {r: group.start for group in speakers for r in group.relations}
    for group in hearers:
        starts = np.array([start_of[r] for r in group.relations])
        source.append(of[group.start : group.stop, list(group.relations)] + starts)
        first = len(matrix) and int(matrix[-1].max()) + 1
        numbers = first + np.arange(len(group.relations))
        matrix.append(np.broadcast_to(numbers, source[-1].shape))
    return Table(_int32(np.concatenate(source)), _int32(np.concatenate(matrix)))


def _int32(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.int32)


class Parameters(NamedTuple):
    """A block's matrices, one for each relation: the tables number them."""

    reduce: jax.Array  # (groups, d, b)
    to_qubits: jax.Array  # (relations, b, b)
    to_checks: jax.Array  # (relations, b, d)
    up: jax.Array  # (d, hidden)
    down: jax.Array  # (hidden, d)

    @classmethod
    def of(cls, block: MessageBlock) -> "Parameters":
        mixing = block.mixing
        reduce = jnp.stack([linear.weight for linear in mixing.reduce])
        width = reduce.shape[-1]
        to_qubits, to_checks = (
            jnp.concatenate([a.weight.reshape(-1, width, a.weight.shape[-1]) for a in linears])
            for linears in (mixing.to_qubits, mixing.to_checks)
        )
        up, down = block.feedforward.up.weight, block.feedforward.down.weight
        return cls(reduce, to_qubits, to_checks, up, down)
