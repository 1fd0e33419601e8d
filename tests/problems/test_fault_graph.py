"""The graph of faults for belief propagation: the right faults, in slots that mean the same."""

import dataclasses

import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.problems.building import problem_from_code
from unmasq.problems.fault_graph import fault_graph
from unmasq.problems.rounds import with_rounds


@pytest.fixture(scope="module", params=["X", "Z"])
def problem(request):
    return problem_from_code(get_code("bb18"), "circuit", 0.003, 3, request.param)


@pytest.fixture(scope="module")
def graph(problem):
    return fault_graph(problem, problem.symmetry)


def _offsets(graph, frame, place, fault):
    """Where else this fault is seen, from here."""
    frames, places, _ = np.nonzero(graph.around == fault)
    return sorted(zip(frames - frame, graph.sites[places], strict=True))


def test_each_detector_has_the_faults_that_flip_it(problem, graph):
    kind = "XZ".index(problem.basis)
    _, seen = problem.restricted_to_type(kind)
    np.testing.assert_array_equal(problem.layout.check_type[graph.sites], kind)
    matrix = seen.check_matrix.toarray()
    for detector, (frame, place) in enumerate(
        zip(seen.layout.frame, seen.layout.check, strict=True)
    ):
        around = graph.around[frame, place]
        assert sorted(around[around >= 0]) == np.flatnonzero(matrix[detector]).tolist()
    np.testing.assert_array_equal(graph.logicals, seen.logical_matrix.toarray())
    np.testing.assert_allclose(graph.odds, np.log(1 / seen.priors - 1), rtol=1e-5)


def test_a_translation_takes_slots_to_slots(problem, graph):
    place_of = {site: place for place, site in enumerate(graph.sites)}
    for images in problem.symmetry.check_images[1:]:
        moved = [place_of[images[site]] for site in graph.sites]
        for frame, place, slot in np.argwhere(graph.around >= 0)[::7]:
            here = _offsets(graph, frame, place, graph.around[frame, place, slot])
            there = _offsets(graph, frame, moved[place], graph.around[frame, moved[place], slot])
            assert sorted((step, images[site]) for step, site in here) == there


def test_a_slot_holds_the_same_fault_in_every_frame(graph):
    for place, slot in np.ndindex(graph.around.shape[1:]):
        faults = graph.around[:, place, slot]
        found = [
            _offsets(graph, frame, place, faults[frame]) for frame in np.flatnonzero(faults >= 0)
        ]
        assert found
        assert all(other == found[0] for other in found)


def test_slots_mean_the_same_with_any_number_of_rounds(problem, graph):
    longer = with_rounds(problem, 5)
    other = fault_graph(longer, problem.symmetry, graph)
    np.testing.assert_array_equal(other.signatures, graph.signatures)
    for frame, place, slot in np.argwhere(graph.around[:2] >= 0):
        assert _offsets(graph, frame, place, graph.around[frame, place, slot]) == _offsets(
            other, frame, place, other.around[frame, place, slot]
        )
    short = fault_graph(with_rounds(problem, 1), problem.symmetry, graph)
    assert short.num_named == graph.num_named <= short.around.shape[2]
    fresh = fault_graph(with_rounds(problem, 1), problem.symmetry)
    assert (short.around >= 0).sum() == (fresh.around >= 0).sum()


def test_what_has_no_such_graph_is_refused(problem):
    with pytest.raises(ValueError, match="without a known symmetry"):
        fault_graph(problem, None)
    with pytest.raises(ValueError, match="got basis XZ"):
        fault_graph(dataclasses.replace(problem, basis="XZ"), problem.symmetry)


@pytest.mark.parametrize("name", ["around", "logicals", "odds", "signatures"])
def test_a_graph_of_the_wrong_shape_is_refused(graph, name):
    array = getattr(graph, name)
    shorter = array[:, :-1] if name in ("around", "logicals") else array[:-1]
    with pytest.raises(ValueError, match="Its file was altered"):
        dataclasses.replace(graph, **{name: shorter})
