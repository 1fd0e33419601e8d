"""Symmetry and Tanner graph of problems that come from circuits."""

import logging

import numpy as np
import pytest
import stim

from small_codes import random_product
from unmasq.codes import css_code, get_code
from unmasq.codes.schedule import Schedule
from unmasq.problems import found_symmetry
from unmasq.problems.building import (
    circuit_from_code,
    problem_from_circuit,
    problem_from_code,
    problem_from_dem,
)


@pytest.mark.parametrize("basis", ["X", "Z"])
@pytest.mark.parametrize("name", ["bb18", "bb36", "toric:3", "hgp:ring3,rep3"])
def test_a_circuit_has_the_symmetry_and_the_relations_of_its_code(name, basis):
    code = get_code(name)
    known = problem_from_code(code, "circuit", 0.004, 2, basis)
    found = problem_from_circuit(circuit_from_code(code, "circuit", 0.004, 2, basis))
    assert found.structure_id == known.structure_id
    rows = [{row.tobytes() for row in p.symmetry.check_images} for p in (known, found)]
    assert rows[0] == rows[1]
    sizes = [(p.symmetry.num_tokens, p.symmetry.joint_ties().num_values) for p in (known, found)]
    assert sizes[0] == sizes[1]
    assert found.tanner.names == known.tanner.names
    assert np.array_equal(found.layout.check_type, known.layout.check_type)
    for field in ("check", "qubit", "relation"):
        assert np.array_equal(getattr(found.tanner, field), getattr(known.tanner, field))


def test_a_circuit_without_symmetry_has_relations_by_type_and_tick():
    circuit = stim.Circuit.generated(
        "surface_code:rotated_memory_z", distance=3, rounds=3, after_clifford_depolarization=0.01
    )
    problem = problem_from_circuit(circuit)
    assert problem.symmetry is None
    assert problem.tanner.names == ("X3", "X4", "X5", "X6", "Z3", "Z4", "Z5", "Z6")
    assert (problem.tanner.num_checks, problem.tanner.num_qubits) == (8, 9)
    assert problem.layout.check_type.tolist() == [1] * 4 + [0] * 4  # Z checks come first
    assert problem_from_circuit(circuit, single_frame=True).tanner is None


def test_an_error_model_has_neither():
    circuit = circuit_from_code(css_code(*random_product()), "circuit", 0.004, 1, "X")
    problem = problem_from_dem(circuit.detector_error_model())
    assert (problem.symmetry, problem.tanner) == (None, None)


def test_a_schedule_of_ones_own_keeps_what_symmetry_it_has():
    code = get_code("toric:3")
    later = np.where(code.schedule.z, code.schedule.z + 4, 0)
    problem = problem_from_code(
        code, "circuit", 0.004, 1, "X", Schedule(code.schedule.x, later.astype(np.int32))
    )
    assert (problem.symmetry.order, problem.tanner.num_relations) == (9, 8)


def test_tokens_are_limited(monkeypatch):
    monkeypatch.setattr(found_symmetry, "MAX_TOKENS", 5)
    circuit = circuit_from_code(get_code("toric:3"), "circuit", 0.004, 1, "X")
    assert problem_from_circuit(circuit).symmetry is None


def test_a_group_too_large_to_list_is_left_out_with_a_note(caplog):
    lines = [f"R {q}\nX_ERROR(0.1) {q}\nM {q}\nDETECTOR({q}, 0) rec[-1]" for q in range(8)]
    circuit = stim.Circuit("\n".join([*lines, "OBSERVABLE_INCLUDE(0) rec[-1]"]))
    with caplog.at_level(logging.WARNING, "unmasq"):
        assert problem_from_circuit(circuit).symmetry is None
    assert "no symmetry is used: symmetry must have at most 4096 elements" in caplog.text
