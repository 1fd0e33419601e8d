"""Codes by the names of their families."""

import itertools

import numpy as np
import pytest

from small_codes import product, ring
from unmasq.circuits import NoiseModel, memory_circuit
from unmasq.codes import get_code, hypergraph_product


@pytest.mark.parametrize(
    ("name", "label", "order"),
    [
        ("toric:3", "[[18,2,3]]", 9),
        ("toric:3,4", "[[24,2,3]]", 12),
        ("surface:3", "[[9,1,3]]", 1),
        ("surface:4", "[[16,1,4]]", 1),
        ("hgp:ring3,ring4", "[[24,2,?]]", 12),
        ("hgp:hamming7,rep3", "[[27,4,?]]", 1),
        ("bb:3,3,1+x,1+y", "[[18,2,?]]", 9),
        ("bb:4,3,1+x+y+y2,1+x3", "[[24,2,?]]", 12),
    ],
)
def test_every_family_has_codes_with_circuits(name, label, order):
    code = get_code(name)
    assert (code.name, code.label, code.known) == (name, label, True)
    assert (code.symmetries["X"].order if code.symmetries else 1) == order
    for basis in "XZ":
        circuit = memory_circuit(code, NoiseModel.uniform(0.001), 1, basis)
        circuit.detector_error_model()  # refuses what is not deterministic


def test_the_product_is_that_of_the_textbook():
    first, second = ring(3)[:2], ring(4)
    for found, expected in zip(
        hypergraph_product(first, second), product(first, second), strict=True
    ):
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("distance", [2, 3])
def test_the_distance_of_a_surface_code_by_brute_force(distance):
    code = get_code(f"surface:{distance}")
    for checks, logicals in ((code.checks_z, code.logicals_z), (code.checks_x, code.logicals_x)):
        light = [
            operator
            for weight in range(1, distance + 1)
            for support in itertools.combinations(range(code.n), weight)
            if not (checks @ (operator := np.isin(np.arange(code.n), support)) % 2).any()
            and (logicals @ operator % 2).any()
        ]
        assert min(int(operator.sum()) for operator in light) == distance


@pytest.mark.parametrize(("distance", "basis"), [(3, "X"), (3, "Z"), (5, "X"), (5, "Z")])
def test_faults_of_ancillas_do_not_halve_the_distance_of_a_surface_code(distance, basis):
    circuit = memory_circuit(get_code(f"surface:{distance}"), NoiseModel.uniform(0.001), 2, basis)
    assert len(circuit.shortest_graphlike_error()) == distance


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("toric:1", "torus must have a size of at least 2: got 1"),
        ("toric:a", "toric:L or toric:L,M, such as toric:4: got 'toric:a'"),
        ("surface:3,3", "surface:D, such as surface:5: got 'surface:3,3'"),
        ("hgp:ring3", "hgp:A,B of ringN"),
        ("hgp:ring3,golay", "classical code must be ringN or repN .* got 'golay'"),
        ("toric", "or one of the families toric, surface, hgp: got 'toric'"),
    ],
)
def test_bad_names_are_refused(name, message):
    with pytest.raises(ValueError, match=message):
        get_code(name)


def test_logicals_of_a_larger_code_span_although_few_sets_find_light_ones():
    code = get_code("toric:9")
    assert code.logicals_x.sum(axis=1).tolist() == [9, 9]
