"""The script that asks other decoders about the shots that a network fails on."""

import numpy as np
from failed_shots import compared


class Says:
    """A decoder that always says the same."""

    name, num_detectors, num_logicals = "says", 1, 2

    def __init__(self, *logicals: int):
        self.logicals = logicals

    def decode_batch(self, syndromes: np.ndarray) -> np.ndarray:
        return np.array([self.logicals] * len(syndromes), np.uint8)


def test_failures_are_counted_by_decoder_and_by_all():
    happened = np.array([[0, 0], [0, 1], [1, 1]], np.uint8)
    found = compared({"a": Says(0, 0), "b": Says(0, 1)}, np.zeros((3, 1), np.uint8), happened)
    assert found == {
        "fail": {"a": 2, "b": 2},
        "all_fail": 1,
        "wrong": {"a": [0, 1, 1], "b": [1, 0, 1]},
    }
