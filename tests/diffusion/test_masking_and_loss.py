"""Masking laws, and the losses against the paper's formulas by enumeration."""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmasq.diffusion.gaussian import (
    add_noise,
    alphas_bar,
    betas,
    time_probabilities,
)
from unmasq.diffusion.loss import autoregressive_loss, cross_entropy, masked_loss, noise_loss
from unmasq.diffusion.masking import (
    MASK,
    draw_times,
    hide_at_random,
    hide_from_the_end,
    require_divisor,
)


@given(st.integers(0, 2**31 - 1), st.integers(0, 5))
def test_masking_hides_exactly_the_asked_number_and_shows_the_truth(seed, hidden):
    key = jr.key(seed)
    logicals = jr.bernoulli(key, 0.5, (7, 5)).astype(jnp.uint8)
    noise = jr.uniform(key, logicals.shape)
    tokens = np.asarray(hide_at_random(logicals, jnp.full((7,), hidden), noise))
    assert ((tokens == MASK).sum(axis=1) == hidden).all()
    shown = tokens != MASK
    assert (tokens[shown] == np.asarray(logicals)[shown]).all()


def test_every_subset_is_hidden_equally_often():
    shots, size, hidden = 60_000, 4, 2
    noise = jr.uniform(jr.key(0), (shots, size))
    tokens = hide_at_random(jnp.zeros((shots, size), jnp.uint8), jnp.full((shots,), hidden), noise)
    codes, counts = np.unique(
        (np.asarray(tokens) == MASK) @ (1 << np.arange(size)), return_counts=True
    )
    assert len(codes) == 6
    # Chi-square with 5 degrees of freedom: false alarm below 1e-9 beyond 51.
    expected = shots / 6
    assert ((counts - expected) ** 2 / expected).sum() < 51


@pytest.mark.parametrize("masks", [1, 2, 3, 5, 12, 24])
def test_times_are_uniform_and_shared_out_among_the_masks_of_a_shot(masks):
    shots, num_steps = 10_000, 12
    t = np.asarray(draw_times(shots, num_steps, masks, key=jr.key(1))).reshape(shots, masks)
    counts = np.bincount(t.ravel(), minlength=num_steps + 1)
    assert counts[0] == 0
    assert len(counts) == num_steps + 1
    # Chi-square with 11 degrees of freedom: false alarm below 1e-9 beyond 66; sharing lowers it.
    expected = shots * masks / num_steps
    assert ((counts[1:] - expected) ** 2 / expected).sum() < 66
    part = np.arange(masks)
    assert (t >= 1 + num_steps * part // masks).all()
    assert (t <= -(-num_steps * (part + 1) // masks)).all()


def test_autoregressive_masking_hides_a_suffix():
    logicals = jnp.array([[1, 0, 1], [1, 1, 0]], jnp.uint8)
    tokens = hide_from_the_end(logicals, jnp.array([1, 3]))
    np.testing.assert_array_equal(tokens, [[1, 0, MASK], [MASK, MASK, MASK]])


@pytest.mark.parametrize("steps", [0, 5, 24])
def test_steps_that_do_not_divide_are_refused(steps):
    with pytest.raises(ValueError, match="must divide the 12 logicals"):
        require_divisor(steps, 12)


def table_logits(table, tokens):
    """A 'network' that looks its log-odds up by the shown tokens."""
    code = tokens @ (3 ** jnp.arange(tokens.shape[1]))
    return table[code]


def paper_loss(table, logicals, num_steps):
    """sum_t (1/t) E_{l_t} sum_{hidden} -log q, all masks of n_l t / T bits enumerated."""
    size = len(logicals)
    total = 0.0
    for t in range(1, num_steps + 1):
        masks = list(itertools.combinations(range(size), size * t // num_steps))
        for mask in masks:
            tokens = np.array(logicals)
            tokens[list(mask)] = MASK
            odds = table[int(tokens @ (3 ** np.arange(size)))]
            for k in mask:
                probability = 1 / (1 + np.exp(-odds[k]))
                total -= np.log(probability if logicals[k] else 1 - probability) / t / len(masks)
    return total


@pytest.mark.parametrize("num_steps", [1, 2, 4])
def test_masked_loss_estimates_the_papers_sum(num_steps):
    size = 4
    table = jr.normal(jr.key(3), (3**size, size))
    logicals = np.array([1, 0, 0, 1])
    # All (t, mask) pairs, each t equally often: the estimator's exact mean.
    values = []
    for t in range(1, num_steps + 1):
        masks = list(itertools.combinations(range(size), size * t // num_steps))
        tokens = np.tile(logicals, (len(masks), 1))
        for row, mask in zip(tokens, masks, strict=True):
            row[list(mask)] = MASK
        tokens = jnp.asarray(tokens, jnp.int32)
        values.append(
            masked_loss(
                table_logits(table, tokens),
                jnp.tile(jnp.asarray(logicals, jnp.uint8), (len(masks), 1)),
                tokens,
                jnp.full((len(masks),), t),
                num_steps,
            )
        )
    expected = paper_loss(np.asarray(table), logicals, num_steps)
    np.testing.assert_allclose(np.mean(values), expected, rtol=1e-5)


def test_minimum_of_the_masked_loss_is_the_exact_posterior():
    """Gradient descent on a table reaches q(l_k | shown) = p(l_k | shown) for all shown sets."""
    size = 3
    joint = np.array([0.3, 0.05, 0.1, 0.05, 0.02, 0.28, 0.05, 0.15])
    words = np.array(list(itertools.product([0, 1], repeat=size)))
    masks = [
        (t, mask) for t in range(1, size + 1) for mask in itertools.combinations(range(size), t)
    ]

    def loss(table):
        total = 0.0
        for t, mask in masks:
            hidden = np.zeros(size, bool)
            hidden[list(mask)] = True
            tokens = jnp.asarray(np.where(hidden, MASK, words), jnp.int32)
            cost = cross_entropy(table_logits(table, tokens), jnp.asarray(words, jnp.uint8))
            weight = jnp.asarray(joint[:, None] * hidden[None, :] / t, jnp.float32)
            total += jnp.sum(weight * cost)
        return total

    table = jnp.zeros((3**size, size))
    step = jax.jit(lambda table: table - 8.0 * jax.grad(loss)(table))
    for _ in range(3000):
        table = step(table)
    for t, mask in masks:
        for word in words:
            shown = [k for k in range(size) if k not in mask]
            matching = (words[:, shown] == word[shown]).all(axis=1)
            for k in mask:
                exact = joint[matching & (words[:, k] == 1)].sum() / joint[matching].sum()
                tokens = np.where(np.isin(np.arange(size), mask), MASK, word)
                odds = table[int(tokens @ (3 ** np.arange(size)))][k]
                assert abs(1 / (1 + np.exp(-odds)) - exact) < 1e-3, (t, mask, word, k)


def test_shown_bits_carry_no_loss():
    logits = jnp.array([[100.0, -3.0]])
    tokens = jnp.array([[0, MASK]], jnp.int32)
    loss = masked_loss(logits, jnp.array([[0, 0]], jnp.uint8), tokens, jnp.array([1]), 2)
    np.testing.assert_allclose(loss, 2 * np.log1p(np.exp(-3.0)), rtol=1e-6)


def test_autoregressive_loss_sums_the_chain():
    logits = jr.normal(jr.key(0), (4, 4))
    logicals = jnp.array([[1, 0, 1, 1]] * 4, jnp.uint8)
    loss = autoregressive_loss(logits, logicals, jnp.array([4, 3, 2, 1]))
    chain = sum(float(cross_entropy(logits, logicals)[i, i]) for i in range(4))
    np.testing.assert_allclose(loss, chain, rtol=1e-6)


def test_cross_entropy_does_not_overflow():
    value = cross_entropy(jnp.array([1e4, -1e4]), jnp.array([0, 0], jnp.uint8))
    np.testing.assert_allclose(value, [1e4, 0.0])


def test_gaussian_schedule_is_the_papers():
    beta = betas(200)
    np.testing.assert_allclose([beta[0], beta[-1]], [(0.1 + 19.9 / 200) / 200, 0.1])
    kept = alphas_bar(200)
    assert kept[0] == 1
    assert kept[-1] < 1e-4
    weights = time_probabilities(200)
    np.testing.assert_allclose(weights.sum(), 1)
    np.testing.assert_allclose(
        weights[-1] / weights[0], (beta[-1] ** 2 / (1 - kept[-1])) / (beta[0] ** 2 / (1 - kept[1]))
    )


def test_added_noise_has_the_stated_mean_and_spread():
    shots = 40_000
    noise = jr.normal(jr.key(1), (shots, 1))
    noisy = add_noise(jnp.full((shots, 1), 0.5), noise, jnp.full((shots,), 120), 200)
    kept = alphas_bar(200)[120]
    # Six standard errors: false alarm 2e-9.
    error = 6 * np.sqrt((1 - kept) / shots)
    np.testing.assert_allclose(np.mean(noisy), 0.5 * np.sqrt(kept), atol=error)
    np.testing.assert_allclose(np.var(noisy), 1 - kept, rtol=6 * np.sqrt(2 / shots))


def test_noise_loss_is_the_mean_squared_distance():
    loss = noise_loss(jnp.array([[1.0, 2.0], [0.0, 0.0]]), jnp.array([[0.0, 0.0], [0.0, 1.0]]))
    np.testing.assert_allclose(loss, (5 + 1) / 2)
