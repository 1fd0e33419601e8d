"""The script that gives every qubit a rate of its own."""

import numpy as np
import pytest
import stim
from drifted_circuit import drifted

CIRCUIT = stim.Circuit("""
    R 0 1 2
    DEPOLARIZE1(0.01) 0 1 2
    CX 0 1
    DEPOLARIZE2(0.02) 0 1
    X_ERROR(0.4) 2
    M(0.001) 1 2
    DETECTOR rec[-1]
    OBSERVABLE_INCLUDE(0) rec[-2]
""")


def rates(circuit):
    """(name, qubits): rate."""
    return {
        (part.name, tuple(target.value for target in group)): part.gate_args_copy()[0]
        for part in circuit
        if part.name != "OBSERVABLE_INCLUDE" and part.gate_args_copy()
        for group in part.target_groups()
    }


def test_rates_follow_their_qubits_and_nothing_else_changes():
    factors = np.exp(0.7 * np.random.default_rng(1).standard_normal(3))
    found = rates(drifted(CIRCUIT, 0.7, seed=1))
    for qubit in range(3):
        assert found["DEPOLARIZE1", (qubit,)] == pytest.approx(0.01 * factors[qubit])
    assert found["DEPOLARIZE2", (0, 1)] == pytest.approx(0.02 * factors[:2].mean())
    assert found["X_ERROR", (2,)] == pytest.approx(min(0.4 * factors[2], 0.5))
    assert found["M", (1,)] == pytest.approx(0.001 * factors[1])
    assert drifted(CIRCUIT, 0.7, seed=1).without_noise() == CIRCUIT.without_noise()
    assert rates(drifted(CIRCUIT, 0.0, seed=1)) == pytest.approx(rates(CIRCUIT))
