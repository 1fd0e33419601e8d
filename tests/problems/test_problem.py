import dataclasses

import numpy as np
import pytest
import stim
from hypothesis import given
from scipy import sparse

from exact_distribution import distribution, distribution_of
from tiny_models import NUM_DETECTORS, NUM_LOGICALS, dem_text
from tiny_models import faults as random_faults
from unmasq.codes import get_code
from unmasq.problems.building import problem_from_code, problem_from_dem, problem_from_matrices
from unmasq.problems.faults import Channels
from unmasq.problems.problem import DecodingProblem, Layout


def tiny(text="error(0.1) D0 L0\nerror(0.2) D0 D1\nerror(0.3) D1"):
    return problem_from_dem(stim.DetectorErrorModel(text), name="tiny")


def with_types(problem, types):
    """The same problem with one check for each detector, of the given types."""
    sites = np.arange(problem.num_detectors, dtype=np.int32)
    layout = Layout(np.zeros_like(sites), sites, np.array(types, np.int32), 1)
    return dataclasses.replace(problem, layout=layout)


# Identity.


def test_structure_id_ignores_the_order_of_lines_and_the_priors():
    text = ["error(0.1) D0 L0", "error(0.2) D0 D1", "error(0.3) D1", "error(0.1) D0"]
    first = tiny("\n".join(text))
    permuted = tiny("\n".join(text[::-1]))
    np.testing.assert_array_equal(first.check_matrix.toarray(), permuted.check_matrix.toarray())
    np.testing.assert_array_equal(first.priors, permuted.priors)
    assert first.structure_id == permuted.structure_id
    assert first.priors_id == permuted.priors_id
    other_priors = tiny("\n".join(text).replace("0.3", "0.25"))
    assert other_priors.structure_id == first.structure_id
    assert other_priors.priors_id != first.priors_id


def test_structure_id_ignores_the_layout():
    text = "error(0.1) D0 D1 L0\nerror(0.1) D2 D3"
    dem = stim.DetectorErrorModel(text)
    assert (
        problem_from_dem(dem, rounds=1).structure_id
        == problem_from_dem(dem, single_frame=True).structure_id
    )


@pytest.mark.parametrize(
    "other",
    [
        "error(0.1) D0 L0\nerror(0.2) D0 D1 L0\nerror(0.3) D1",
        "error(0.1) D0 L0\nerror(0.2) D0 D1\nerror(0.3) D1\ndetector D2",
        "error(0.1) D0 L0\nerror(0.2) D0 D1\nerror(0.3) D1\nlogical_observable L1",
        "error(0.1) D0 L0\nerror(0.2) D0 D1",
        "error(0.1) D1 L0\nerror(0.2) D0 D1\nerror(0.3) D0",
    ],
)
def test_structure_id_sees_every_change_of_h_and_l(other):
    assert tiny(other).structure_id != tiny().structure_id


def test_ids_are_the_same_wherever_they_are_computed():
    """Stored, so that trained weights are not orphaned by accident."""
    assert tiny().structure_id == "3a73c940db5300c1"
    assert tiny().priors_id == "92f896d05e8992d9"


def test_thresholds_are_the_priors_in_units_of_two_to_the_minus_32():
    problem = problem_from_matrices(np.eye(3), np.ones((1, 3)), [0.5, 0.25, 2.0**-32])
    assert problem.thresholds().tolist() == [2**31, 2**30, 1]


# Priors at another p.


def test_at_its_own_p_a_problem_is_itself():
    assert tiny().at(0.3).p == 0.3


def test_another_p_without_channels_is_refused():
    with pytest.raises(ValueError, match="p must be 0.3, the only rate at which the priors of"):
        tiny().at(0.2)


@pytest.mark.parametrize("p", [0.0, 0.51, -1.0])
def test_p_outside_the_range_is_refused(p):
    for problem in (problem_from_code(get_code("bb18"), "code-capacity", 0.01), tiny()):
        with pytest.raises(ValueError, match=r"p must lie in \(0, 0.5\]: got"):
            problem.at(p)


def test_another_p_changes_the_priors_and_nothing_else():
    problem = problem_from_code(get_code("bb18"), "circuit", 0.006, rounds=2)
    other = problem.at(0.003)
    assert other.p == 0.003
    assert other.structure_id == problem.structure_id
    assert other.priors_id != problem.priors_id
    assert (other.priors < problem.priors).all()
    assert other.symmetry is problem.symmetry


# Detectors of one type.


@given(random_faults)
def test_restriction_keeps_the_distribution_of_what_it_sees(found):
    problem = with_types(problem_from_dem(stim.DetectorErrorModel(dem_text(found))), [0, 1, 1, 0])
    rows, seen = problem.restricted_to_type(1)
    assert rows.tolist() == [1, 2]
    expected = distribution(
        [([d - 1 for d in ds if d in (1, 2)], ks, p) for ds, ks, p in found], 2, NUM_LOGICALS
    )
    np.testing.assert_allclose(distribution_of(seen), expected, rtol=0, atol=1e-14)
    assert len(set(seen.faults())) == seen.num_faults
    assert ((), ()) not in seen.faults()
    assert problem.num_detectors == NUM_DETECTORS


@pytest.mark.parametrize("basis", ["X", "Z"])
@pytest.mark.parametrize("check_type", [0, 1])
def test_restriction_and_another_p_commute(basis, check_type):
    problem = problem_from_code(get_code("bb18"), "circuit", 0.006, rounds=2, basis=basis)
    first = problem.restricted_to_type(check_type)[1].at(0.002)
    second = problem.at(0.002).restricted_to_type(check_type)[1]
    assert first.structure_id == second.structure_id
    np.testing.assert_allclose(first.priors, second.priors, rtol=0, atol=1e-15)


def test_restriction_keeps_the_frames():
    problem = problem_from_code(get_code("bb18"), "circuit", 0.006, rounds=2)
    rows, seen = problem.restricted_to_type(1)
    assert (seen.layout.num_checks, seen.layout.num_frames) == (9, 3)
    assert (seen.layout.grid() >= 0).all()
    np.testing.assert_array_equal(problem.layout.frame[rows], seen.layout.frame)
    np.testing.assert_array_equal(problem.layout.check[rows] - 9, seen.layout.check)


def test_restriction_to_a_type_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="check_type must occur in the layout: got 1"):
        tiny().restricted_to_type(1)


# Layout.


def test_layout_of_full_frames():
    layout = Layout(
        np.array([0, 0, 1, 1], np.int32),
        np.array([0, 1, 0, 1], np.int32),
        np.array([0, 1], np.int32),
        2,
    )
    assert layout.num_checks == 2
    np.testing.assert_array_equal(layout.grid(), [[0, 1], [2, 3]])


def test_layout_of_ragged_frames_marks_the_gaps():
    layout = Layout(
        np.array([1, 0, 1], np.int32), np.array([0, 1, 1], np.int32), np.zeros(2, np.int32), 2
    )
    np.testing.assert_array_equal(layout.grid(), [[-1, 1], [0, 2]])


@pytest.mark.parametrize(
    ("frame", "check", "message"),
    [
        ([0, 0], [1, 1], "a place of its own: got one twice"),
        ([0, 2], [0, 1], "frame must lie in 0..1: got frame[1] = 2"),
        ([0, 1], [0, -1], "check must lie in 0..1: got check[1] = -1"),
        ([0], [0, 1], "equal lengths: got 1 and 2"),
    ],
)
def test_bad_layouts_are_refused(frame, check, message):
    with pytest.raises(ValueError) as error:
        Layout(np.array(frame, np.int32), np.array(check, np.int32), np.zeros(2, np.int32), 2)
    assert message in str(error.value)


# What cannot be a problem.


def columns(rows):
    return sparse.csc_array(np.array(rows, np.uint8))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"p": 0.0}, "p must lie in (0, 0.5]: got 0.0"),
        ({"logical_matrix": columns([[0, 0]])}, "one column for each fault: got 3 and 2"),
        (
            {"logical_matrix": columns(np.zeros((0, 3)))},
            "at least one logical observable: got none",
        ),
        ({"priors": np.array([0.1, 0.2])}, "priors must have shape (3,): got (2,)"),
        ({"priors": np.array([0.1, 0.0, 0.2])}, "priors must lie in (0, 0.5]: got priors[1] = 0.0"),
        ({"priors": np.array([0.1, 0.2, 0.7])}, "priors must lie in (0, 0.5]: got priors[2] = 0.7"),
        ({"priors": np.array([0.1, np.nan, 0.2])}, "got priors[1] = nan"),
        (
            {
                "layout": Layout(
                    np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32), 1
                )
            },
            "layout must place the 2 detectors: got 1",
        ),
        (
            {"channels": Channels(("flip",), (1.0,), np.ones((2, 1), np.int16))},
            "channels must count for each of the 3 faults: got 2",
        ),
        (
            {"symmetry": get_code("bb18").symmetries["X"]},
            "symmetry must act on 2 checks and 1 logicals: got 18 and 4",
        ),
        (
            {"check_matrix": columns([[1, 0, 1], [1, 1, 0]])},
            "sorted by detectors, then logicals: got column 2 out of order",
        ),
        (
            {
                "check_matrix": columns([[1, 1, 0], [0, 0, 1]]),
                "logical_matrix": columns([[0, 0, 0]]),
            },
            "distinct and sorted by detectors, then logicals: got column 1",
        ),
    ],
)
def test_a_wrong_problem_cannot_be_built(changes, message):
    with pytest.raises(ValueError) as error:
        dataclasses.replace(tiny(), **changes)
    assert message in str(error.value)


def test_faults_are_the_columns():
    problem = tiny()
    assert isinstance(problem, DecodingProblem)
    assert problem.faults() == [((0,), (0,)), ((0, 1), ()), ((1,), ())]
    np.testing.assert_array_equal(problem.check_matrix.toarray(), [[1, 1, 0], [0, 1, 1]])
    np.testing.assert_array_equal(problem.logical_matrix.toarray(), [[1, 0, 0]])
    assert problem.priors.tolist() == [0.1, 0.2, 0.3]
    assert (problem.num_rounds, problem.p) == (0, 0.3)


def test_problems_of_bicycle_codes_know_their_tanner_graph():
    circuit = problem_from_code(get_code("bb18"), "circuit", 0.006, 2, "Z")
    assert circuit.tanner.num_relations == 12
    capacity = problem_from_code(get_code("bb18"), "code-capacity", 0.01)
    assert capacity.tanner.num_relations == 6  # X and Z checks are alike
    assert dataclasses.replace(circuit, tanner=None).structure_id == circuit.structure_id
    two_terms = problem_from_code(get_code("bb:3,3,1+x,1+y"), "code-capacity", 0.01)
    assert two_terms.tanner.num_relations == 4


def test_a_tanner_graph_of_another_code_is_refused():
    problem = problem_from_code(get_code("bb18"), "circuit", 0.006, 1)
    with pytest.raises(ValueError, match="tanner must have the layout's 18 checks: got 36"):
        dataclasses.replace(problem, tanner=get_code("bb36").schedule.tanner_graph())
