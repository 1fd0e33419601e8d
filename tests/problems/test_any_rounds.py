"""One experiment is recognised at every number of rounds, and nothing else is."""

import dataclasses
import functools

import numpy as np
import pytest
import stim

from unmasq.circuits import NoiseModel
from unmasq.codes import get_code
from unmasq.problems.any_rounds import AnyRounds
from unmasq.problems.building import problem_from_circuit, problem_from_code, problem_from_dem


@functools.cache
def bicycle(rounds, basis="X", code="bb18", noise="circuit"):
    p = 0.003 if isinstance(noise, str) else None
    return problem_from_code(get_code(code), noise, p, rounds=rounds, basis=basis)


def stims(task, rounds, distance=3):
    return stim.Circuit.generated(
        task, distance=distance, rounds=rounds, after_clifford_depolarization=0.01,
        before_measure_flip_probability=0.02, before_round_data_depolarization=0.01,
    )  # fmt: skip


def surface(rounds, task="surface_code:rotated_memory_z", distance=3):
    return problem_from_circuit(stims(task, rounds, distance))


@pytest.mark.parametrize("basis", ["X", "Z"])
@pytest.mark.parametrize("source", [3, 4, 6])
def test_a_bicycle_memory_is_known_at_every_number_of_rounds(basis, source):
    known = AnyRounds.of(bicycle(source, basis))
    assert known == AnyRounds.of(bicycle(5, basis))
    for rounds in range(1, 7):
        problem = bicycle(rounds, basis)
        assert known.frames_of(problem).num_frames == rounds + 1
        assert known.frames_of(problem.at(0.02)) is not None


def test_too_few_rounds_say_nothing_of_the_others():
    assert AnyRounds.of(bicycle(1)) is AnyRounds.of(bicycle(2)) is None
    assert len(AnyRounds.of(bicycle(3)).short) == 2  # one and two rounds


def test_an_error_model_without_coordinates_is_known_too():
    known = AnyRounds.of(bicycle(3))
    problem = bicycle(5)
    flat = np.arange(problem.num_detectors, dtype=np.int32)
    layout = dataclasses.replace(
        problem.layout, frame=0 * flat, check=flat, check_type=0 * flat, num_frames=1
    )
    bare = dataclasses.replace(problem, layout=layout, symmetry=None, tanner=None)
    assert known.frames_of(bare).num_frames == 6


@pytest.mark.parametrize(
    "other",
    [
        lambda: bicycle(4, "Z"),
        lambda: bicycle(1, "Z"),
        lambda: bicycle(2, "Z"),
        lambda: bicycle(4, code="bb36"),
        lambda: bicycle(4, noise=NoiseModel(0.0, 0.003, 0.003, 0.003)),
        lambda: problem_from_code(get_code("bb18"), "code-capacity", 0.01),
        lambda: surface(4),
    ],
    ids=[
        "basis",
        "basis, 1 round",
        "basis, 2 rounds",
        "code",
        "no CNOT faults",
        "capacity",
        "surface",
    ],
)
def test_every_other_experiment_is_refused(other):
    assert AnyRounds.of(bicycle(3)).frames_of(other()) is None


def test_one_fault_too_few_in_the_middle_is_noticed():
    problem = bicycle(5)
    begins = problem.layout.frame[problem.check_matrix.indices[problem.check_matrix.indptr[:-1]]]
    keep = np.delete(np.arange(problem.num_faults), np.flatnonzero(begins == 2)[7])
    less = dataclasses.replace(
        problem,
        check_matrix=problem.check_matrix[:, keep],
        logical_matrix=problem.logical_matrix[:, keep],
        priors=problem.priors[keep],
        channels=None,
        symmetry=None,
    )
    assert AnyRounds.of(problem).frames_of(problem) is not None
    assert AnyRounds.of(problem).frames_of(less) is None


@pytest.mark.parametrize(
    "task",
    ["surface_code:rotated_memory_z", "surface_code:rotated_memory_x", "repetition_code:memory"],
)
def test_circuits_of_stims_are_known_at_every_number_of_rounds_that_shows_them(task):
    known = AnyRounds.of(surface(6, task))
    for rounds in (5, 6, 9):
        assert known.frames_of(surface(rounds, task)) is not None
        dem = stims(task, rounds).detector_error_model()
        assert known.frames_of(problem_from_dem(dem)) is not None
    assert known.frames_of(surface(6, task, distance=5)) is None
    others = {"surface_code:rotated_memory_z", "repetition_code:memory"} - {task}
    assert all(known.frames_of(surface(6, other)) is None for other in others)


def test_it_reads_what_it_writes():
    known = AnyRounds.of(bicycle(3))
    assert AnyRounds.read(known.facts()) == known
