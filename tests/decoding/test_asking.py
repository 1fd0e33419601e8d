"""Ways of asking: settled for a model, told in names, kept with counts."""

import dataclasses

import pytest

from unmasq.decoding.asking import Asking
from unmasq.decoding.identity import Identity

IDENTITY = Identity("m", "0123456789abcdef", "0" * 16, "masked", 12, 36, 12, max_views=36)


@pytest.mark.parametrize(("asking", "label"), [
    (Asking(), ""),
    (Asking(num_steps=12), ""),
    (Asking(num_steps=6), "T=6"),
    (Asking(threshold=4.0), "tau=4"),
    (Asking(threshold=0.0), "tau=0"),
    (Asking(threshold=2.5, views=36), "tau=2.5,views=36"),
    (Asking(views=1, guess=False, dtype="bfloat16"), ""),
    (Asking(num_steps=1, guess=True), "T=1,guess"),
    (Asking(num_steps=1, views=4, discard_below=0.9), "T=1,views=4,discard=0.9"),
])  # fmt: skip
def test_labels_are_those_of_stored_files(asking, label):
    assert asking.label(usual_steps=12) == label


def test_what_is_left_open_is_settled_and_settled_ways_stay():
    settled = IDENTITY.settled(Asking())
    assert settled == Asking(12, None, 1, False, 1, None, "float32")
    assert IDENTITY.settled(settled, "bfloat16") == settled


def test_a_guess_is_trusted_by_itself_where_training_left_solved_shots_out():
    beginning = dataclasses.replace(IDENTITY, begins_with_guess=True)
    assert beginning.settled(Asking()).guess
    doubting = dataclasses.replace(beginning, trusts_guess=False)
    assert not doubting.settled(Asking()).guess
    assert doubting.settled(Asking()).num_steps == 12
    assert doubting.settled(Asking(guess=True)).guess


def test_metadata_brings_a_settled_way_back():
    for asking in (Asking(), Asking(threshold=4.0, views=36, dtype="bfloat16")):
        settled = IDENTITY.settled(asking)
        assert not {"views", "guess", "discard_below"} & IDENTITY.settled(Asking()).metadata.keys()
        assert Asking.from_metadata({"p": 0.1, **settled.metadata}) == settled
    assert Asking.from_metadata({"p": 0.1}) is None


def test_steps_and_threshold_take_each_others_place():
    assert Asking(num_steps=3).but(threshold=4.0) == Asking(threshold=4.0)
    assert Asking(threshold=4.0, views=2).but(num_steps=3) == Asking(num_steps=3, views=2)


@pytest.mark.parametrize(("fields", "message"), [
    ({"num_steps": 3, "threshold": 1.0}, "steps and threshold must not be given together"),
    ({"guess": True, "discard_below": 0.9}, "guess and discard_below must not be given together"),
    ({"num_steps": 0}, "steps must be at least 1: got 0"),
    ({"views": -1}, "views must be at least 1: got -1"),
    ({"threshold": float("nan")}, "threshold must be at least 0: got nan"),
    ({"discard_below": 1.0}, "discard_below must lie between 0 and 1: got 1.0"),
    ({"dtype": "int8"}, "dtype must be float32 or bfloat16: got 'int8'"),
])  # fmt: skip
def test_what_cannot_be_asked_of_any_model_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Asking(**fields)


@pytest.mark.parametrize(("asking", "message"), [
    (Asking(num_steps=13), r"steps must lie in 1\.\.12: got 13"),
    (Asking(views=37), r"views must lie in 1\.\.36: got 37"),
    (Asking(guess=True), "guess must be asked of a model that begins with belief propagation"),
])  # fmt: skip
def test_what_this_model_cannot_do_is_refused(asking, message):
    with pytest.raises(ValueError, match=message):
        IDENTITY.settled(asking)
