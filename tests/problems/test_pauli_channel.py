"""Qubits of each check, in an order that the symmetry keeps."""

import dataclasses

import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.problems.building import problem_from_code
from unmasq.problems.pauli_channel import pauli_channel, qubits_of


def capacity(name):
    return problem_from_code(get_code(name), "code-capacity", 0.05)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("name", ["bb18", "bb72"])
def test_they_are_the_qubits_of_the_check_matrices(name, symmetric):
    problem = capacity(name)
    if not symmetric:
        problem = dataclasses.replace(problem, symmetry=None)
    qubits = qubits_of(problem).of_checks
    channel = pauli_channel(problem)
    n = len(channel.probabilities)
    assert qubits.shape == (n, 6)
    for rows, checks in ((channel.rows_x, channel.checks_x), (channel.rows_z, channel.checks_z)):
        for detector, row in zip(rows, checks, strict=True):
            found = qubits[problem.layout.check[detector]]
            np.testing.assert_array_equal(np.sort(found), np.flatnonzero(row))


@pytest.mark.parametrize("name", ["bb18", "bb72"])
def test_an_element_takes_the_ith_qubit_of_a_check_to_the_ith_of_its_image(name):
    """So it permutes the qubits; the duality exchanges X and Z checks and their neighbours too."""
    problem = capacity(name)
    qubits = qubits_of(problem).of_checks
    for images in problem.symmetry.check_images:
        pairs = set(zip(qubits.ravel().tolist(), qubits[images].ravel().tolist(), strict=True))
        assert len(pairs) == len({q for q, _ in pairs}) == len({q for _, q in pairs})
    without = qubits_of(dataclasses.replace(problem, symmetry=None)).of_checks
    assert (without != qubits).any()
