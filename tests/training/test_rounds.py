"""Training on several numbers of rounds, in turn."""

import numpy as np
import pytest

from tiny_runs import TINY
from unmasq.codes import get_code
from unmasq.models.weights import named_arrays
from unmasq.problems.building import problem_from_code
from unmasq.training.config import override
from unmasq.training.curriculum import frame_ranges, rounds_at
from unmasq.training.make_trainer import make_trainer


def test_calls_take_the_rounds_in_turn():
    config = override(TINY, ["rounds=[1,6,3]", "updates_per_call=10"])
    found = [rounds_at(config, step, default=4) for step in (0, 9, 10, 25, 30, 31)]
    assert found == [1, 1, 6, 3, 1, 1]
    assert rounds_at(TINY, 12, default=4) == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["rounds=[0]"], r"rounds must be at least 1: got \(0,\)"),
        (["rounds=[2]", "stages=[[0,-1,0.5]]"], "stages must be empty where rounds are given"),
    ],
)
def test_rounds_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        override(TINY, settings)


@pytest.mark.slow
def test_every_number_of_rounds_has_its_own_shots_and_one_network():
    """After the same shots a run on 2 rounds alone has the weights of a run on [2] of 3."""
    messages = ["network.mixing=messages", "network.message_width=4", "network.ties=tied"]
    settings = ["network.encoder_layers=1", "masks_per_shot=2", "translate_masks=true", *messages]
    three = problem_from_code(get_code("bb18"), "circuit", 0.006, 3)
    two = problem_from_code(get_code("bb18"), "circuit", 0.006, 2)

    def trained(problem, *more):
        config = override(TINY, [*settings, "updates_per_call=1", *more])
        trainer = make_trainer(config, problem)
        state = trainer.start()
        for _ in range(2):
            frames = frame_ranges(config, problem.layout.num_frames)[0]
            state, losses = trainer.advance(state, frames, 1)
        assert np.isfinite(losses).all()
        return named_arrays(state.weights)

    expected, found = trained(two), trained(three, "rounds=[2]")
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-6, err_msg=name)
    mixed = trained(three, "rounds=[2,3]")
    assert any((mixed[name] != array).any() for name, array in expected.items())


def test_a_network_with_weights_for_each_frame_has_its_rounds():
    problem = problem_from_code(get_code("bb18"), "circuit", 0.006, 3)
    config = override(TINY, ["rounds=[2,3]", "network.encoder_layers=1"])
    with pytest.raises(ValueError, match=r"rounds must be empty .*: got \[2, 3\]"):
        make_trainer(config, problem)
