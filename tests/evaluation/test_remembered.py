"""A memory changes what a decoder sees, and never what it is said to answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from unmasq.evaluation.remembered import Remembered

BITS = st.integers(0, 1)


class Recorder:
    """Answers with the first two bits, flags rows that begin with 1 1, and keeps what it saw."""

    def __init__(self):
        self.seen = []

    def __call__(self, syndromes):
        self.seen += [row.tobytes() for row in syndromes]
        return syndromes[:, :2], syndromes[:, :2].all(axis=1)


@given(
    batches=st.lists(
        arrays.arrays(
            np.uint8, st.tuples(st.integers(1, 20), st.just(9)), elements=st.integers(0, 1)
        ),
        min_size=1,
        max_size=5,
    ),
    room=st.integers(0, 30),
)
def test_answers_are_those_of_the_decoder(batches, room):
    remembered = Remembered(Recorder(), max_entries=room)
    for batch in batches:
        predictions, discarded = remembered(batch)
        wanted = Recorder()(batch)
        np.testing.assert_array_equal(predictions, wanted[0])
        np.testing.assert_array_equal(discarded, wanted[1])
        assert (predictions.dtype, discarded.dtype) == (np.uint8, bool)


@pytest.mark.parametrize(("room", "calls"), [(8, 5), (3, 9), (0, 15)])
def test_a_known_syndrome_is_not_decoded_again(room, calls):
    """Five different ones, three times; what is no longer kept is decoded once a batch."""
    recorder = Recorder()
    remembered = Remembered(recorder, max_entries=room)
    batch = np.eye(5, 9, dtype=np.uint8)[[0, 1, 2, 3, 4, 4, 0]]
    for _ in range(3):
        remembered(batch)
    assert len(recorder.seen) == calls
