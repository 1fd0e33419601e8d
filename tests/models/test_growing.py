"""Networks with more layers than the weights that they start from."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.models import NetworkConfig, build_network, geometry_for
from unmasq.models.growing import grown
from unmasq.models.lifting import NotLiftableError
from unmasq.models.weights import named_arrays, with_weights
from unmasq.problems.building import problem_from_code

SMALL = NetworkConfig(
    width=8,
    feedforward=16,
    heads=2,
    encoder_layers=1,
    decoder_layers=1,
    ties="tied",
    mixing="messages",
    message_width=4,
    decoder="still",
)


def network_for(problem, seed, **changes):
    config = dataclasses.replace(SMALL, **changes)
    return build_network(config, geometry_for(config, problem), key=jr.key(seed))


def weights_of(network):
    return named_arrays(eqx.filter(network, eqx.is_inexact_array))


def trained_for(problem, **changes):
    """As if trained: no array is what it was at first."""

    def noisy(leaf):
        return leaf + 0.3 * jr.normal(jr.key(leaf.size), leaf.shape)

    weights, rest = eqx.partition(network_for(problem, 1, **changes), eqx.is_inexact_array)
    return eqx.combine(jax.tree.map(noisy, weights), rest)


@eqx.filter_jit
def asked(network, syndrome, tokens):
    return network.denoise(network.begin(syndrome).memory, tokens)


@pytest.fixture(scope="module")
def problem():
    return problem_from_code(get_code("bb18"), "circuit", 0.01, 2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {"encoder_layers": 2}),
        ({"encoder_layers": 2}, {"encoder_layers": 4, "closing_layers": 1}),
        ({"biases": False}, {"encoder_layers": 3, "biases": False}),
        ({"norm": "pre"}, {"encoder_layers": 2, "norm": "pre"}),
        ({"closing_layers": 1}, {"closing_layers": 2}),
        ({"decoder": "joint"}, {"closing_layers": 2, "decoder": "joint"}),
    ],
    ids=str,
)
def test_a_grown_network_answers_as_the_old_one(problem, old, new):
    before = trained_for(problem, **old)
    found = grown(network_for(problem, 2, **new), weights_of(before))
    after = with_weights(found.network, {**found.added, **found.arrays})
    rng = np.random.default_rng(0)
    syndrome = jnp.asarray(rng.integers(0, 2, (7, problem.num_detectors)), jnp.uint8)
    tokens = jnp.asarray(rng.integers(0, 3, (7, problem.num_logicals)), jnp.int32)
    expected = asked(before, syndrome, tokens)
    np.testing.assert_allclose(asked(after, syndrome, tokens), expected, atol=2e-4)
    assert np.abs(expected).max() > 0.1
    assert len(found.words) == len(new.keys() & {"encoder_layers", "closing_layers"})


def test_added_layers_are_random_but_for_what_leads_out_of_them(problem):
    fresh = network_for(problem, 2, encoder_layers=2)
    found = grown(fresh, weights_of(trained_for(problem)))
    start = weights_of(fresh)
    silent = {name for name, array in found.added.items() if not np.any(array)}
    kept = {name for name, array in found.added.items() if np.array_equal(array, start[name])}
    assert silent | kept == found.added.keys()
    assert {name.partition("blocks.1.")[2] for name in silent - kept} == {
        "mixing.to_checks.0.weight",
        "mixing.to_checks.1.weight",
        "feedforward.down.weight",
    }


def test_as_many_layers_leave_everything_as_it_is(problem):
    network, weights = network_for(problem, 2), weights_of(trained_for(problem))
    found = grown(network, weights)
    assert found.network is network
    assert (found.arrays, found.added, found.words) == (weights, {}, [])


def test_networks_of_attention_do_not_grow(problem):
    attention = {"mixing": "attention"}
    network = network_for(problem, 2, encoder_layers=2, **attention)
    weights = weights_of(network_for(problem, 1, **attention))
    found = grown(network, weights)
    assert found.network is network
    assert not found.added


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            {"encoder_layers": 2},
            {},
            "network.encoder_layers must be at least that of the weights to start from, 2: got 1",
        ),
        (
            {"closing_layers": 3},
            {"closing_layers": 1},
            "network.closing_layers must be at least that of the weights to start from, 3: got 1",
        ),
    ],
)
def test_fewer_layers_than_the_weights_have_are_refused(problem, old, new, message):
    with pytest.raises(NotLiftableError, match=message) as refused:
        grown(network_for(problem, 2, **new), weights_of(network_for(problem, 1, **old)))
    assert "\n" not in str(refused.value)


def test_encoder_layers_are_not_added_where_there_were_none():
    problem = problem_from_code(get_code("bb18"), "code-capacity", 0.05)
    none = weights_of(network_for(problem, 1, encoder_layers=0))
    with pytest.raises(NotLiftableError, match="encoder_layers must be 0, .* got 2") as refused:
        grown(network_for(problem, 2, encoder_layers=2), none)
    assert "\n" not in str(refused.value)
    assert grown(network_for(problem, 2, encoder_layers=0, closing_layers=2), none).added
