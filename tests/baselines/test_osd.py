"""OSD on given soft information, against `ldpc`'s and against lists of all solutions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines.small_problems import all_bits
from unmasq.baselines.osd import integer_weights, ordered_statistics
from unmasq.codes import get_code, gf2


def solve(checks, odds, syndromes, weights, order):
    rank = gf2.rank(checks)
    errors = ordered_statistics(
        checks.astype(bool),
        odds.astype(np.float32),
        syndromes.astype(bool),
        weights.astype(np.int32),
        rank=rank,
        order=order,
    )
    return np.asarray(errors).astype(np.uint8)


def random_case(seed: int, shots: int, checks: np.ndarray):
    generator = np.random.default_rng(seed)
    errors = (generator.random((shots, checks.shape[1])) < 0.15).astype(np.uint8)
    odds = generator.normal(2.0, 2.0, errors.shape)
    return odds, (errors @ checks.T.astype(int)) % 2


def ldpc_osd(checks, odds, syndrome, order):
    """`ldpc`'s OSD on outside odds: BP whose messages are scaled to nothing returns its input.

    Its candidates are weighed with log 1/q of the same probabilities. None where BP's own hard
    decision already has the syndrome: then it does not call OSD.
    """
    from ldpc.bposd_decoder import BpOsdDecoder

    decoder = BpOsdDecoder(
        checks,
        error_channel=(1 / (1 + np.exp(odds))).tolist(),
        max_iter=1,
        bp_method="minimum_sum",
        ms_scaling_factor=1e-300,
        osd_method="OSD_CS" if order else "OSD_0",
        osd_order=order,
    )
    error = decoder.decode(syndrome.astype(np.uint8))
    np.testing.assert_allclose(decoder.log_prob_ratios, odds, rtol=1e-6)
    return None if decoder.converge or not syndrome.any() else error


def test_order_0_equals_that_of_ldpc():
    checks = get_code("bb72").checks_x  # 36 checks of rank 30
    odds, syndromes = random_case(0, 40, checks)
    errors = solve(checks, odds, syndromes, np.ones(72), order=0)
    compared = 0
    for error, shot_odds, syndrome in zip(errors, odds, syndromes, strict=True):
        expected = ldpc_osd(checks, shot_odds, syndrome, order=0)
        if expected is not None:
            np.testing.assert_array_equal(error, expected)
            compared += 1
    assert compared > 30


@pytest.mark.parametrize("order", [1, 4, 10])
def test_the_sweep_equals_that_of_ldpc(order):
    checks = get_code("bb72").checks_x
    _, syndromes = random_case(2, 40, checks)
    # The same odds for all shots, since ldpc takes its weights from them.
    odds = np.random.default_rng(1).normal(2.0, 2.0, 72)
    weights = integer_weights(np.log1p(np.exp(odds)))
    errors = solve(checks, np.tile(odds, (40, 1)), syndromes, weights, order)
    alone = solve(checks, np.tile(odds, (40, 1)), syndromes, weights, order=0)
    assert (errors != alone).any(axis=1).sum() > 20
    for error, syndrome in zip(errors, syndromes, strict=True):
        np.testing.assert_array_equal(error, ldpc_osd(checks, odds, syndrome, order))


@pytest.mark.parametrize("order", [0, 3])
@given(seed=st.integers(0, 2**32 - 1))
def test_the_error_always_has_the_syndrome(seed, order):
    checks = np.random.default_rng(seed).integers(0, 2, (5, 40), np.uint8)
    checks[3] = checks[0] ^ checks[1]
    odds, syndromes = random_case(seed, 8, checks)
    errors = solve(checks, odds, syndromes, np.ones(40), order)
    np.testing.assert_array_equal((errors @ checks.T) % 2, syndromes)


def test_a_full_sweep_of_two_free_columns_finds_the_lightest_error():
    rows = ["110010", "011001", "001110", "100001"]
    checks = np.array([list(row) for row in rows], np.uint8)
    assert gf2.rank(checks) == 4
    weights = np.array([5, 3, 9, 2, 7, 4])
    syndromes = all_bits(4)
    odds = np.random.default_rng(3).normal(size=(16, 6))
    errors = solve(checks, odds, syndromes, weights, order=2)
    every = all_bits(6)
    for error, syndrome in zip(errors, syndromes, strict=True):
        fitting = every[((every @ checks.T) % 2 == syndrome).all(axis=1)]
        assert error @ weights == (fitting @ weights).min()


def test_order_0_uses_the_columns_most_likely_flipped():
    checks = np.array([[1, 1, 1]], np.uint8)
    odds = np.array([[1.0, 0.5, 2.0], [3.0, 2.0, -1.0]])
    errors = solve(checks, odds, np.array([[1], [1]]), np.ones(3), order=0)
    np.testing.assert_array_equal(errors, [[0, 1, 0], [0, 0, 1]])


def test_a_tie_keeps_the_earlier_candidate():
    checks = np.array([[1, 1, 1]], np.uint8)
    odds = np.array([[1.0, 0.5, 2.0]])
    errors = solve(checks, odds, np.array([[1]]), np.ones(3), order=3)
    np.testing.assert_array_equal(errors, [[0, 1, 0]])
    errors = solve(checks, odds, np.array([[1]]), np.array([2, 2, 1]), order=3)
    np.testing.assert_array_equal(errors, [[0, 0, 1]])


def test_integer_weights_keep_proportions_and_survive_zero():
    np.testing.assert_array_equal(integer_weights(np.array([0.5, 1.0, 0.25])), [2048, 4096, 1024])
    np.testing.assert_array_equal(integer_weights(np.zeros(2)), [1, 1])
