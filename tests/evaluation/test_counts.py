"""Counts add up, in any order and grouping, and refuse what must not be added."""

import csv
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmasq.decoding.asking import Asking
from unmasq.evaluation.counts import Counts, Point

POINT = Point("stub", "rep3", 0.1, 3, 2, "X", "custom", "5eed", "f00d")


def counts_of(wrong: np.ndarray, first: int, stop: int, discarded: np.ndarray) -> Counts:
    return Counts.of(POINT, first, wrong[first:stop], discarded[first:stop], 0.5)


@st.composite
def results(draw):
    """Wrong logicals and discards of some shots, with cuts into consecutive pieces."""
    shots = draw(st.integers(1, 60))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    wrong = generator.random((shots, 3)) < draw(st.sampled_from([0.0, 0.1, 0.7, 1.0]))
    discarded = generator.random(shots) < draw(st.sampled_from([0.0, 0.3]))
    cuts = sorted(draw(st.sets(st.integers(1, shots), max_size=6)) | {0, shots})
    return wrong, discarded, list(zip(cuts[:-1], cuts[1:], strict=True))


@given(results(), st.randoms(use_true_random=False))
def test_pieces_add_up_to_the_whole_in_any_order(result, random):
    wrong, discarded, pieces = result
    random.shuffle(pieces)
    total = Counts(POINT)
    for first, stop in pieces:
        total += counts_of(wrong, first, stop, discarded)
    whole = counts_of(wrong, 0, len(wrong), discarded)
    assert dataclasses.replace(total, seconds=0.0) == dataclasses.replace(whole, seconds=0.0)
    assert total.seconds == pytest.approx(0.5 * len(pieces))
    assert total.next_shot == len(wrong)


@given(results())
def test_counts_are_the_plain_sums(result):
    wrong, discarded, _ = result
    counts = counts_of(wrong, 0, len(wrong), discarded)
    kept = [shot for shot, out in zip(wrong.tolist(), discarded, strict=True) if not out]
    assert counts.shots == len(wrong)
    assert counts.discards == len(wrong) - len(kept)
    assert counts.errors == sum(any(shot) for shot in kept)
    assert counts.logical_errors == tuple(sum(shot[k] for shot in kept) for k in range(3))
    assert counts.squared_errors == sum(sum(shot) ** 2 for shot in kept)


@given(st.integers(0, 50), st.integers(1, 20), st.integers(0, 50), st.integers(1, 20))
def test_shots_are_never_counted_twice(first, length, other_first, other_length):
    none = np.zeros((20, 3), bool), np.zeros(20, bool)
    a = Counts.of(POINT, first, none[0][:length], none[1][:length], 0.0)
    b = Counts.of(POINT, other_first, none[0][:other_length], none[1][:other_length], 0.0)
    overlap = set(range(first, first + length)) & set(
        range(other_first, other_first + other_length)
    )
    if overlap:
        with pytest.raises(ValueError, match=f"got {min(overlap)}..{max(overlap)} twice"):
            a + b
    else:
        assert a + b == b + a
        assert (a + b).shots == length + other_length


OTHERS = {
    "decoder": "bposd-x",
    "problem": "rep5",
    "p": 0.2,
    "rounds": 3,
    "basis": "Z",
    "noise": "circuit",
    "structure_id": "beef",
    "priors_id": "beef",
    "seed": 1,
    "code": "bb18",
    "model_hash": "beef",
    "asking": Asking(num_steps=2, dtype="float32"),
}
WAYS = {
    "num_steps": 2,
    "threshold": 1.0,
    "views": 4,
    "guess": True,
    "attempts": 3,
    "discard_below": 0.9,
    "dtype": "bfloat16",
}


def test_every_field_of_a_point_is_tried_below():
    assert {field.name for field in dataclasses.fields(Point)} == {*OTHERS, "num_logicals"}
    assert {field.name for field in dataclasses.fields(Asking)} == set(WAYS)


@pytest.mark.parametrize("field", OTHERS)
def test_counts_of_another_point_are_not_added(field):
    other = dataclasses.replace(POINT, **{field: OTHERS[field]})
    assert other.strong_id != POINT.strong_id
    with pytest.raises(ValueError, match=f"one point to be added: got {field} "):
        Counts(POINT) + Counts(other)


@pytest.mark.parametrize("field", WAYS)
def test_counts_of_another_way_of_asking_are_not_added(field):
    one, other = (
        dataclasses.replace(POINT, asking=Asking(**way)) for way in ({}, {field: WAYS[field]})
    )
    assert other.strong_id != one.strong_id
    assert other.metadata[field] == WAYS[field]
    with pytest.raises(ValueError, match="one point to be added: got asking "):
        Counts(one) + Counts(other)


def test_stored_counts_are_told_apart_as_when_they_were_stored():
    """Every row of results/ has the id that its own metadata gives today."""
    rows = 0
    for path in sorted((Path(__file__).parents[2] / "results").glob("*.csv")):
        with path.open(newline="") as file:
            for row in csv.DictReader(file, skipinitialspace=True):
                metadata = json.loads(row["json_metadata"])
                if "structure_id" in metadata:
                    point = Point.from_metadata(row["decoder"], metadata)
                    assert point.strong_id == row["strong_id"], (path, row["decoder"])
                    assert point.metadata == metadata
                    rows += 1
    assert rows > 100


def test_common_shots_depend_on_problem_noise_and_seed_alone():
    changed = {
        field
        for field, value in OTHERS.items()
        if dataclasses.replace(POINT, **{field: value}).shots_id != POINT.shots_id
    }
    assert changed == {"structure_id", "priors_id", "seed"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"errors": 5},
        {"errors": 1},
        {"errors": 1, "logical_errors": (1, 0)},
        {"errors": 1, "logical_errors": (2, 0, 0), "squared_errors": 2},
        {"errors": 2, "logical_errors": (2, 2, 2), "squared_errors": 5},
        {"errors": -1},
        {"discards": 5},
    ],
)
def test_impossible_counts_are_refused(wrong):
    with pytest.raises(ValueError, match="counts must be possible"):
        Counts(POINT, ((0, 4),), **wrong)


@pytest.mark.parametrize("ranges", [((0, 4), (4, 8)), ((5, 6), (0, 1)), ((3, 3),), ((-1, 2),)])
def test_ranges_are_kept_in_one_form(ranges):
    with pytest.raises(ValueError, match="ranges must be increasing and apart"):
        Counts(POINT, ranges)


def test_only_a_beginning_is_resumed():
    with pytest.raises(ValueError, match="from 0 on to be resumed"):
        _ = Counts(POINT, ((64, 128),)).next_shot


def test_rates_leave_discarded_shots_out():
    counts = Counts(POINT, ((0, 100),), 10, 50, (10, 0, 0), 10)
    assert counts.rate.value == 10 / 50
    assert counts.rate_per_logical.value == 10 / 150
    assert counts.rate_per_round.value == pytest.approx(1 - 0.8**0.5)
    capacity = Counts(dataclasses.replace(POINT, rounds=0), ((0, 100),))
    assert capacity.rate_per_round is None


def test_times_of_counts_that_were_not_all_timed_are_empty():
    timed = Counts(POINT, ((0, 4),), seconds=2.0)
    untimed = Counts(POINT, ((4, 8),))
    assert (timed + untimed).seconds == (untimed + timed).seconds == 0
    assert (timed + Counts(POINT, ((4, 8),), seconds=1.0)).seconds == 3
    assert (Counts(POINT) + timed).seconds == 2
