"""Schedules: what makes one right, and the automatic ones."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_codes import product, random_product, ring, toric
from unmasq.codes import css_code, get_code
from unmasq.codes.automorphisms import free_automorphisms
from unmasq.codes.schedule import Schedule, schedule_from
from unmasq.codes.scheduling import automatic_schedule, edge_colours

EDGES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=40)


@given(EDGES)
def test_colours_are_proper_and_as_few_as_the_greatest_degree(edges):
    colours = edge_colours(edges)
    for side in (0, 1):
        used = [(ends[side], colour) for ends, colour in zip(edges, colours, strict=True)]
        assert len(set(used)) == len(used)
    degrees = [sum(ends[side] == v for ends in edges) for side in (0, 1) for v in range(6)]
    assert len(set(colours)) <= max(degrees)
    assert max(colours, default=-1) < max(degrees) or not edges


def test_the_table_of_bicycle_codes_is_a_schedule():
    schedule = get_code("bb72").schedule
    assert (schedule.depth, schedule.last("X"), schedule.last("Z")) == (7, 7, 6)
    assert str(schedule) == "7 ticks of CNOTs: X 2-7, Z 1-6"
    schedule.require_fits(get_code("bb72").checks_x, get_code("bb72").checks_z)


@pytest.mark.parametrize(
    ("matrices", "depth"),
    [
        (toric(3, 3), 4),
        (toric(4, 5), 4),
        (product(ring(3)[:2], ring(3)[:2]), 4),  # a surface code: no translation
        (random_product(), None),
    ],
)
def test_automatic_schedules_have_the_ticks_of_the_greatest_degree(matrices, depth):
    x, z = matrices
    schedule = automatic_schedule(x, z, free_automorphisms(x, z))
    schedule.require_fits(x, z)
    if depth is None:  # X checks, then Z checks
        degrees = [max(m.sum(axis=0).max(), m.sum(axis=1).max()) for m in (x, z)]
        assert (schedule.last("X"), schedule.depth) == (degrees[0], sum(degrees))
        assert "then Z" in str(schedule)
    else:
        assert schedule.depth == depth


@pytest.mark.parametrize("size", [(3, 3), (4, 4), (3, 5)])
def test_an_automatic_schedule_moves_with_the_code(size):
    x, z = toric(*size)
    images = free_automorphisms(x, z)
    schedule = automatic_schedule(x, z, images)
    ticks = np.concatenate([schedule.x, schedule.z])
    assert len(images) == np.prod(size)
    for row in images:
        checks, qubits = row[: len(ticks)], row[len(ticks) :] - len(ticks)
        assert np.array_equal(ticks[np.ix_(checks, qubits)], ticks)


def test_relations_are_named_by_type_and_tick():
    x, z = toric(3, 3)
    graph = automatic_schedule(x, z, free_automorphisms(x, z)).tanner_graph()
    assert graph.names == tuple(f"{kind}{tick}" for kind in "XZ" for tick in range(1, 5))
    names = get_code("bb18").schedule.tanner_graph().names
    assert names == tuple(f"X{tick}" for tick in range(2, 8)) + tuple(f"Z{t}" for t in range(1, 7))


def test_a_code_without_checks_of_one_type_has_a_schedule():
    code = css_code(np.zeros((0, 3)), [[1, 1, 0], [0, 1, 1]])
    assert (code.schedule.depth, code.schedule.last("X")) == (2, 0)


def test_every_order_of_two_crossing_checks_is_judged_rightly():
    """X and Z check on two shared qubits: right if the same one is first on both."""
    for ticks in itertools.permutations(range(1, 5)):
        x, z = np.array([ticks[:2]]), np.array([ticks[2:]])
        right = ((x < z).sum() % 2) == 0
        if right:
            schedule_from(x, z)
        else:
            with pytest.raises(ValueError, match="must let X and Z checks pass each other"):
                schedule_from(x, z)


@pytest.mark.parametrize(
    ("x", "z", "message"),
    [
        ([[1, 1]], [[2, 3]], "each X check at most one CNOT a tick: got two for X check 0"),
        ([[1, 2]], [[3, 2]], "each qubit at most one CNOT a tick: got two for qubit 1 in tick 2"),
        ([[1, -2]], [[3, 4]], "must be a matrix of ticks"),
        ([[1, 2]], [[3, 4, 5]], "equally many columns for X and Z checks: got 2 and 3"),
        ([[1, 2.5]], [[3, 4]], "schedule X must hold whole numbers"),
    ],
)
def test_a_wrong_schedule_is_refused(x, z, message):
    with pytest.raises(ValueError, match=message):
        schedule_from(x, z)


def test_the_schedule_of_another_code_is_refused():
    x = np.array([[1, 1, 0]], np.uint8)
    with pytest.raises(ValueError, match=r"shape of the X checks, \(1, 3\): got \(1, 2\)"):
        schedule_from([[1, 2]], [[3, 4]]).require_fits(x, x)
    with pytest.raises(ValueError, match="exactly where X checks touch qubits: got 3 at check 0, "):
        Schedule(*np.array([[[1, 2, 3]], [[4, 5, 0]]], np.int32)).require_fits(x, x)
