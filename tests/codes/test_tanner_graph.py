"""Tanner graphs: relations of bicycle codes, orbits, and what is refused."""

import dataclasses

import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.codes.tanner_graph import TannerGraph, labelled_graph

BICYCLES = ["bb18", "bb36", "bb72", "bb108", "bb144", "bb288"]


@pytest.mark.parametrize("name", BICYCLES)
def test_edges_are_the_ones_of_the_check_matrices(name):
    code = get_code(name)
    graph = code.schedule.tanner_graph()
    checks = np.zeros((graph.num_checks, graph.num_qubits), np.uint8)
    checks[graph.check, graph.qubit] = 1
    assert np.array_equal(checks, np.concatenate([code.checks_x, code.checks_z]))
    assert (
        (graph.qubits_of_checks() >= 0).sum() == (graph.checks_of_qubits() >= 0).sum() == 6 * code.n
    )


@pytest.mark.parametrize("name", BICYCLES)
def test_relations_are_the_orbits_under_translations_for_every_bicycle_code(name):
    code = get_code(name)
    graph = code.schedule.tanner_graph()
    images = code.symmetries["X"].check_images
    orbits = graph.under(images, code.bicycle.qubit_images())
    names = [f"X{tick}" for tick in range(2, 8)] + [f"Z{tick}" for tick in range(1, 7)]
    assert list(graph.names) == list(orbits.names) == names
    for field in ("check", "qubit", "relation"):
        assert np.array_equal(getattr(graph, field), getattr(orbits, field))


def test_duality_joins_relations_of_x_and_z_checks():
    code = get_code("bb18")
    images = code.symmetries["XZ"].check_images
    joined = code.schedule.tanner_graph().under(images, images)
    assert joined.names == ("X2+Z6", "X3+Z4", "X4+Z3", "X5+Z5", "X6+Z1", "X7+Z2")


def test_labels_are_refined_by_orbits():
    """Four checks in a ring, each with the qubit behind and ahead of it; turns by two steps."""
    check = np.repeat(np.arange(4), 2)
    qubit = (check + np.tile([0, 1], 4)) % 4
    ring = labelled_graph(check, qubit, ["back", "front"] * 4, 4, 4)
    turns = np.stack([(np.arange(4) + g) % 4 for g in (0, 2)]).astype(np.int32)
    assert ring.names == ("back", "front")
    assert ring.under(turns, turns).names == ("back.1", "back.2", "front.1", "front.2")
    mirror = np.stack([np.arange(4), -np.arange(4) % 4]).astype(np.int32)
    with pytest.raises(ValueError, match="must take edges to edges"):
        ring.under(mirror, mirror)


def test_missing_neighbours_are_minus_one():
    row = labelled_graph(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]), ["L", "R", "L", "R"], 2, 3)
    assert row.qubits_of_checks().tolist() == [[0, 1], [1, 2]]
    assert row.checks_of_qubits().tolist() == [[0, -1], [1, 0], [-1, 1]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"check": [0, 9]}, r"check must lie in 0\.\.1: got check\[1\] = 9"),
        ({"qubit": [0, -1]}, r"qubit must lie in 0\.\.2"),
        ({"relation": [0, 2]}, r"relation must lie in 0\.\.1"),
        ({"relation": [0]}, "one number for each of the 2 edges"),
        ({"names": ("a", "a")}, "names must be distinct"),
        ({"check": [0, 0], "qubit": [1, 1]}, "check 0 must touch qubit 1 once"),
        ({"check": [0, 0], "relation": [1, 1]}, "check 0 must have one edge .* two of b"),
        ({"qubit": [2, 2], "relation": [1, 1]}, "qubit 2 must have one edge"),
    ],
)
def test_a_broken_graph_is_refused(changes, message):
    good = TannerGraph(*np.array([[0, 1], [0, 1], [0, 1]], np.int32), ("a", "b"), 2, 3)
    arrays = {
        name: value if name == "names" else np.array(value, np.int32)
        for name, value in changes.items()
    }
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(good, **arrays)
