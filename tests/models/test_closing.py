"""Closing layers: blocks of messages after the last frame, wherever the hidden state is read."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.models import NetworkConfig, build_network, geometry_for
from unmasq.models.views import Views, moved
from unmasq.models.weights import load_weights, named_arrays, save_weights
from unmasq.problems.building import problem_from_code
from unmasq.problems.translates import translates_of
from unmasq.training import OptimizerConfig
from unmasq.training.update import learning_rates

PLAIN = NetworkConfig(
    width=16,
    feedforward=32,
    heads=4,
    encoder_layers=1,
    decoder_layers=1,
    ties="tied",
    mixing="messages",
    message_width=8,
    decoder="still",
)
CLOSING = dataclasses.replace(PLAIN, closing_layers=2)


@pytest.fixture(scope="module")
def problem():
    return problem_from_code(get_code("bb18"), "circuit", 0.01, 1)


@pytest.fixture(scope="module")
def shots(problem):
    rng = np.random.default_rng(0)
    syndrome = jnp.asarray(rng.integers(0, 2, (5, problem.num_detectors)), jnp.uint8)
    tokens = jnp.asarray(rng.integers(0, 3, (5, problem.num_logicals)), jnp.int32)
    return syndrome, tokens


def network_for(problem, config, **changes):
    config = dataclasses.replace(config, **changes)
    return build_network(config, geometry_for(config, problem), key=jr.key(1))


def speaking(network):
    """The network with closing blocks that change what they are given."""

    def noisy(leaf):
        return leaf + 0.3 * jr.normal(jr.key(leaf.size), leaf.shape)

    blocks = jax.tree.map(noisy, network.encoder.closing_blocks)
    return eqx.tree_at(lambda net: net.encoder.closing_blocks, network, blocks)


@eqx.filter_jit
def begun(network, syndrome, tokens, sources=None):
    return network.denoise(network.begin(syndrome, sources).memory, tokens)


@eqx.filter_jit
def closed(network, syndrome):
    return network.encoder.close(network.encode(syndrome))


@pytest.mark.parametrize(
    "changes", [{}, {"decoder": "joint"}, {"norm": "pre"}, {"biases": False}], ids=str
)
def test_closing_layers_change_nothing_at_first(problem, shots, changes):
    plain = network_for(problem, PLAIN, **changes)
    network = network_for(problem, CLOSING, **changes)
    expected = begun(plain, *shots)
    np.testing.assert_array_equal(begun(network, *shots), expected)
    assert not np.allclose(begun(speaking(network), *shots), expected, atol=1e-2)


def test_closing_layers_leave_the_first_weights_of_all_others_as_they_are(problem):
    plain, closing = (named_arrays(network_for(problem, config)) for config in (PLAIN, CLOSING))
    added = closing.keys() - plain.keys()
    assert {name.rpartition("closing_blocks.")[0] for name in added} == {"encoder."}
    for name, array in plain.items():
        np.testing.assert_array_equal(closing[name], array, err_msg=name)
    drawn = [array for name, array in closing.items() if name.endswith("mixing.reduce.0.weight")]
    assert len({array.tobytes() for array in drawn}) == 3


def test_what_the_decoder_reads_moves_with_every_translation(problem, shots):
    network = speaking(network_for(problem, CLOSING))
    syndrome, _ = shots
    state = closed(network, syndrome)
    for images in problem.symmetry.check_images:
        turned = jnp.zeros_like(syndrome)
        for r in range(problem.layout.num_frames):
            first = r * problem.layout.num_checks
            turned = turned.at[:, first + images].set(syndrome[:, first : first + len(images)])
        np.testing.assert_allclose(closed(network, turned)[images], state, atol=5e-5)


@pytest.mark.parametrize("decoder", ["still", "joint"])
def test_views_are_of_the_closed_state(problem, shots, decoder):
    network = speaking(network_for(problem, CLOSING, decoder=decoder))
    sources = Views(translates_of(problem)).sources[jnp.asarray([0, 4, 7])]
    syndrome, tokens = shots
    several = jnp.repeat(tokens, 3, axis=0)
    plain = eqx.tree_at(lambda net: net.encoder.closing_blocks, network, [])

    @eqx.filter_jit
    def expected(state):
        return plain.denoise(plain.recall(moved(state, sources)), several)

    found = begun(network, syndrome, several, sources)
    np.testing.assert_allclose(found, expected(closed(network, syndrome)), atol=1e-4)


def test_frames_are_not_closed_one_after_the_other(problem, shots):
    network = network_for(problem, CLOSING)
    syndrome, _ = shots
    encode = eqx.filter_jit(lambda net: net.encode(syndrome))
    np.testing.assert_array_equal(encode(speaking(network)), encode(network))


def test_muon_takes_the_matrices_of_closing_layers(problem):
    weights = eqx.filter(network_for(problem, CLOSING), eqx.is_inexact_array)
    rates = learning_rates(OptimizerConfig("muon", 1e-3, 2e-2), weights).encoder.closing_blocks
    for block in rates:
        matrices = [*jax.tree.leaves(block.mixing), block.feedforward.up, block.feedforward.down]
        found = [getattr(matrix, "weight", matrix) for matrix in matrices]
        assert len(found) == 8
        assert min(found) >= 2e-2
        assert block.feedforward.up.bias == block.mixing_norm.scale == 1e-3


def test_a_weight_file_carries_closing_layers(problem, shots, tmp_path):
    network = speaking(network_for(problem, CLOSING))
    header = {"name": "x", "structure_id": "0" * 16, "objective": "masked", "num_steps": 4}
    geometry = geometry_for(CLOSING, problem)
    save_weights(tmp_path / "x.safetensors", network, CLOSING, geometry, header, np.float32)
    again = load_weights(tmp_path / "x.safetensors")
    assert again.config == CLOSING
    np.testing.assert_array_equal(begun(again.network, *shots), begun(network, *shots))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"closing_layers": -1}, "closing_layers must be at least 0: got -1"),
        ({"closing_layers": 1001}, "closing_layers must be at most 1000: got 1001"),
        (
            {"mixing": "attention"},
            "closing_layers must be 0 for a network without messages: got 2. Set network.mixing",
        ),
    ],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=message) as refused:
        dataclasses.replace(CLOSING, **changes)
    assert "\n" not in str(refused.value)
