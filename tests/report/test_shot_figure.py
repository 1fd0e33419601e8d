"""One shot, seen: what fired where, and the log-odds by which each logical was revealed."""

import json

import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.decoding.diffusion_decoder import load
from unmasq.problems.building import problem_from_code
from unmasq.report.seen_shot import followed_model, seen_shots, telling_shots, torus_of
from unmasq.report.shot_figure import (
    detectors_figure,
    log_odds_figure,
    shot_figure,
    shot_numbers,
)
from unmasq.shots.reader import ShotReader


@pytest.fixture(scope="module")
def followed():
    decoder, problem = followed_model("bb72-circuit")
    return decoder, problem, telling_shots(decoder, problem, 14)


def test_the_last_word_of_each_logical_is_what_the_decoder_says(followed):
    decoder, problem, shots = followed
    assert problem.p == 0.006
    syndromes, logicals = ShotReader(problem, 0).read(0, 14)
    soft = decoder.with_steps(12).decode_soft(syndromes)
    for shot in shots:
        np.testing.assert_array_equal(shot.predicted, soft.logicals[shot.number])
        np.testing.assert_array_equal(shot.truth, logicals[shot.number])
        last = shot.log_odds[shot.revealed_at, np.arange(12)]
        np.testing.assert_allclose(
            1 / (1 + np.exp(-last)), soft.probabilities[shot.number], atol=2e-3
        )
        np.testing.assert_array_equal(last > 0, shot.predicted)
        assert sorted(shot.revealed_at) == list(range(12)), "one logical a step"


def test_one_shot_is_right_and_one_is_wrong(followed):
    right, wrong = followed[2]
    assert not right.wrong.any()
    assert right.truth.any()
    assert wrong.wrong.any()
    assert "all 12 right" in right.words
    assert f"{wrong.wrong.sum()} of 12 wrong" in wrong.words
    assert f"Shot {wrong.number} of seed 0 at p = 0.006" in wrong.words


def test_every_fired_detector_is_drawn_at_its_check_and_frame(followed):
    _, problem, (shot, _) = followed
    syndrome = ShotReader(problem, 0).read(shot.number, shot.number + 1)[0][0]
    frames = [axes for axes in detectors_figure(shot).axes if axes.get_title()]
    assert [axes.get_title() for axes in frames] == [f"frame {r}" for r in range(7)]
    drawn = set()
    for frame, axes in enumerate(frames):
        _, fired_x, _, fired_z = axes.get_lines()
        for kind, (line, aside) in enumerate(((fired_x, -0.2), (fired_z, 0.2))):
            for u, v in np.round(line.get_xydata() - aside).astype(int):
                drawn.add((frame, 36 * kind + 6 * u + v))
    layout = problem.layout
    fired = np.flatnonzero(syndrome)
    assert drawn == {(layout.frame[d], layout.check[d]) for d in fired}
    assert len(drawn) == shot.fired.sum() > 20


def test_right_and_wrong_logicals_are_told_apart(followed):
    for shot in followed[2]:
        texts = [text.get_text() for text in log_odds_figure(shot).axes[0].texts]
        assert sum("✗" in text for text in texts) == shot.wrong.sum()
        assert sum("✓" in text for text in texts) == 12 - shot.wrong.sum()
        assert f"{shot.log_odds[0, 0]:.1f}" in texts


def test_the_file_holds_the_numbers(followed):
    _, problem, (shot, _) = followed
    record = json.loads(shot_numbers(shot))
    assert record["decoder"].startswith("unmasq-")
    assert record["structure_id"] == problem.structure_id
    assert len(record["fired"]) == shot.fired.sum()
    assert sorted(record["revealed_at_step"]) == list(range(1, 13))
    assert len(shot_figure(shot).subfigs) == 2


def test_logicals_are_the_shots_own_where_a_guess_was_taken_off():
    """The network speaks of what the guess left; the figure of the shot."""
    decoder, problem = followed_model("bb72-capacity", 0.08)
    shots = seen_shots(decoder, problem, range(3))
    syndromes, _ = ShotReader(problem, 0).read(0, 3)
    soft = decoder.with_guess(False).with_steps(24).decode_soft(syndromes)
    for shot in shots:
        np.testing.assert_array_equal(shot.predicted, soft.logicals[shot.number])
        last = shot.log_odds[shot.revealed_at, np.arange(24)]
        np.testing.assert_array_equal(last > 0, shot.predicted)
    assert len(detectors_figure(shots[0]).axes) == 1


def test_other_codes_are_refused():
    problem = problem_from_code(get_code("toric:3"), "circuit", 0.004, 3)
    with pytest.raises(ValueError, match=r"shot must be of a bicycle code, .*: got 'toric:3'"):
        torus_of(problem)
    assert torus_of(problem_from_code(get_code("bb18"), "code-capacity", 0.1)).l == 3


def test_a_decoder_of_another_problem_is_refused():
    problem = problem_from_code(get_code("bb18"), "code-capacity", 0.1)
    with pytest.raises(ValueError, match="must"):
        seen_shots(load("bb72-circuit"), problem, [0])
