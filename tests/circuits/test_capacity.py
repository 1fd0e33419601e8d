"""Code capacity against Stim's depolarizing conversion, and against all 4^n Paulis."""

import itertools

import numpy as np
import pytest
import stim

from exact_distribution import distribution, distribution_of
from unmasq.circuits import capacity_circuit
from unmasq.codes import css_code, get_code
from unmasq.problems.building import problem_from_code

FOUR_QUBITS = css_code([[1, 1, 1, 1]], [[1, 1, 1, 1]], "422")
STEANE_CHECKS = [[1, 0, 1, 0, 1, 0, 1], [0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 1]]


def distribution_of_paulis(code, p):
    """P(s, l) over all Paulis: X checks and X logicals see the Z part, the others the X part."""
    see_z = np.concatenate([code.checks_x, code.logicals_x])
    see_x = np.concatenate([code.checks_z, code.logicals_z])
    m = code.num_checks
    order = [
        *range(len(code.checks_x)),
        *(m + np.arange(code.k)),
        *(len(code.checks_x) + np.arange(len(code.checks_z))),
        *(m + code.k + np.arange(code.k)),
    ]
    probability = np.zeros(2 ** (m + 2 * code.k))
    for pauli in itertools.product("IXYZ", repeat=code.n):
        has_x = np.array([letter in "XY" for letter in pauli])
        has_z = np.array([letter in "ZY" for letter in pauli])
        flips = np.concatenate([see_z @ has_z, see_x @ has_x]) % 2
        outcome = sum(int(flip) << int(bit) for flip, bit in zip(flips, order, strict=True))
        errors = sum(letter != "I" for letter in pauli)
        probability[outcome] += (p / 3) ** errors * (1 - p) ** (code.n - errors)
    return probability


@pytest.mark.parametrize("p", [0.01, 0.2, 0.5])
def test_the_distribution_is_that_of_all_paulis(p):
    problem = problem_from_code(FOUR_QUBITS, "code-capacity", p)
    expected = distribution_of_paulis(FOUR_QUBITS, p)
    np.testing.assert_allclose(distribution_of(problem), expected, rtol=0, atol=1e-15)


def test_checks_of_one_type_alone_see_their_half():
    code = css_code(np.zeros((0, 3)), [[1, 1, 0], [0, 1, 1]])
    problem = problem_from_code(code, "code-capacity", 0.1)
    expected = distribution_of_paulis(code, 0.1)
    np.testing.assert_allclose(distribution_of(problem), expected, rtol=0, atol=1e-15)


def test_an_empty_check_never_fires():
    code = css_code([[1, 1, 1, 1], [0, 0, 0, 0]], [[1, 1, 1, 1]])
    problem = problem_from_code(code, "code-capacity", 0.1)
    assert problem.num_detectors == 3
    assert not problem.check_matrix.toarray()[1].any()


def stim_conversion(code, p):
    """P(s, l) from Stim's own faults of one qubit under DEPOLARIZE1, carried to all qubits.

    One qubit of a Bell pair with XX and ZZ measured: Stim's error model of that circuit says how
    likely independent X, Y and Z are.
    """
    one = stim.Circuit(f"""
        RX 1
        R 0
        CX 1 0
        DEPOLARIZE1({p}) 0
        MPP X0*X1 Z0*Z1
        DETECTOR rec[-2]
        DETECTOR rec[-1]
    """).detector_error_model()
    faults = []
    for q in range(code.n):
        z_part = np.flatnonzero(code.checks_x[:, q]), np.flatnonzero(code.logicals_x[:, q])
        x_part = (
            len(code.checks_x) + np.flatnonzero(code.checks_z[:, q]),
            code.k + np.flatnonzero(code.logicals_z[:, q]),
        )
        for error in one:
            hit = {target.val for target in error.targets_copy()}
            parts = [part for d, part in enumerate((z_part, x_part)) if d in hit]
            detectors = [d for part in parts for d in part[0]]
            logicals = [k for part in parts for k in part[1]]
            faults.append((detectors, logicals, error.args_copy()[0]))
    return faults


@pytest.mark.parametrize("p", [0.003, 0.1])
def test_the_distribution_is_that_of_stims_conversion(p):
    code = css_code(STEANE_CHECKS, STEANE_CHECKS)
    problem = problem_from_code(code, "code-capacity", p)
    expected = distribution(stim_conversion(code, p), problem.num_detectors, problem.num_logicals)
    np.testing.assert_allclose(distribution_of(problem), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["bb18", "bb72"])
def test_each_qubit_of_a_large_code_has_three_faults_with_stims_prior(name):
    code, p = get_code(name), 0.01
    problem = problem_from_code(code, "code-capacity", p)
    assert (problem.num_detectors, problem.num_logicals) == (code.n, 2 * code.k)
    expected = {(tuple(sorted(d)), tuple(sorted(k))): q for d, k, q in stim_conversion(code, p)}
    assert len(expected) == 3 * code.n
    assert set(problem.faults()) == {(tuple(map(int, d)), tuple(map(int, k))) for d, k in expected}
    np.testing.assert_allclose(problem.priors, list(expected.values()), rtol=0, atol=1e-15)


def test_observables_are_the_x_logicals_then_the_z_logicals():
    circuit = capacity_circuit(FOUR_QUBITS, 0.1)
    assert (circuit.num_detectors, circuit.num_observables) == (2, 4)
    assert circuit.get_detector_coordinates() == {0: [0, 0, 0], 1: [0, 1, 0]}


@pytest.mark.parametrize("p", [0.0, 0.7])
def test_p_outside_the_range_is_refused(p):
    with pytest.raises(ValueError, match=r"p must lie in \(0, 0.5\]: got"):
        capacity_circuit(FOUR_QUBITS, p)
