"""A symmetry is believed only where faults, logicals and noise have it."""

import dataclasses

import numpy as np
import pytest

from unmasq.circuits import NoiseModel
from unmasq.codes import get_code
from unmasq.codes.symmetry import Symmetry
from unmasq.problems.building import problem_from_code
from unmasq.problems.problem import Layout
from unmasq.problems.problem_file import load_problem, save_problem


@pytest.fixture(scope="module")
def memory():
    return problem_from_code(get_code("bb18"), "circuit", 0.006, 2, "X")


@pytest.fixture(scope="module")
def capacity():
    return problem_from_code(get_code("bb36"), "code-capacity", 0.05)


def changed(problem, **changes):
    return dataclasses.replace(problem, symmetry=dataclasses.replace(problem.symmetry, **changes))


def with_generators_only(symmetry, elements):
    return Symmetry(
        symmetry.check_images[elements], symmetry.token_images[elements], symmetry.basis_tokens
    )


def test_random_permutations_are_refused(memory):
    rng = np.random.default_rng(0)
    images = np.stack([np.arange(18), *(rng.permutation(18) for _ in range(8))]).astype(np.int32)
    with pytest.raises(ValueError, match=r"symmetry must be one of problem 'bb18'.*no fault flips"):
        changed(memory, check_images=images)


def test_one_exchange_of_two_checks_is_refused(memory):
    """In one element that is no generator: then the elements are no group any more."""
    images = memory.symmetry.check_images.copy()
    images[-1, [0, 1]] = images[-1, [1, 0]]
    with pytest.raises(ValueError, match="symmetry must"):
        changed(memory, check_images=images)


def test_elements_that_are_no_group_are_refused(memory):
    part = with_generators_only(memory.symmetry, [0, 1, 3])
    with pytest.raises(ValueError, match="each element of a group once"):
        dataclasses.replace(memory, symmetry=part)
    twice = with_generators_only(memory.symmetry, [0, 1, 1])
    with pytest.raises(ValueError, match="each element of a group once"):
        dataclasses.replace(memory, symmetry=twice)


def test_a_subgroup_is_a_symmetry_too(memory):
    part = with_generators_only(memory.symmetry, [0, 1, 2])
    assert dataclasses.replace(memory, symmetry=part).symmetry.order == 3


def test_tokens_that_do_not_move_with_the_checks_are_refused(memory):
    stay = np.broadcast_to(
        np.arange(memory.symmetry.num_tokens, dtype=np.int32), memory.symmetry.token_images.shape
    )
    with pytest.raises(ValueError, match="takes logical 0 to 0, but not the faults"):
        changed(memory, token_images=stay)


def test_logicals_in_another_order_are_refused(memory):
    with pytest.raises(ValueError, match="takes logical 0 to 2, but not the faults"):
        changed(memory, basis_tokens=memory.symmetry.basis_tokens[[0, 2, 1, 3]])


def test_noise_that_is_not_symmetric_is_refused(memory):
    priors = memory.priors.copy()
    priors[5] *= 1.001
    with pytest.raises(ValueError, match=r"fault \d+ .* another probability or other channels"):
        dataclasses.replace(memory, priors=priors)


def test_channels_that_are_not_symmetric_are_refused(memory):
    """Their priors may agree at one rate, and at no other."""
    counts = memory.channels.counts.copy()
    counts[5, 0] += 1
    channels = dataclasses.replace(memory.channels, counts=counts)
    with pytest.raises(ValueError, match="other channels"):
        dataclasses.replace(memory, channels=channels)


def test_one_logical_that_a_fault_does_not_flip_is_enough(memory):
    rows = memory.logical_matrix.toarray()
    chosen = int(np.flatnonzero(rows[0])[0])
    rows[0, chosen] = 0
    other = type(memory.logical_matrix)(rows)
    with pytest.raises(ValueError, match="symmetry must be one of problem"):
        dataclasses.replace(memory, logical_matrix=other)


def test_the_duality_of_both_bases_is_checked(capacity):
    symmetry = capacity.symmetry
    assert symmetry.order == 36
    images = symmetry.check_images.copy()
    images[18:] = images[18:, np.r_[18:36, 0:18]]  # X checks stay X checks, logicals do not
    with pytest.raises(ValueError, match="symmetry must"):
        changed(capacity, check_images=images)


def test_a_frame_that_lacks_a_check_breaks_the_symmetry(memory):
    layout = memory.layout
    shifted = Layout(layout.frame, layout.check, layout.check_type, layout.num_frames + 1)
    assert dataclasses.replace(memory, layout=shifted).symmetry.order == 9
    frame = layout.frame.copy()
    frame[-1] += 1
    moved = Layout(frame, layout.check, layout.check_type, layout.num_frames + 1)
    with pytest.raises(ValueError, match="takes a detector to a frame that lacks the check"):
        dataclasses.replace(memory, layout=moved)


def test_biased_noise_and_other_rates_keep_the_translations(memory, tmp_path):
    biased = problem_from_code(get_code("bb18"), NoiseModel(0.004, 0.001, 0.002, 0.01), rounds=1)
    assert biased.at(0.003).symmetry.order == 9
    save_problem(memory, tmp_path / "problem.safetensors")
    assert load_problem(tmp_path / "problem.safetensors").symmetry.order == 9
