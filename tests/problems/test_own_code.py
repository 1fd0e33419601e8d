"""Problems of codes given as matrices: symmetry, relations, schedules."""

import logging

import numpy as np
import pytest

from small_codes import random_product, toric
from unmasq.codes import css_code
from unmasq.codes.schedule import Schedule
from unmasq.problems.building import problem_from_code
from unmasq.problems.translates import translates_of


@pytest.mark.parametrize(
    ("noise", "basis"), [("circuit", "X"), ("circuit", "Z"), ("code-capacity", "X")]
)
def test_a_toric_code_has_its_torus(noise, basis):
    problem = problem_from_code(
        css_code(*toric(3, 3), "mine"), noise, 0.004, None if noise == "code-capacity" else 2, basis
    )
    assert (problem.name, problem.code, problem.symmetry.order) == ("mine", None, 9)
    assert problem.tanner.num_relations == 8
    layout, faults = problem.layout, dict(zip(problem.faults(), problem.priors, strict=True))
    by_detectors = {detectors: prior for (detectors, _), prior in faults.items()}
    grid = layout.grid()
    for images in problem.symmetry.check_images:
        moved = grid[layout.frame, images[layout.check]]
        for detectors, prior in by_detectors.items():
            image = tuple(sorted(moved[list(detectors)].tolist()))
            assert by_detectors[image] == pytest.approx(prior, rel=1e-9)
    assert np.array_equal(translates_of(problem).logical_maps[0], np.eye(problem.num_logicals))


def test_a_code_without_symmetry_has_relations_by_type_and_tick():
    code = css_code(*random_product())
    problem = problem_from_code(code, "circuit", 0.004, 1, "X")
    assert problem.symmetry is None
    assert problem.tanner.names == code.schedule.tanner_graph().names


def test_another_schedule_is_another_problem_without_a_name():
    code = css_code(*toric(3, 3), known=True)
    own = Schedule(code.schedule.x, np.where(code.schedule.z, code.schedule.z + 4, 0))
    usual = problem_from_code(code, "circuit", 0.004, 1, "X")
    other = problem_from_code(code, "circuit", 0.004, 1, "X", own)
    assert (usual.code, other.code) == ("css", None)
    assert other.structure_id != usual.structure_id
    assert set(other.tanner.names) == {f"X{t}" for t in range(1, 5)} | {
        f"Z{t}" for t in range(5, 9)
    }
    with pytest.raises(ValueError, match="schedule must go with circuit noise"):
        problem_from_code(code, "code-capacity", 0.004, schedule=own)


def test_a_code_of_distance_two_is_decoded_without_its_symmetry(caplog):
    """Its faults differ in their logicals alone: nothing tells where a translation takes them."""
    with caplog.at_level(logging.WARNING, "unmasq"):
        problem = problem_from_code(css_code(*toric(2, 2)), "code-capacity", 0.01)
    assert (problem.symmetry, problem.tanner.num_relations) == (None, 8)
    assert "the code's symmetry is not used: symmetry must be one of problem 'css'" in caplog.text
