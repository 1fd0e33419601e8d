"""What a network is told of belief propagation: the right odds, in the right place."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.building import problem_from_code
from unmasq.checkpoint import load_weights, save_weights
from unmasq.codes import get_code
from unmasq.models import Geometry, NetworkConfig, build_network, geometry_for
from unmasq.models.beliefs import ASSUMED_P, SCALING, BeliefEmbedding, looks
from unmasq.pauli_channel import pauli_channel
from unmasq.quaternary import QubitOdds, bit_odds, min_sum, tanner_graph

CONFIG = NetworkConfig(
    width=16, feedforward=16, heads=2, encoder_layers=1, decoder_layers=1, bp_iterations=9
)


@pytest.fixture(scope="module")
def problem():
    return problem_from_code(get_code("bb18"), "code-capacity", 0.05)


@pytest.fixture(scope="module")
def syndrome(problem):
    bits = np.random.default_rng(0).integers(0, 2, (5, problem.num_detectors))
    return jnp.asarray(bits, jnp.uint8)


@pytest.mark.parametrize("tied", [True, False])
def test_a_check_is_told_the_odds_of_its_own_qubits(problem, syndrome, tied):
    """First those of the bit it sees, then those of the other, after each number of iterations."""
    channel, geometry = pauli_channel(problem), geometry_for(CONFIG, problem)
    if not tied:
        geometry = dataclasses.replace(geometry, symmetry=None)
    embedding = BeliefEmbedding(9, geometry, tied, 16, key=jr.key(0))
    assert embedding.weight.shape == (1 if tied else 2, 36, 16)
    features = np.asarray(eqx.filter_jit(embedding.features)(syndrome.T))
    prior = jnp.full((18, 1), np.log((1 - ASSUMED_P) / (ASSUMED_P / 3)), jnp.float32)
    odds = bit_odds(
        tanner_graph(channel.checks_x),
        tanner_graph(channel.checks_z),
        QubitOdds(prior, prior, prior),
        syndrome.T[:9] == 1,
        syndrome.T[9:] == 1,
        iterations=looks(9),
        check_rule=min_sum(SCALING),
    )
    for check in range(18):
        qubits = geometry.qubits[check]
        sees_z = check < 9
        expected = [o[qubits] for x, z in odds for o in ((z, x) if sees_z else (x, z))]
        told = 6 * np.arctanh(np.clip(features[check], -0.99999, 0.99999))
        wanted = np.concatenate(expected)
        moderate = np.abs(wanted) < 20
        assert moderate.mean() > 0.5
        np.testing.assert_allclose(told[moderate], wanted[moderate], rtol=1e-2, atol=1e-3)


def test_missing_qubits_are_told_as_undecided(problem, syndrome):
    geometry = geometry_for(CONFIG, problem)
    qubits = geometry.qubits.copy()
    qubits[0, 2] = -1
    geometry = dataclasses.replace(geometry, qubits=qubits, symmetry=None)
    embedding = BeliefEmbedding(4, geometry, False, 16, key=jr.key(0))
    features = eqx.filter_jit(embedding.features)(syndrome.T)
    np.testing.assert_array_equal(features[0, 2::6], 0)
    assert (np.abs(features[0, 3::6]) > 0).all()


def test_the_network_uses_them_and_a_weight_file_carries_them(tmp_path, problem, syndrome):
    config = dataclasses.replace(CONFIG, ties="tied")
    geometry = geometry_for(config, problem)
    network = build_network(config, geometry, key=jr.key(0))
    encode = eqx.filter_jit(lambda net, s: net.encode(s))
    without = eqx.tree_at(
        lambda net: net.encoder.beliefs.weight, network, replace_fn=jnp.zeros_like
    )
    state = encode(network, syndrome)
    assert np.abs(state - encode(without, syndrome)).max() > 0.1
    header = {"name": "n", "structure_id": "s", "objective": "masked", "num_steps": 8}
    path = tmp_path / "n.safetensors"
    save_weights(path, network, config, geometry, header, np.float32)
    loaded = load_weights(path)
    np.testing.assert_array_equal(loaded.geometry.qubits, geometry.qubits)
    np.testing.assert_array_equal(encode(loaded.network, syndrome), state)


def test_only_code_capacity_noise_has_them(problem):
    circuit = problem_from_code(get_code("bb18"), "circuit", 0.003, 2, "X")
    assert geometry_for(CONFIG, circuit).qubits is None
    with pytest.raises(ValueError, match="bp_iterations must be 0 for other noise"):
        build_network(CONFIG, geometry_for(CONFIG, circuit), key=jr.key(0))
    plain = dataclasses.replace(CONFIG, bp_iterations=0)
    assert geometry_for(plain, problem).qubits is None
    assert build_network(plain, Geometry.of(problem), key=jr.key(0)).encoder.beliefs is None
    with pytest.raises(ValueError, match="bp_iterations must be at least 0"):
        dataclasses.replace(CONFIG, bp_iterations=-1)
