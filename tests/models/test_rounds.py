"""Trained weights on other numbers of rounds: which K each frame takes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.diffusion.masking import MASK
from unmasq.models import NetworkConfig, build_network, for_rounds
from unmasq.models.catalogue_geometries import memory_geometry

CONFIG = NetworkConfig(
    width=8, feedforward=8, heads=2, encoder_layers=1, decoder_layers=1, ties="tied"
)
SITES = 18


@pytest.fixture(scope="module")
def trained():
    """A network for 3 rounds, with different K in every frame."""
    geometry = memory_geometry("bb18", 3)
    values = geometry.check_ties(True).num_values
    net = build_network(CONFIG, geometry, key=jr.key(0))
    code_weights = jr.normal(jr.key(1), (4, values))
    return jax.tree.map(
        lambda leaf: code_weights if leaf is net.encoder.code_weights else leaf, net
    )


@pytest.mark.parametrize(
    ("rounds", "frames"),
    [(1, [0, 3]), (2, [0, 1, 3]), (3, [0, 1, 2, 3]), (5, [0, 1, 2, 2, 2, 3])],
)
def test_each_frame_takes_its_trained_weights(trained, rounds, frames):
    other = for_rounds(trained, memory_geometry("bb18", rounds))
    expected = np.asarray(trained.encoder.code_weights)[frames]
    np.testing.assert_array_equal(other.encoder.code_weights, expected)


def test_more_rounds_repeat_the_last_noisy_one(trained):
    other = for_rounds(trained, memory_geometry("bb18", 4))
    syndrome = jnp.asarray(np.random.default_rng(0).integers(0, 2, (2, 5 * SITES)), jnp.uint8)
    tokens = jnp.full((2, trained.num_logicals), MASK, jnp.int32)
    encoder = trained.encoder
    state = jnp.zeros((SITES, 2, CONFIG.width))
    for r, frame in enumerate([0, 1, 2, 2, 3]):  # the recurrence, written out
        state = state + encoder.embedding(syndrome[:, r * SITES : (r + 1) * SITES].T)
        for block in encoder.blocks:
            state = eqx.filter_jit(block)(state, encoder.places, encoder.code_weights[frame])
    denoise = eqx.filter_jit(type(other).denoise)
    logits = denoise(other, eqx.filter_jit(other.encode)(syndrome), tokens)
    np.testing.assert_allclose(logits, denoise(trained, state, tokens), atol=1e-5)
    assert not np.allclose(logits[0], logits[1])


def test_another_code_is_refused(trained):
    with pytest.raises(ValueError, match="18 check sites and 4 logicals: got 36 and 8"):
        for_rounds(trained, memory_geometry("bb36", 2))


def test_a_network_without_rounds_is_refused(trained):
    with pytest.raises(ValueError, match="rounds must be at least 1"):
        for_rounds(trained, memory_geometry("bb18", 0))
    alone = build_network(CONFIG, memory_geometry("bb18", 0), key=jr.key(0))
    with pytest.raises(ValueError, match="rounds must be at least 1"):
        for_rounds(alone, memory_geometry("bb18", 2))
