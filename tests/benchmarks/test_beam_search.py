"""Beam search and enumeration against greedy unmasking and exact posteriors."""

import itertools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from beam_search import (
    _best_reveals,
    _names_after,
    beam_search,
    chain_log_probabilities,
    denoise_many,
    strings_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from table_denoisers import exact_table, random_posterior, random_table
from unmasq.decoding.unmasking import unmask
from unmasq.diffusion.masking import MASK

ROWS = 4
SYNDROMES = jnp.asarray([[0, 0], [1, 0], [0, 1], [1, 1]], jnp.uint8)


@eqx.filter_jit
def searched(network, num_logicals, width):
    many = denoise_many(network, network.encode(SYNDROMES))
    return beam_search(many, ROWS, num_logicals, width)


@eqx.filter_jit
def greedy(network, num_logicals):
    memory = network.encode(SYNDROMES)
    return unmask(lambda tokens: network.denoise(memory, tokens), ROWS, num_logicals, num_logicals)


@eqx.filter_jit
def chain(network, num_logicals, order=None):
    many = denoise_many(network, network.encode(SYNDROMES))
    return chain_log_probabilities(many, ROWS, num_logicals, order)


def best_by_listing(network, num_logicals) -> np.ndarray:
    """max over orders and values of the sum of log q, shot by shot, by listing every order."""
    table = np.asarray(network.table, np.float64)
    powers = 3 ** np.arange(num_logicals)
    best = np.full(ROWS, -np.inf)
    for order in itertools.permutations(range(num_logicals)):
        for values in itertools.product((0, 1), repeat=num_logicals):
            tokens = np.full(num_logicals, MASK)
            total = np.zeros(ROWS)
            for k in order:
                logit = table[:, tokens @ powers, k]
                total -= np.logaddexp(0, -logit if values[k] else logit)
                tokens[k] = values[k]
            best = np.maximum(best, total)
    return best


@settings(max_examples=40)
@given(st.sampled_from([1, 5]), st.integers(0, 100))
def test_width_1_is_greedy_decoding(num_logicals, seed):
    network = random_table(num_logicals, seed=seed)
    for one, other in zip(
        searched(network, num_logicals, 1), greedy(network, num_logicals), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@settings(max_examples=40)
@given(st.sampled_from([3, 5]), st.just(3), st.integers(0, 200))
def test_the_value_is_never_below_greedy(num_logicals, width, seed):
    network = random_table(num_logicals, seed=seed)
    value = searched(network, num_logicals, width).log_likelihood
    assert (value >= greedy(network, num_logicals).log_likelihood - 1e-5).all()


@settings(max_examples=10)
@given(st.sampled_from([1, 3]), st.integers(0, 100))
def test_a_beam_as_wide_as_all_strings_finds_the_maximum(num_logicals, seed):
    network = random_table(num_logicals, seed=seed)
    width = max(
        len(list(itertools.combinations(range(num_logicals), j))) * 2**j
        for j in range(num_logicals + 1)
    )
    np.testing.assert_allclose(
        searched(network, num_logicals, width).log_likelihood,
        best_by_listing(network, num_logicals),
        atol=1e-5,
    )


def test_a_wider_beam_finds_what_greedy_misses():
    """The last bit is 0 for sure enough, but then the others are coin tosses."""
    posterior = np.array([[0.175, 0.175, 0.175, 0.175, 0, 0, 0, 0.3]])
    network = exact_table(np.repeat(posterior, ROWS, axis=0))
    np.testing.assert_allclose(np.exp(greedy(network, 3).log_likelihood), 0.175, rtol=1e-5)
    wide = searched(network, 3, 2)
    np.testing.assert_array_equal(wide.logicals, [[1, 1, 1]] * ROWS)
    np.testing.assert_allclose(np.exp(wide.log_likelihood), 0.3, rtol=1e-5)


def test_strings_reached_in_two_orders_take_one_place():
    """Two parents that differ in their shown bit lead to one string, the likeliest next one."""
    tokens = jnp.asarray([[[1, MASK, MASK], [MASK, 1, MASK]]], jnp.int32)
    logits = jnp.asarray([[[0.0, 3.0, 0.1], [2.0, 0.0, 0.1]]])
    index, value = _best_reveals(tokens, logits, jnp.asarray([[-0.5, -0.1]]))
    # 11? from its better parent, the second; then ?11, and not 11? from the first.
    np.testing.assert_array_equal(index[0, 0], 6 + 1)
    np.testing.assert_array_equal(index[0, 1], 6 + 4 + 1)
    np.testing.assert_allclose(value[0], [-0.1 - np.log1p(np.exp(-b)) for b in (2, 0.1)], rtol=1e-5)


@pytest.mark.parametrize("num_logicals", [3, 16, 17, 20])
def test_names_are_equal_just_where_strings_are(num_logicals):
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, 3, (1, 6, num_logicals))
    tokens[0, 1::2] = tokens[0, 0::2]  # pairs that lead to one string: 1...? and ?...0
    tokens[0, 0::2, [0, -1]] = [[1], [MASK]]
    tokens[0, 1::2, [0, -1]] = [[MASK], [0]]
    names = np.asarray(_names_after(jnp.asarray(tokens, jnp.int32)))
    found, expected = [], []
    for w, k in np.argwhere(tokens[0] == MASK):
        for bit in (0, 1):
            string = tokens[0, w].copy()
            string[k] = bit
            expected.append(tuple(string))
            found.append(tuple(names[0, w, k, bit]))
    same = [[a == b for b in expected] for a in expected]
    assert [[a == b for b in found] for a in found] == same
    assert np.array(same).sum() > len(same)  # some strings are reached twice


@settings(max_examples=20)
@given(st.sampled_from([None, (2, 0, 3, 1)]), st.integers(0, 100))
def test_the_chain_of_an_exact_denoiser_is_the_posterior_in_every_order(order, seed):
    posterior = random_posterior(4, seed=seed)
    table = chain(exact_table(posterior), 4, order)
    np.testing.assert_allclose(np.exp(table), posterior, rtol=1e-4, atol=1e-6)


@settings(max_examples=20)
@given(st.integers(0, 100))
def test_any_chain_adds_up_to_one(seed):
    table = chain(random_table(4, seed=seed), 4)
    np.testing.assert_allclose(np.exp(table).sum(axis=1), 1, rtol=1e-5)


def test_exact_denoisers_make_the_widest_beam_the_most_likely_string():
    posterior = random_posterior(3, seed=5)
    best = strings_of(posterior.argmax(axis=1), 3)
    np.testing.assert_array_equal(searched(exact_table(posterior), 3, 12).logicals, best)


def test_wrong_arguments_are_refused():
    network = random_table(2)
    many = denoise_many(network, network.encode(SYNDROMES))
    with pytest.raises(ValueError, match="width must be at least 1: got 0"):
        beam_search(many, ROWS, 2, 0)
    with pytest.raises(ValueError, match="each of the 2 logicals once"):
        chain_log_probabilities(many, ROWS, 2, [0, 0])
    with pytest.raises(ValueError, match="at most 16"):
        chain_log_probabilities(many, ROWS, 17)
