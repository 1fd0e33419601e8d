"""Packed shots and padded batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmasq.shots.batches import cut, pack, pad, padded_size, read_shots


@given(st.integers(0, 20), st.integers(0, 40), st.integers(0, 9))
def test_packed_and_unpacked_shots_read_alike(num_detectors, shots, seed):
    bits = np.random.default_rng(seed).integers(0, 2, (shots, num_detectors), np.uint8)
    np.testing.assert_array_equal(read_shots(pack(bits), num_detectors, bit_packed=True), bits)
    np.testing.assert_array_equal(read_shots(bits, num_detectors, bit_packed=False), bits)


@given(st.integers(1, 5000))
def test_padding_goes_to_the_next_power_of_two(shots):
    size = padded_size(shots)
    assert size // 2 < shots <= size
    assert size & (size - 1) == 0


def test_padding_repeats_the_first_shot():
    bits = np.array([[1, 0], [0, 0], [0, 1]], np.uint8)
    np.testing.assert_array_equal(pad(bits, 4), [*bits.tolist(), [1, 0]])


@given(st.integers(0, 300), st.integers(1, 64))
def test_cuts_cover_every_shot_once(shots, max_batch):
    batches = list(cut(shots, max_batch))
    covered = [i for batch in batches for i in range(shots)[batch]]
    assert covered == list(range(shots))
    assert all(1 <= batch.stop - batch.start <= max_batch for batch in batches)


def test_packed_shots_must_be_bytes():
    with pytest.raises(TypeError, match="must be uint8: got bool"):
        read_shots(np.zeros((2, 2), bool), 12, bit_packed=True)


def test_unpacked_shots_given_as_packed_are_recognised():
    with pytest.raises(ValueError, match=r"\(shots, 2\) for 12 detectors.*bit_packed_shots=False"):
        read_shots(np.zeros((3, 12), np.uint8), 12, bit_packed=True)


def test_packed_shots_given_as_unpacked_are_recognised():
    with pytest.raises(ValueError, match="width of 12 packed bits"):
        read_shots(np.zeros((3, 2), np.uint8), 12, bit_packed=False)


def test_bits_past_the_last_detector_are_refused():
    shots = np.zeros((3, 2), np.uint8)
    shots[1, 1] = 0b0001_0000
    with pytest.raises(ValueError, match=r"past detector 11: got syndromes\[1, 1\] = 16"):
        read_shots(shots, 12, bit_packed=True)
    shots[1, 1] = 0b0000_1000
    assert read_shots(shots, 12, bit_packed=True)[1, 11] == 1


def test_unpacked_single_detectors_are_no_bytes():
    with pytest.raises(ValueError, match=r"syndromes\[0, 0\] = 3"):
        read_shots(np.array([[3]], np.uint8), 1, bit_packed=False)


@pytest.mark.parametrize("value", [np.nan, 0.5, 1.0])
def test_floats_are_refused(value):
    with pytest.raises(TypeError, match="booleans or integers: got float64"):
        read_shots(np.full((2, 3), value), 3, bit_packed=False)
