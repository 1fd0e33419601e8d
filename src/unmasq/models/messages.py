"""Messages along the code's Tanner graph: from checks to the qubits between them, and back.

    z_c = R x_c,   y_q = gelu(sum_c W z_c),   m_c = sum_q U y_q

over the neighbours, with one W and one U for each relation of the graph. A sum over relations is
one product with their messages side by side, so the matrices of relations that meet at a qubit (or
at a check) are stored as one. Nothing here knows the size of the code or the number of rounds: a
code with the same relations takes the same weights. A missing neighbour says nothing.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int32, PRNGKeyArray

from unmasq.codes.symmetry import Indices
from unmasq.codes.tanner_graph import TannerGraph
from unmasq.models.kernels.tables import Routes
from unmasq.models.layers import Linear


class Group(NamedTuple):
    """Checks (or qubits) in rows start..stop-1 that share relations, and those relations."""

    start: int
    stop: int
    relations: tuple[int, ...]


class Wires(eqx.Module):
    """A Tanner graph on the device, its checks and qubits sorted into groups.

    By relation r, the qubit in row i of its group hears the check in row `check_of[.., r]` of its
    own group, and the other way round: the gradient of either gather is the other one.
    """

    check_of: Int32[Array | np.ndarray, "qubits relations"]  # -1 for none
    qubit_of: Int32[Array | np.ndarray, "checks relations"]
    site: Int32[Array | np.ndarray, " checks"] | None  # of each row; None where it is its number
    row: Int32[Array | np.ndarray, " sites"] | None  # of each site, -1 for one without qubits
    check_groups: tuple[Group, ...] = eqx.field(static=True)
    qubit_groups: tuple[Group, ...] = eqx.field(static=True)
    full: bool = eqx.field(static=True)  # whether no neighbour is missing
    routes: Routes | None  # the same for kernels; None where they cannot serve

    def __init__(self, graph: TannerGraph):
        qubit_of, check_of = graph.qubits_of_checks(), graph.checks_of_qubits()
        sites, self.check_groups = _sorted(qubit_of)
        qubits, self.qubit_groups = _sorted(check_of)
        place_of_check = _places(sites, self.check_groups, graph.num_checks)
        place_of_qubit = _places(qubits, self.qubit_groups, graph.num_qubits)
        self.qubit_of = np.where(qubit_of < 0, -1, place_of_qubit[qubit_of])[sites]
        self.check_of = np.where(check_of < 0, -1, place_of_check[check_of])[qubits]
        self.site = self.row = None
        if not np.array_equal(sites, np.arange(graph.num_checks)):
            self.site = sites
            self.row = np.full(graph.num_checks, -1, np.int32)
            self.row[sites] = np.arange(len(sites))
        tables = ((self.check_of, self.qubit_groups), (self.qubit_of, self.check_groups))
        self.full = all(
            (table[group.start : group.stop, list(group.relations)] >= 0).all()
            for table, groups in tables
            for group in groups
        )
        self.routes = Routes.of(self)

    def by_group(self, x: Float[Array, "sites B d"]) -> list[Float[Array, "_ B d"]]:
        """The checks of each group."""
        if self.site is not None and self.row is not None:
            x = _carried(x, jnp.asarray(self.site), jnp.asarray(self.row), False)
        return [x[group.start : group.stop] for group in self.check_groups]

    def by_site(self, groups: list[Float[Array, "_ B d"]]) -> Float[Array, "sites B d"]:
        """What `by_group` took apart; 0 for checks without qubits."""
        x = jnp.concatenate(groups)
        if self.site is None or self.row is None:
            return x
        return _carried(x, jnp.asarray(self.row), jnp.asarray(self.site), False)

    def at_qubits(
        self, told: list[Float[Array, "_ B b"]], group: Group
    ) -> Float[Array, "_ B inputs"]:
        """What the checks told, side by side at each qubit of a group."""
        return self._heard(told, self.check_groups, self.check_of, self.qubit_of, group)

    def at_checks(
        self, told: list[Float[Array, "_ B b"]], group: Group
    ) -> Float[Array, "_ B inputs"]:
        """What the qubits told, side by side at each check of a group."""
        return self._heard(told, self.qubit_groups, self.qubit_of, self.check_of, group)

    def _heard(
        self,
        told: list[Array],
        speakers: tuple[Group, ...],
        forth: Array | np.ndarray,
        back: Array | np.ndarray,
        group: Group,
    ) -> Array:
        """Of each relation, the speaker in row `forth`; speaker i is heard in row `back[i]`."""
        parts = []
        for relation in group.relations:
            number, speaker = _group_of(relation, speakers)
            to = jnp.asarray(forth)[group.start : group.stop, relation]
            fro = jnp.asarray(back)[speaker.start : speaker.stop, relation]
            parts.append(_carried(told[number], to, fro, self.full))
        return jnp.concatenate(parts, axis=-1)


class Messages(eqx.Module):
    """One exchange between checks through the qubits that they share."""

    reduce: list[Linear]  # R, d -> b, for each group of checks
    to_qubits: list[Linear]  # W, side by side, for each group of qubits
    to_checks: list[Linear]  # U, b -> d, for each group of checks

    def __init__(self, width: int, message_width: int, wires: Wires, *, key: PRNGKeyArray):
        reduce_key, qubit_key, check_key = jr.split(key, 3)
        checks, qubits = wires.check_groups, wires.qubit_groups

        def linear(groups: tuple[Group, ...], fan_out: int, key: PRNGKeyArray) -> list[Linear]:
            return [
                Linear(len(group.relations) * message_width, fan_out, bias=False, key=part)
                for group, part in zip(groups, jr.split(key, len(groups)), strict=True)
            ]

        self.reduce = [
            Linear(width, message_width, bias=False, key=part)
            for part in jr.split(reduce_key, len(checks))
        ]
        self.to_qubits = linear(qubits, message_width, qubit_key)
        self.to_checks = linear(checks, width, check_key)

    def __call__(self, x: Float[Array, "n B d"], wires: Wires) -> Float[Array, "n B d"]:
        told = [of(part) for of, part in zip(self.reduce, wires.by_group(x), strict=True)]
        known = [
            jax.nn.gelu(of(wires.at_qubits(told, group)))
            for of, group in zip(self.to_qubits, wires.qubit_groups, strict=True)
        ]
        answers = [
            of(wires.at_checks(known, group))
            for of, group in zip(self.to_checks, wires.check_groups, strict=True)
        ]
        return wires.by_site(answers)

    @property
    def width(self) -> int:
        """Of the messages."""
        return self.reduce[0].weight.shape[1]

    def matrices(self) -> tuple[Array, Array, Array]:
        """R of each group, and W and U of each relation, as `Wires.routes` numbers them."""

        def apart(linears: list[Linear]) -> Array:
            width = self.width
            parts = [each.weight.reshape(-1, width, each.weight.shape[1]) for each in linears]
            return jnp.concatenate(parts)

        reduce = jnp.stack([each.weight for each in self.reduce])
        return reduce, apart(self.to_qubits), apart(self.to_checks)


def _sorted(table: Indices) -> tuple[Indices, tuple[Group, ...]]:
    """Vertices in groups: those that share a relation, or are linked by such ones.

    `table` (vertices, relations) is -1 where a vertex lacks a relation; one without any is left
    out. Groups come in the order of their first relations.
    """
    vertices, relations = table.shape
    leader = np.arange(relations)
    for row in table >= 0:
        met = np.unique(leader[row])
        if met.size > 1:
            leader[np.isin(leader, met)] = met[0]
    order: list[int] = []
    groups = []
    for first in np.unique(leader):
        members = np.flatnonzero(leader == first)
        found = np.flatnonzero((table[:, members] >= 0).any(axis=1))
        groups.append(Group(len(order), len(order) + len(found), tuple(members.tolist())))
        order.extend(found.tolist())
    return np.array(order, np.int32), tuple(groups)


def _places(order: Indices, groups: tuple[Group, ...], size: int) -> Indices:
    """The row of each vertex within its group."""
    places = np.full(size, -1, np.int32)
    for group in groups:
        places[order[group.start : group.stop]] = np.arange(group.stop - group.start)
    return places


def _group_of(relation: int, groups: tuple[Group, ...]) -> tuple[int, Group]:
    return next((i, group) for i, group in enumerate(groups) if relation in group.relations)


def _rows(x: Array, index: Array, full: bool) -> Array:
    if full:
        return x.at[index].get(mode="promise_in_bounds")
    found = x.at[jnp.maximum(index, 0)].get(mode="promise_in_bounds")
    return jnp.where(index[:, None, None] >= 0, found, jnp.zeros((), x.dtype))


@jax.custom_vjp
def _gathered(x: Array, forth: Array, back: Array) -> Array:
    """Row `forth[i]` of x, or 0 where it is negative; x[j] stands in row `back[j]`.

    No row of x is taken twice, so the gradient is the gather by `back`, not a scatter.
    """
    return _rows(x, forth, full=False)


@jax.custom_vjp
def _permuted(x: Array, forth: Array, back: Array) -> Array:
    """`_gathered` where every row of x is taken."""
    return _rows(x, forth, full=True)


_gathered.defvjp(
    lambda x, forth, back: (_gathered(x, forth, back), (forth, back)),
    lambda tables, g: (_gathered(g, tables[1], tables[0]), None, None),
)
_permuted.defvjp(
    lambda x, forth, back: (_permuted(x, forth, back), (forth, back)),
    lambda tables, g: (_permuted(g, tables[1], tables[0]), None, None),
)


def _carried(x: Array, forth: Array, back: Array, full: bool) -> Array:
    return _permuted(x, forth, back) if full else _gathered(x, forth, back)
