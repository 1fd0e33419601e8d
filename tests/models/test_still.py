"""The still decoder: only logical tokens move; what the checks tell them is computed once."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.decoding.expanded import expand_ties
from unmasq.diffusion.masking import NUM_TOKENS
from unmasq.models import NetworkConfig, build_network, geometry_for
from unmasq.models.views import Views, moved
from unmasq.problems.building import problem_from_code
from unmasq.problems.translates import translates_of

SMALL = NetworkConfig(
    width=16, feedforward=32, heads=4, encoder_layers=1, decoder_layers=2, decoder="still"
)


@pytest.fixture(scope="module")
def problem():
    return problem_from_code(get_code("bb18"), "circuit", 0.01, 1)


@pytest.fixture(scope="module")
def shots(problem):
    rng = np.random.default_rng(0)
    syndrome = jnp.asarray(rng.integers(0, 2, (5, problem.num_detectors)), jnp.uint8)
    tokens = jnp.asarray(rng.integers(0, 3, (5, problem.num_logicals)), jnp.int32)
    return syndrome, tokens


def network_for(problem, **changes):
    config = dataclasses.replace(SMALL, **changes)
    network = build_network(config, geometry_for(config, problem), key=jr.key(1))
    if config.place_weights:  # away from 1, so that they matter
        weights = [w * (1 + 0.3 * jr.normal(jr.key(2), w.shape)) for w in network.place_weights]
        network = eqx.tree_at(lambda net: net.place_weights, network, weights)
    return network


@eqx.filter_jit
def encode(network, syndrome):
    return network.encode(syndrome)


@eqx.filter_jit
def recalled(network, encoded, tokens):
    return network.denoise(network.recall(encoded), tokens)


@eqx.filter_jit
def begun(network, syndrome, tokens, sources=None):
    return network.denoise(network.begin(syndrome, sources).memory, tokens)


@eqx.filter_jit
def plain(network, encoded, tokens):
    """Every block mixes (tokens, M_R) whole; then M_R is put back."""
    x = jnp.eye(NUM_TOKENS)[tokens.T] @ network.token_embedding
    for number, block in enumerate(network.blocks):
        weights = None if network.place_weights is None else network.place_weights[number]
        x = block(jnp.concatenate([x, encoded]), network.places, weights, rows=len(x))
    if network.final_norm is not None:
        x = network.final_norm(x)
    return network.head(x)[:, :, 0].T


OPTIONS = [
    {},
    {"ties": "tied", "mixing": "messages", "biases": False},
    {"norm": "pre", "place_weights": True},
]


@pytest.mark.parametrize("changes", OPTIONS)
def test_recalling_once_equals_mixing_the_whole_memory_in_every_block(problem, shots, changes):
    network = network_for(problem, **changes)
    syndrome, tokens = shots
    expected = plain(network, encode(network, syndrome), tokens)
    np.testing.assert_allclose(begun(network, syndrome, tokens), expected, atol=1e-5)


@pytest.mark.parametrize("decoder", ["still", "joint"])
def test_views_of_a_memory_are_those_of_the_moved_memory(problem, shots, decoder):
    network = network_for(problem, ties="tied", mixing="messages", decoder=decoder)
    sources = Views(translates_of(problem)).sources[jnp.asarray([0, 4, 7])]
    syndrome, tokens = shots
    several = jnp.repeat(tokens, 3, axis=0)
    expected = recalled(network, moved(encode(network, syndrome), sources), several)
    found = begun(network, syndrome, several, sources)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert not np.allclose(found[0], found[1], atol=1e-3)


def test_a_still_decoder_has_values_only_for_what_logicals_read(problem):
    symmetry = problem.symmetry
    tied, joint = (network_for(problem, ties="tied", decoder=d) for d in ("still", "joint"))
    tokens, sites = symmetry.num_tokens, problem.layout.num_checks
    assert tied.places.num_values == tokens * (tokens + sites) // symmetry.order
    assert joint.places.num_values == (tokens + sites) ** 2 // symmetry.order
    assert network_for(problem).places.shape == (4, 22)


def test_written_out_ties_are_the_same_function(problem, shots):
    network = network_for(problem, ties="tied", mixing="messages")
    syndrome, tokens = shots
    expanded = expand_ties(network)
    assert expanded.places.index is None
    np.testing.assert_allclose(
        begun(expanded, syndrome, tokens), begun(network, syndrome, tokens), atol=1e-5
    )
