"""Attention that is written out computes the same function."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from table_denoisers import random_table
from unmasq.codes import get_code
from unmasq.decoding.expanded import expand_ties
from unmasq.models import NetworkConfig, build_network, geometry_for, initial_code_weights
from unmasq.problems.building import problem_from_code


@pytest.mark.parametrize(
    ("noise", "changes"),
    [
        ("circuit", {}),
        ("code-capacity", {"encoder_layers": 0, "place_weights": True}),
        ("code-capacity", {"bp_iterations": 6}),
    ],
    ids=["circuit", "code capacity", "beliefs"],
)
def test_written_out_attention_is_the_same_function(noise, changes):
    problem = problem_from_code(get_code("bb18"), noise, 0.01, rounds=2)
    config = NetworkConfig(
        width=16,
        feedforward=16,
        heads=4,
        ties="tied",
        **{"encoder_layers": 1, "decoder_layers": 2, **changes},
    )
    geometry = geometry_for(config, problem)
    network = build_network(config, geometry, initial_code_weights(problem), key=jr.key(0))
    network = jax.tree.map(_jittered, network)
    expanded = expand_ties(network)
    assert network.places.index is not None
    assert expanded.places.index is None
    assert (expanded.encoder.places.index is None) == bool(network.encoder.blocks)
    rng = np.random.default_rng(0)
    syndrome = jnp.asarray(rng.integers(0, 2, (8, problem.num_detectors)), jnp.uint8)
    tokens = jnp.asarray(rng.integers(0, 3, (8, problem.num_logicals)), jnp.int32)
    ask = eqx.filter_jit(lambda network: network.denoise(network.encode(syndrome), tokens))
    np.testing.assert_allclose(ask(expanded), ask(network), atol=1e-4)


def _jittered(leaf):
    """Weights that start equal (K, W) become different, so that a mix-up would show."""
    if not jnp.issubdtype(leaf.dtype, jnp.floating):
        return leaf
    noise = np.random.default_rng(leaf.size).normal(size=leaf.shape)
    return leaf + jnp.asarray(0.1 * noise, leaf.dtype)


def test_other_networks_come_back_as_they_are():
    network = random_table(2)
    assert expand_ties(network) is network
