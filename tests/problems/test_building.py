import dataclasses

import numpy as np
import pytest
import stim
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from exact_distribution import distribution, distribution_of
from tiny_models import NUM_DETECTORS, NUM_LOGICALS, dem_text
from tiny_models import faults as random_faults
from unmasq.circuits import NoiseModel
from unmasq.codes import css_code, get_code
from unmasq.problems.building import (
    circuit_from_code,
    problem_from_circuit,
    problem_from_code,
    problem_from_dem,
    problem_from_matrices,
)
from unmasq.problems.stim_faults import faults_of_dem


def surface_code(distance=3, rounds=3, kind="surface_code:rotated_memory_z", **noise):
    rates = noise or {
        "after_clifford_depolarization": 0.01,
        "before_measure_flip_probability": 0.02,
    }
    return stim.Circuit.generated(kind, distance=distance, rounds=rounds, **rates)


def stim_priors(problem, circuit):
    """Stim's priors of the circuit in the problem's column order."""
    faults = faults_of_dem(circuit.detector_error_model())
    assert set(faults) == set(problem.faults())
    return np.array([faults[key] for key in problem.faults()])


# Exact distributions.


@given(random_faults)
def test_a_problem_has_the_distribution_of_its_error_model(found):
    problem = problem_from_dem(stim.DetectorErrorModel(dem_text(found)))
    expected = distribution(found, NUM_DETECTORS, NUM_LOGICALS)
    np.testing.assert_allclose(distribution_of(problem), expected, rtol=0, atol=1e-14)


@given(random_faults, st.booleans())
def test_a_problem_has_the_distribution_of_its_matrices(found, is_sparse):
    h, lo = np.zeros((NUM_DETECTORS, len(found))), np.zeros((NUM_LOGICALS, len(found)))
    for j, (detectors, logicals, _) in enumerate(found):
        np.add.at(h[:, j], detectors, 1)
        np.add.at(lo[:, j], logicals, 1)
    convert = sparse.coo_array if is_sparse else np.asarray
    problem = problem_from_matrices(convert(h % 2), convert(lo % 2), [p for *_, p in found])
    expected = distribution(found, NUM_DETECTORS, NUM_LOGICALS)
    np.testing.assert_allclose(distribution_of(problem), expected, rtol=0, atol=1e-14)


def test_a_problem_has_the_distribution_of_its_circuit():
    """A repetition code's one round, by all combinations of its three flips and two readouts."""
    circuit = stim.Circuit("""
        X_ERROR(0.1) 0 1 2
        CX 0 3 1 3 1 4 2 4
        M(0.05) 3 4
        M 0 1 2
        DETECTOR rec[-5]
        DETECTOR rec[-4]
        DETECTOR rec[-3] rec[-2] rec[-5]
        DETECTOR rec[-2] rec[-1] rec[-4]
        OBSERVABLE_INCLUDE(0) rec[-1]
    """)
    faults = [
        ([0], [], 0.1),
        ([0, 1], [], 0.1),
        ([1], [0], 0.1),
        ([0, 2], [], 0.05),
        ([1, 3], [], 0.05),
    ]
    problem = problem_from_circuit(circuit)
    np.testing.assert_allclose(
        distribution_of(problem), distribution(faults, 4, 1), rtol=0, atol=1e-15
    )


# Priors at any rate, against Stim.


@pytest.mark.parametrize("basis", ["X", "Z"])
@pytest.mark.parametrize("p", [1e-5, 0.003, 0.05, 0.5])
def test_uniform_circuit_noise_has_stims_priors_at_every_p(basis, p):
    code = get_code("bb18")
    problem = problem_from_code(code, "circuit", 0.006, rounds=3, basis=basis).at(p)
    expected = stim_priors(problem, circuit_from_code(code, "circuit", p, 3, basis))
    np.testing.assert_allclose(problem.priors, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [0.1, 0.7, 3.0])
def test_rates_set_apart_have_stims_priors_at_every_scale(scale):
    code = get_code("bb18")
    rates = NoiseModel(two_qubit=0.01, idle=0.001, preparation=0.004, measurement=0.02)
    problem = problem_from_code(code, rates, rounds=2)
    assert problem.p == 0.02
    scaled = NoiseModel(*(scale * rate for rate in dataclasses.astuple(rates)))
    other = problem.at(scale * 0.02)
    expected = stim_priors(other, circuit_from_code(code, scaled, rounds=2))
    np.testing.assert_allclose(other.priors, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("p", [0.001, 0.1, 0.5])
def test_code_capacity_has_stims_priors_at_every_p(p):
    code = get_code("bb36")
    problem = problem_from_code(code, "code-capacity", 0.01).at(p)
    expected = stim_priors(problem, circuit_from_code(code, "code-capacity", p))
    np.testing.assert_allclose(problem.priors, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("p", [0.002, 0.02, 0.2])
def test_stims_surface_code_has_stims_priors_at_every_p(p):
    noise = ("after_clifford_depolarization", "before_round_data_depolarization")
    problem = problem_from_circuit(surface_code(**dict.fromkeys(noise, 0.01))).at(p)
    expected = stim_priors(problem, surface_code(**dict.fromkeys(noise, p)))
    np.testing.assert_allclose(problem.priors, expected, rtol=0, atol=1e-12)


def test_general_pauli_channels_are_known_at_one_rate_only():
    circuit = stim.Circuit("""
        R 0
        PAULI_CHANNEL_1(0.01, 0.02, 0.03) 0
        M 0
        DETECTOR rec[-1]
        OBSERVABLE_INCLUDE(0) rec[-1]
    """)
    problem = problem_from_circuit(circuit, name="pauli")
    assert problem.channels is None
    assert problem.p == 0.03
    assert problem.at(0.03) is problem
    with pytest.raises(ValueError, match="the only rate at which the priors of 'pauli' are known"):
        problem.at(0.01)


# What a problem from a code says of itself.


def test_circuit_noise_of_a_code():
    problem = problem_from_code(get_code("bb18"), "circuit", 0.006, basis="Z")
    assert (problem.name, problem.code, problem.noise, problem.basis) == (
        "bb18", "bb18", "circuit", "Z",
    )  # fmt: skip
    assert problem.num_rounds == 4  # the distance
    assert (problem.layout.grid() >= 0).all()
    assert problem.layout.check_type.tolist() == [0] * 9 + [1] * 9
    assert problem.symmetry is get_code("bb18").symmetries["Z"]


def test_code_capacity_of_a_code():
    problem = problem_from_code(get_code("bb18"), "code-capacity", 0.01)
    assert (problem.noise, problem.basis, problem.num_rounds) == ("code-capacity", "XZ", 0)
    assert (problem.num_detectors, problem.num_faults, problem.num_logicals) == (18, 54, 8)
    assert problem.symmetry is get_code("bb18").symmetries["XZ"]


def test_only_codes_that_can_be_had_by_name_are_named():
    code = css_code([[1, 1, 1, 1]], [[1, 1, 1, 1]], "422")
    problem = problem_from_code(code, "code-capacity", 0.01)
    assert (problem.name, problem.code, problem.symmetry) == ("422", None, None)


def test_a_circuit_read_back_is_the_same_problem():
    """Also through Stim's text, whose numbers have fewer digits."""
    problem = problem_from_code(get_code("bb18"), "circuit", 0.006, rounds=2)
    circuit = circuit_from_code(get_code("bb18"), "circuit", 0.006, rounds=2)
    again = problem_from_circuit(stim.Circuit(str(circuit)))
    assert again.structure_id == problem.structure_id
    assert again.priors_id == problem.priors_id
    np.testing.assert_array_equal(again.layout.grid(), problem.layout.grid())
    from_dem = problem_from_dem(circuit.detector_error_model(), rounds=2)
    assert from_dem.structure_id == problem.structure_id


def test_loops_are_the_same_as_their_flattened_circuit():
    circuit = surface_code(rounds=20)
    flat = problem_from_circuit(circuit.flattened())
    looped = problem_from_circuit(circuit)
    assert looped.structure_id == flat.structure_id
    np.testing.assert_allclose(looped.priors, flat.priors, rtol=0, atol=1e-14)


# Frames.


@pytest.mark.parametrize("kind", ["rotated_memory_z", "rotated_memory_x", "unrotated_memory_z"])
def test_ragged_frames_of_stims_surface_code_come_from_the_coordinates(kind):
    circuit = surface_code(rounds=3, kind=f"surface_code:{kind}")
    problem = problem_from_circuit(circuit, name=kind)
    layout = problem.layout
    sizes = np.bincount(layout.frame).tolist()
    checks = {"rotated_memory_z": 8, "rotated_memory_x": 8, "unrotated_memory_z": 12}[kind]
    assert sizes == [checks // 2, checks, checks, checks // 2]
    assert layout.num_checks == checks
    assert (layout.grid() < 0).any()
    for detector, (*place, time) in circuit.get_detector_coordinates().items():
        assert layout.frame[detector] == time
        alike = [d for d, c in circuit.get_detector_coordinates().items() if c[:-1] == place]
        assert set(layout.check[alike]) == {layout.check[detector]}
    assert problem.num_detectors == circuit.num_detectors


def test_given_rounds_cut_the_detectors_into_equal_frames():
    problem = problem_from_circuit(surface_code(rounds=3), rounds=2)
    assert (problem.layout.grid() >= 0).all()
    assert (problem.layout.num_frames, problem.layout.num_checks, problem.num_rounds) == (3, 8, 2)


def test_one_single_frame_on_request():
    problem = problem_from_circuit(surface_code(rounds=3), single_frame=True)
    assert (problem.layout.num_frames, problem.layout.num_checks) == (1, 24)


def without_coordinates(circuit):
    kept = stim.Circuit()
    for instruction in circuit.flattened():
        targets = instruction.targets_copy()
        is_detector = instruction.name == "DETECTOR"
        kept.append(instruction.name, targets, [] if is_detector else instruction.gate_args_copy())
    return kept


def test_detectors_without_coordinates_make_one_single_frame():
    problem = problem_from_circuit(without_coordinates(surface_code(rounds=3)))
    assert (problem.layout.num_frames, problem.layout.num_checks) == (1, 24)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 4}, "must divide the 24 detectors: got 5"),
        ({"rounds": 0}, "rounds must be at least 1: got 0"),
        ({"rounds": -3}, "rounds must be at least 1: got -3"),
        ({"rounds": 2, "single_frame": True}, "must not be asked for together"),
    ],
)
def test_frames_that_cannot_be_are_refused(options, message):
    circuit = surface_code(rounds=3)
    for build, source in (
        (problem_from_circuit, circuit),
        (problem_from_dem, circuit.detector_error_model()),
    ):
        with pytest.raises(ValueError) as error:
            build(source, **options)
        assert message in str(error.value)


def test_two_detectors_at_one_place_and_time_are_refused():
    dem = stim.DetectorErrorModel("error(0.1) D0 D1 L0\ndetector(1, 2) D0\ndetector(1, 2) D1")
    with pytest.raises(ValueError, match="two detectors at one place and time"):
        problem_from_dem(dem)
    assert problem_from_dem(dem, single_frame=True).num_detectors == 2


def test_a_model_without_detectors_is_still_a_problem():
    problem = problem_from_dem(stim.DetectorErrorModel("error(0.1) L0"))
    assert (problem.num_detectors, problem.num_faults) == (0, 1)


def test_a_model_without_errors_is_still_a_problem():
    problem = problem_from_dem(stim.DetectorErrorModel("detector D2\nlogical_observable L0"))
    assert (problem.num_detectors, problem.num_faults, problem.num_logicals) == (3, 0, 1)


# Bad input.


def refusal(build, *arguments, **options):
    """The message of the ValueError, which has one line."""
    with pytest.raises(ValueError) as error:
        build(*arguments, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("error(0.1) D0", "must have at least one logical observable: got none"),
        ("error(0.7) D0 L0", "priors must lie in (0, 0.5]: got priors[0] = 0.7"),
    ],
)
def test_bad_error_models_are_refused(text, message):
    assert message in refusal(problem_from_dem, stim.DetectorErrorModel(text))


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        ("", "circuit must have noise that flips detectors: got none in 'circuit'"),
        ("X_ERROR(1) 0", "priors must lie in (0, 0.5]: got priors[0] = 1.0"),
        ("X_ERROR(0.1) 0\nRX 0", "deterministic without noise"),
    ],
)
def test_bad_circuits_are_refused(noise, message):
    text = f"{noise}\nM 0\nDETECTOR rec[-1]\nOBSERVABLE_INCLUDE(0) rec[-1]"
    assert message in refusal(problem_from_circuit, stim.Circuit(text))


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        ("bb18", ("circuit",), "p must be given"),
        ("bb18", ("circuit", 0.7), "p must lie in (0, 0.5]: got 0.7"),
        ("bb18", ("code-capacity", 0.0), "p must lie in (0, 0.5]: got 0.0"),
        ("bb18", ("gaussian", 0.1), "noise must be circuit or code-capacity: got 'gaussian'"),
        ("bb18", (NoiseModel.uniform(0.1), 0.1), "p must be left out where noise holds the rates"),
        ("bb18", ("circuit", 0.1, 0), "rounds must be at least 1: got 0"),
        ("bb:3,3,1+x+y,1+x2+y2", ("circuit", 0.1), "rounds must be given: the distance"),
    ],
)
def test_bad_noise_of_a_code_is_refused(code, arguments, message):
    assert message in refusal(problem_from_code, get_code(code), *arguments)


def test_a_code_without_logical_qubits_makes_no_problem():
    code = css_code([[1, 1]], [[1, 1]])
    assert "at least one logical" in refusal(problem_from_code, code, "code-capacity", 0.1)


@pytest.mark.parametrize(
    ("check_matrix", "logical_matrix", "priors", "frames", "message"),
    [
        ([[1, 2]], [[0, 1]], [0.1, 0.1], 1, "got check_matrix[0, 1] = 2"),
        ([[1, 1]], [[0, 0.5]], [0.1, 0.1], 1, "got logical_matrix[0, 1] = 0.5"),
        (sparse.csr_array([[1, 3]]), [[0, 1]], [0.1, 0.1], 1, "only 0 and 1: got 3"),
        ([[1, 1]], [[0, 1]], [0.1, 0.6], 1, "priors must lie in (0, 0.5]: got priors[1] = 0.6"),
        ([[1, 1]], [[0, 1]], [0.1], 1, "one column for each fault: got 2 and 2 columns"),
        ([[1, 1]], [[0]], [0.1, 0.1], 1, "one column for each fault: got 2 and 1 columns"),
        ([[1, 1]], [[0, 1]], [0.1, 0.1], 2, "must divide the 1 detectors: got 2"),
        ([[1, 1]], [[0, 1]], [0.1, 0.1], 0, "must divide the 1 detectors: got 0"),
    ],
)
def test_bad_matrices_are_refused(check_matrix, logical_matrix, priors, frames, message):
    matrices = (check_matrix, logical_matrix, priors)
    assert message in refusal(problem_from_matrices, *matrices, frames=frames)
