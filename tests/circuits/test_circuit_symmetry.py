"""Symmetries found by following a circuit's gates."""

import numpy as np
import pytest
import stim

from small_codes import random_product
from unmasq.circuits import NoiseModel, memory_circuit
from unmasq.circuits.circuit_symmetry import GroupTooLargeError, circuit_symmetry
from unmasq.circuits.timelines import timelines_of
from unmasq.codes import css_code, get_code


def memory(code, rounds=2, basis="X"):
    return memory_circuit(code, NoiseModel.uniform(0.003), rounds, basis)


def symmetry_of(circuit):
    return circuit_symmetry(timelines_of(circuit))


def order_of(circuit):
    return len(symmetry_of(circuit).qubit_images)


@pytest.mark.parametrize(
    ("name", "rounds", "order"),
    [("bb18", 4, 9), ("bb72", 6, 36), ("bb144", 12, 72), ("toric:3", 3, 9), ("toric:4,6", 2, 24),
     ("bb:3,3,1+x,1+y", 2, 9), ("surface:5", 3, 1)],
)  # fmt: skip
def test_all_translations_are_found_without_a_hint(name, rounds, order):
    assert order_of(memory(get_code(name), rounds)) == order


def test_a_random_product_has_the_identity_alone():
    assert order_of(memory(css_code(*random_product()))) == 1


def test_stims_surface_code_has_the_identity_alone():
    circuit = stim.Circuit.generated(
        "surface_code:rotated_memory_z", distance=5, rounds=5, after_clifford_depolarization=0.01
    )
    assert order_of(circuit) == 1


def test_images_of_detectors_follow_those_of_the_qubits():
    """On a torus the translation of a check's coordinates."""
    found = symmetry_of(memory(get_code("bb18")))
    places = memory(get_code("bb18")).get_detector_coordinates()
    steps = set()
    for images in found.detector_images:
        moves = {
            tuple((np.array(places[int(image)]) - places[d])[:2] % 3)
            for d, image in enumerate(images)
        }
        assert len(moves) == 1
        assert all(places[int(image)][2:] == places[d][2:] for d, image in enumerate(images))
        steps |= moves
    assert len(steps) == 9


def changed(circuit, change):
    """The circuit with each instruction passed through `change`, which may split it."""
    result = stim.Circuit()
    for number, instruction in enumerate(circuit.flattened()):
        for name, targets, arguments in change(number, instruction):
            result.append(name, targets, arguments)
    return result


def unchanged(instruction):
    return (instruction.name, instruction.targets_copy(), instruction.gate_args_copy())


def test_one_changed_rate_leaves_what_keeps_its_qubits():
    """Idles of one row of a 4 x 4 torus: translations along the row stay; of one qubit: none."""
    circuit = memory(get_code("toric:4"))
    base = symmetry_of(circuit)
    assert len(base.qubit_images) == 16
    rows = {frozenset({0, 1, 2, 3}): 4, frozenset({5}): 1, frozenset(range(16)): 16}
    for worse, order in rows.items():

        def change(_, instruction, worse=worse):
            if instruction.name != "DEPOLARIZE1":
                return [unchanged(instruction)]
            name, targets, (rate,) = unchanged(instruction)
            return [(name, [q], 2 * rate if q.value in worse else rate) for q in targets]

        found = symmetry_of(changed(circuit, change))
        expected = [row for row in base.qubit_images if set(row[list(worse)]) == worse]
        assert len(found.qubit_images) == len(expected) == order
        assert {row.tobytes() for row in found.qubit_images} == {row.tobytes() for row in expected}


@pytest.mark.parametrize("what", ["reset", "detector", "readout"])
def test_every_part_of_the_circuit_counts(what):
    def change(number, instruction):
        name, targets, arguments = unchanged(instruction)
        if what == "reset" and name == "R" and len(targets) == 9:
            return [(name, targets[1:], arguments)]
        if what == "detector" and name == "DETECTOR" and number == first:
            return []
        if what == "readout" and name == "MX" and arguments:
            return [(name, targets[:1], 0.1), (name, targets[1:], arguments)]
        return [(name, targets, arguments)]

    circuit = memory(get_code("bb18"))
    names = [instruction.name for instruction in circuit.flattened()]
    first = names.index("DETECTOR")
    assert order_of(changed(circuit, lambda _, i: [unchanged(i)])) == 9
    assert order_of(changed(circuit, change)) == 1


def test_the_order_of_targets_and_lines_does_not_count():
    def shuffled(_, instruction):
        name, _, arguments = unchanged(instruction)
        if name not in ("CX", "DEPOLARIZE2", "DEPOLARIZE1", "R", "RX"):
            return [unchanged(instruction)]
        groups = instruction.target_groups()
        return [(name, list(groups[i]), arguments) for i in rng.permutation(len(groups))]

    rng = np.random.default_rng(2)
    assert order_of(changed(memory(get_code("bb18")), shuffled)) == 9


def copies(number):
    """Copies of a qubit that is measured twice, nothing between them."""
    lines = [f"R {q}\nX_ERROR(0.1) {q}\nM {q}\nDETECTOR({q}, 0) rec[-1]" for q in range(number)]
    return stim.Circuit("\n".join(lines))


def test_parts_that_are_alike_may_be_exchanged():
    assert order_of(copies(4)) == 24


def test_a_group_too_large_to_list_is_refused():
    with pytest.raises(GroupTooLargeError, match="at most 4096 elements to be listed: got more"):
        symmetry_of(copies(8))
