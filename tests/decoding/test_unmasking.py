"""Unmasking on table denoisers: what is revealed, when, and that it stays."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_denoisers import TableDenoiser, all_tokens, random_table
from unmasq.decoding.unmasking import (
    reveal_counts,
    unmask,
    unmask_adaptively,
    unmask_in_order,
)
from unmasq.diffusion.masking import MASK

SHOTS = 4


def by_shot(network):
    """Shot b is asked with row b of the table."""
    return lambda tokens: network.denoise(jnp.arange(SHOTS)[None, :, None], tokens)


@eqx.filter_jit
def in_steps(network, num_logicals, num_steps):
    return unmask(by_shot(network), SHOTS, num_logicals, num_steps)


# Compiled for each threshold anew: they are part of the program, as in a decoder.
@eqx.filter_jit
def adaptively(network, num_logicals, threshold):
    return unmask_adaptively(by_shot(network), SHOTS, num_logicals, threshold)


@eqx.filter_jit
def in_order(network, num_logicals):
    return unmask_in_order(by_shot(network), SHOTS, num_logicals)


def follow(network, num_logicals: int, choose) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unmasking in numpy, shot by shot, from the words of the definition.

    `choose(confidence, hidden, step)` lists the bits that one shot reveals. Returns bits, the
    logits they were revealed by, and the steps each shot took.
    """
    table = np.asarray(network.table)
    powers = 3 ** np.arange(num_logicals)
    tokens = np.full((SHOTS, num_logicals), MASK)
    logits_used = np.zeros((SHOTS, num_logicals), np.float32)
    steps = np.zeros(SHOTS, int)
    for shot in range(SHOTS):
        while (tokens[shot] == MASK).any():
            logits = table[shot, tokens[shot] @ powers]
            hidden = np.flatnonzero(tokens[shot] == MASK).tolist()
            for k in choose(np.abs(logits), hidden, steps[shot]):
                tokens[shot, k] = logits[k] > 0
                logits_used[shot, k] = logits[k]
            steps[shot] += 1
    return tokens, logits_used, steps


def assert_agrees(result, expected):
    for found, wanted in zip(result, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@settings(max_examples=40)
@given(st.sampled_from([1, 4, 5]), st.data())
def test_each_step_reveals_the_most_confident_of_what_remains(num_logicals, data):
    num_steps = data.draw(st.integers(1, num_logicals))
    network = random_table(num_logicals, seed=data.draw(st.integers(0, 100)))

    def choose(confidence, hidden, step):
        count = int(np.ceil(len(hidden) / (num_steps - step)))
        return sorted(hidden, key=lambda k: -confidence[k])[:count]

    expected = follow(network, num_logicals, choose)
    assert_agrees(in_steps(network, num_logicals, num_steps), expected)


@settings(max_examples=40)
@given(st.sampled_from([1, 5]), st.sampled_from([1.0, 2.5, 6.0]), st.integers(0, 100))
def test_adaptive_steps_reveal_all_sure_bits_and_at_least_one(num_logicals, threshold, seed):
    network = random_table(num_logicals, seed=seed)

    def choose(confidence, hidden, step):
        sure = [k for k in hidden if confidence[k] >= np.float32(threshold)]
        return sure or [max(hidden, key=lambda k: confidence[k])]

    expected = follow(network, num_logicals, choose)
    assert_agrees(adaptively(network, num_logicals, threshold), expected)


@settings(max_examples=40)
@given(st.sampled_from([1, 5]), st.integers(0, 100))
def test_threshold_0_is_one_step_and_infinity_is_one_bit_a_step(num_logicals, seed):
    network = random_table(num_logicals, seed=seed)
    once = adaptively(network, num_logicals, 0.0)
    assert_agrees(once, in_steps(network, num_logicals, 1))
    bit_by_bit = adaptively(network, num_logicals, np.inf)
    assert_agrees(bit_by_bit, in_steps(network, num_logicals, num_logicals))


@settings(max_examples=40)
@given(st.sampled_from([1, 5]), st.integers(0, 100))
def test_the_autoregressive_decoder_goes_from_first_to_last(num_logicals, seed):
    network = random_table(num_logicals, seed=seed)
    expected = follow(network, num_logicals, lambda confidence, hidden, step: [step])
    assert_agrees(in_order(network, num_logicals), expected)


@settings(max_examples=20)
@given(st.sampled_from([0.0, 1.5, 4.0]), st.integers(0, 100))
def test_a_shown_bit_never_changes(threshold, seed):
    """The denoiser contradicts every bit it is shown, ten times as surely."""
    num_logicals = 5
    table = np.array(random_table(num_logicals, seed=seed).table)
    tokens = all_tokens(num_logicals)[None]
    table = np.where(tokens == MASK, np.abs(table) + 0.1, 10 * (1 - 2 * tokens))
    network = TableDenoiser(jnp.asarray(table, jnp.float32))
    results = [
        *(in_steps(network, num_logicals, t) for t in range(1, num_logicals + 1)),
        adaptively(network, num_logicals, threshold),
        in_order(network, num_logicals),
    ]
    for result in results:
        np.testing.assert_array_equal(result.logicals, 1)
        assert (result.logits > 0).all()


@given(st.integers(1, 30), st.data())
def test_reveals_are_even_and_complete(num_logicals, data):
    num_steps = data.draw(st.integers(1, num_logicals))
    counts = reveal_counts(num_logicals, num_steps)
    assert sum(counts) == num_logicals
    assert len(counts) == num_steps
    for step, count in enumerate(counts):
        left = num_logicals - sum(counts[:step])
        assert count == int(np.ceil(left / (num_steps - step)))


def test_ties_go_to_the_first_bit():
    result = unmask_adaptively(
        lambda tokens: jnp.where(tokens[:, :1] == MASK, 1.0, -1.0) * jnp.ones((1, 3)), 1, 3, 2.0
    )
    np.testing.assert_array_equal(result.logicals, [[1, 0, 0]])


def test_confidence_ranks_where_probabilities_have_saturated():
    """Both probabilities round to 1 in float32; the surer bit goes first and decides the other."""

    def denoise(tokens):
        second_shown = tokens[:, 1:] == 1
        first = jnp.where(second_shown, 30.0, -30.0)
        return jnp.concatenate([first, jnp.full((1, 1), 31.0)], axis=1)

    np.testing.assert_array_equal(unmask(denoise, 1, 2, 2).logicals, [[1, 1]])


def test_log_likelihood_adds_the_logs_of_the_chosen_values():
    result = unmask(lambda tokens: jnp.array([[2.0, -1.0]]), 1, 2, 1)
    expected = -np.log1p(np.exp(-2.0)) - np.log1p(np.exp(-1.0))
    np.testing.assert_allclose(result.log_likelihood, [expected], rtol=1e-6)


def test_nan_does_not_hang_the_adaptive_loop():
    broken = unmask_adaptively(lambda tokens: jnp.full((2, 3), jnp.nan), 2, 3, 1.0)
    assert np.isnan(broken.logits).all()
    np.testing.assert_array_equal(broken.steps, [3, 3])


@pytest.mark.parametrize("num_steps", [0, 4])
def test_impossible_numbers_of_steps_are_refused(num_steps):
    with pytest.raises(ValueError, match=rf"steps must lie in 1\.\.3: got {num_steps}"):
        unmask(lambda tokens: tokens.astype(jnp.float32), 1, 3, num_steps)


@pytest.mark.parametrize("threshold", [-1.0, np.nan])
def test_impossible_thresholds_are_refused(threshold):
    with pytest.raises(ValueError, match="threshold must be at least 0"):
        unmask_adaptively(lambda tokens: tokens.astype(jnp.float32), 1, 3, threshold)
