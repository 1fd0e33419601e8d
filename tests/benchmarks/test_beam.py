"""The script that sets greedy unmasking beside a beam search."""

import numpy as np
from beam import compared

from table_denoisers import exact_table, random_table

SYNDROMES = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], np.uint8)


def test_a_beam_of_width_1_is_greedy_and_a_wider_one_gains():
    logicals = np.zeros((4, 3), np.uint8)
    same = compared(random_table(3, seed=1), SYNDROMES, logicals, width=1)
    assert (same["other_answers"], same["max_gain_nats"]) == (0, 0)
    assert same["greedy_failures"] == same["beam_failures"] > 0
    wide = compared(random_table(3, seed=1), SYNDROMES, logicals, width=8)
    assert wide["max_gain_nats"] > 0


def test_what_only_one_of_them_gets_right_is_counted():
    """The last bit is 0 for sure enough, but then the others are coin tosses."""
    posterior = np.array([[0.175, 0.175, 0.175, 0.175, 0, 0, 0, 0.3]])
    network = exact_table(np.repeat(posterior, 4, axis=0))
    logicals = np.array([[1, 1, 1]] * 3 + [[0, 0, 0]], np.uint8)
    found = compared(network, SYNDROMES, logicals, width=2, listed=3)
    assert found["other_answers"] == 4
    assert found["only_greedy_fails"] == 3
    assert found["beam_failures"] == 1
    assert (found["listed"], found["greedy_is_best"], found["beam_is_best"]) == (3, 0, 3)
