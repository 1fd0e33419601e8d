"""One problem says what every number of rounds looks like, exactly as Stim would build it."""

import dataclasses

import numpy as np
import pytest
import stim

from unmasq.codes import get_code
from unmasq.problems.building import problem_from_circuit, problem_from_code, problem_from_dem
from unmasq.problems.rounds import rounds_id, with_rounds


def bicycle(rounds, basis="X", code="bb18"):
    return problem_from_code(get_code(code), "circuit", 0.003, rounds=rounds, basis=basis)


def surface_circuit(rounds, distance=3, task="rotated_memory_z"):
    """Its first and last frames lack half of the checks."""
    return stim.Circuit.generated(
        f"surface_code:{task}",
        distance=distance,
        rounds=rounds,
        after_clifford_depolarization=0.01,
        before_measure_flip_probability=0.02,
    )


def surface(rounds, **others):
    return problem_from_circuit(surface_circuit(rounds, **others))


def bare(rounds):
    """Priors without channels."""
    return problem_from_dem(surface_circuit(rounds).detector_error_model())


def assert_same(found, expected):
    assert found.structure_id == expected.structure_id
    np.testing.assert_allclose(found.priors, expected.priors, rtol=0, atol=1e-12)
    for name in ("frame", "check", "check_type"):
        np.testing.assert_array_equal(getattr(found.layout, name), getattr(expected.layout, name))
    assert found.num_rounds == expected.num_rounds


@pytest.mark.parametrize("basis", ["X", "Z"])
@pytest.mark.parametrize("source", [3, 4])
def test_a_bicycle_experiment_of_any_length_follows_from_another(basis, source):
    for rounds in (1, 2, 3, 5):
        expected = bicycle(rounds, basis)
        found = with_rounds(bicycle(source, basis), rounds)
        assert_same(found, expected)
        np.testing.assert_allclose(found.at(0.01).priors, expected.at(0.01).priors, atol=1e-12)


@pytest.mark.parametrize("make", [surface, bare])
def test_so_does_one_whose_first_and_last_frames_lack_checks(make):
    for rounds in (3, 4, 7):
        assert_same(with_rounds(make(5), rounds), make(rounds))


def test_its_own_number_of_rounds_is_the_problem_itself():
    problem = bicycle(2)
    assert with_rounds(problem, 2) is problem


def test_symmetry_and_channels_come_along():
    problem = bicycle(3)
    found = with_rounds(problem, 4)
    assert found.symmetry is problem.symmetry
    assert found.channels.kinds == problem.channels.kinds


@pytest.mark.parametrize("make", [bicycle, surface, bare])
def test_the_identity_does_not_depend_on_the_rounds(make):
    assert len({rounds_id(make(rounds)) for rounds in (5, 6, 8)}) == 1


def test_the_identity_leaves_rates_and_check_types_out():
    problem = bicycle(3)
    assert rounds_id(problem.at(0.02)) == rounds_id(problem)
    typeless = dataclasses.replace(problem.layout, check_type=np.zeros(18, np.int32))
    assert rounds_id(dataclasses.replace(problem, layout=typeless, symmetry=None)) == rounds_id(
        problem
    )


def test_another_experiment_has_another_identity():
    problems = [
        bicycle(3),
        bicycle(3, "Z"),
        bicycle(3, code="bb36"),
        surface(5),
        surface(5, task="rotated_memory_x"),
        surface(5, distance=5),
    ]
    assert len({rounds_id(problem) for problem in problems}) == len(problems)


def test_noise_that_changes_with_time_has_an_identity_but_no_other_lengths():
    """The structure repeats; what the rates would be in more rounds nobody knows."""
    problem = bicycle(4)
    late = problem.layout.frame[[detectors[0] for detectors, _ in problem.faults()]] == 2
    priors = np.where(late, 0.5 * problem.priors, problem.priors)
    changing = dataclasses.replace(problem, priors=priors, channels=None)
    assert rounds_id(changing) == rounds_id(problem)
    with pytest.raises(ValueError, match="must repeat a frame"):
        with_rounds(changing, 6)


@pytest.mark.parametrize("use", [rounds_id, lambda problem: with_rounds(problem, 4)])
def test_too_few_rounds_show_nothing_repeated(use):
    with pytest.raises(
        ValueError, match="'bb18' must repeat a frame .*: got 3 frames.*more rounds"
    ):
        use(bicycle(2))


def test_what_cannot_be_shortened_is_refused():
    with pytest.raises(ValueError, match="rounds must be at least 1: got 0"):
        with_rounds(bicycle(3), 0)
    with pytest.raises(ValueError, match=r"rounds must be at least 3 .* last 2 frames .*: got 2"):
        with_rounds(surface(5), 2)


def test_a_fault_that_no_detector_sees_is_refused():
    circuit = stim.Circuit("""
        R 0 1
        X_ERROR(0.1) 0 1
        M 0 1
        DETECTOR(0, 0) rec[-2]
        OBSERVABLE_INCLUDE(0) rec[-1]
    """)
    with pytest.raises(ValueError, match="must show every fault to some detector"):
        with_rounds(problem_from_circuit(circuit), 3)
