"""Belief propagation before a network: the right odds in the right place, and what it leaves."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.models import Geometry, NetworkConfig, build_network, geometry_for
from unmasq.models.beliefs import BeliefEmbedding
from unmasq.models.capacity_beliefs import ASSUMED_P, CapacityBeliefs, feature_iterations
from unmasq.models.quaternary import QubitOdds, bp4_on_the_way, min_sum, neighbours_of, run_bp4
from unmasq.models.weights import load_weights, save_weights
from unmasq.problems.building import problem_from_code
from unmasq.problems.pauli_channel import pauli_channel
from unmasq.shots.sampling import EvaluationShots

CONFIG = NetworkConfig(
    width=16, feedforward=16, heads=2, encoder_layers=1, decoder_layers=1, bp_iterations=9
)


@pytest.fixture(scope="module")
def problem():
    return problem_from_code(get_code("bb18"), "code-capacity", 0.05)


@pytest.fixture(scope="module")
def shots(problem):
    return EvaluationShots(problem).chunk(0)


@pytest.fixture(scope="module")
def channel(problem):
    return pauli_channel(problem)


@pytest.fixture(scope="module")
def found(channel, shots):
    """Belief propagation as the baseline would run it."""
    prior = jnp.full((18, 1), np.log((1 - ASSUMED_P) / (ASSUMED_P / 3)), jnp.float32)
    return bp4_on_the_way(
        (neighbours_of(channel.checks_x), neighbours_of(channel.checks_z)),
        QubitOdds(prior, prior, prior),
        (shots.syndrome.T[channel.rows_x] == 1, shots.syndrome.T[channel.rows_z] == 1),
        iterations=feature_iterations(9),
        check_rule=min_sum(CONFIG.bp_scaling),
    )


def _beliefs(geometry, iterations):
    return CapacityBeliefs(geometry.qubits, geometry.layout, iterations, CONFIG.bp_scaling)


@pytest.mark.parametrize("tied", [True, False])
def test_a_check_is_told_the_odds_of_its_own_qubits(problem, channel, shots, found, tied):
    """First those of the bit it sees, then those of the other, after each number of iterations."""
    geometry = geometry_for(CONFIG, problem)
    if not tied:
        geometry = dataclasses.replace(geometry, symmetry=None)
    beliefs = _beliefs(geometry, 9)
    kinds = geometry.check_kinds(tied)
    embedding = BeliefEmbedding(beliefs.num_features, kinds, 16, key=jr.key(0))
    assert embedding.weight.shape == (1 if tied else 2, 37, 16)
    (features,) = np.asarray(eqx.filter_jit(beliefs)(shots.syndrome.T[None]).features)
    for check in range(18):
        qubits = geometry.qubits.of_checks[check]
        sees_z = check in channel.rows_x
        pairs = [(r.z_odds, r.x_odds) if sees_z else (r.x_odds, r.z_odds) for r in found]
        wanted = np.concatenate([odds[qubits] for pair in pairs for odds in pair])
        np.testing.assert_allclose(features[check, 1:], np.tanh(wanted / 6), atol=1e-4)
        fired = np.asarray(shots.syndrome)[:, check]
        np.testing.assert_array_equal(features[check, 0], np.where(fired, -1, 1))


def test_what_is_left_is_the_sum_of_guess_and_error(problem, channel, shots, found):
    beliefs = _beliefs(geometry_for(CONFIG, problem), 9)
    outcome = eqx.filter_jit(beliefs)(shots.syndrome.T[None])
    x_bits, z_bits = (np.asarray(bits).astype(int) for bits in (found[-1].x_bits, found[-1].z_bits))
    guess = (channel.logicals_of_x @ x_bits + channel.logicals_of_z @ z_bits).T % 2
    np.testing.assert_array_equal(outcome.guess, guess)
    left = np.asarray(shots.syndrome).T.copy()
    left[channel.rows_x] ^= (channel.checks_x @ z_bits % 2).astype(np.uint8)
    left[channel.rows_z] ^= (channel.checks_z @ x_bits % 2).astype(np.uint8)
    np.testing.assert_array_equal(outcome.residual[0], left)
    np.testing.assert_array_equal(outcome.solved, ~left.any(axis=0))
    converged = np.asarray(found[-1].converged)
    assert 0.5 < converged.mean() < 1
    assert not left[:, converged].any()
    assert left[:, ~converged].any(axis=0).all()
    right = (guess == np.asarray(shots.logicals)).all(axis=1)
    assert right[converged].mean() > 0.9


def test_missing_qubits_are_told_as_undecided(problem, shots):
    geometry = geometry_for(CONFIG, problem)
    of_checks = geometry.qubits.of_checks.copy()
    of_checks[0, 2] = -1
    qubits = dataclasses.replace(geometry.qubits, of_checks=of_checks)
    geometry = dataclasses.replace(geometry, qubits=qubits, symmetry=None)
    (features,) = eqx.filter_jit(_beliefs(geometry, 4))(shots.syndrome.T[None]).features
    np.testing.assert_array_equal(features[0, 3::6], 0)
    assert (np.abs(features[0, 4::6]) > 0).all()


def test_the_network_uses_them_and_a_weight_file_carries_them(tmp_path, problem, shots):
    config = dataclasses.replace(CONFIG, ties="tied")
    geometry = geometry_for(config, problem)
    network = build_network(config, geometry, key=jr.key(0))
    begin = eqx.filter_jit(lambda net: net.begin(shots.syndrome))
    without = eqx.tree_at(
        lambda net: net.encoder.bp_embedding.weight, network, replace_fn=jnp.zeros_like
    )
    beginning = begin(network)
    assert np.abs(beginning.memory - begin(without).memory).max() > 0.1
    encode = eqx.filter_jit(lambda net: net.encode(shots.syndrome))
    np.testing.assert_allclose(encode(network), beginning.memory, atol=1e-5)
    (only,) = eqx.filter_jit(lambda net: net.encoder.all_frames(shots.syndrome))(network)
    np.testing.assert_allclose(only, beginning.memory, atol=1e-5)
    header = {"name": "n", "structure_id": "s", "objective": "masked", "num_steps": 8}
    path = tmp_path / "n.safetensors"
    save_weights(path, network, config, geometry, header, np.float32)
    for again, was in zip(begin(load_weights(path).network), beginning, strict=True):
        np.testing.assert_array_equal(again, was)


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_every_part_of_the_encoder_starts_from_a_key_of_its_own(monkeypatch, problem, layers):
    """`fold_in(key, i)` equals child i of `split(key)`: two draws must not meet there."""
    drawn = []
    normal = jr.normal

    def recorded(key, shape):
        drawn.append((jr.key_data(key).tobytes(), shape))
        return normal(key, shape)

    monkeypatch.setattr(jr, "normal", recorded)
    config = dataclasses.replace(CONFIG, encoder_layers=layers)
    build_network(config, geometry_for(config, problem), key=jr.key(0))
    assert len({key for key, _ in drawn}) == len(drawn) > 5


def test_a_denoiser_is_asked_only_through_what_says_whose_logicals_it_means(problem):
    """denoise(encode(s), l) speaks of what a guess left: nobody may take it for the shot's own."""
    assert not callable(build_network(CONFIG, geometry_for(CONFIG, problem), key=jr.key(0)))


def test_qubits_are_those_of_code_capacity_noise(problem):
    circuit = problem_from_code(get_code("bb18"), "circuit", 0.003, 2, "X")
    assert geometry_for(CONFIG, circuit).qubits is None
    with pytest.raises(ValueError, match="whose faults are not known"):
        build_network(CONFIG, Geometry.of(circuit), key=jr.key(0))
    with pytest.raises(ValueError, match="bp_iterations must be 0 for a circuit without a known"):
        geometry_for(CONFIG, dataclasses.replace(circuit, symmetry=None))
    plain = dataclasses.replace(CONFIG, bp_iterations=0)
    assert geometry_for(plain, problem).qubits is None
    assert build_network(plain, Geometry.of(problem), key=jr.key(0)).encoder.bp_embedding is None
    with pytest.raises(ValueError, match="bp_iterations must be 0 for a continuous network: got 9"):
        dataclasses.replace(CONFIG, kind="continuous")
    with pytest.raises(ValueError, match="bp_iterations must be at least 0"):
        dataclasses.replace(CONFIG, bp_iterations=-1)


def test_the_scaling_of_the_messages_is_a_setting(problem, channel, shots):
    prior = jnp.full((18, 1), np.log((1 - ASSUMED_P) / (ASSUMED_P / 3)), jnp.float32)
    weights = []
    for scaling in (0.5, 1.0):
        config = dataclasses.replace(CONFIG, bp_iterations=9, bp_scaling=scaling)
        network = build_network(config, geometry_for(config, problem), key=jr.key(0))
        expected = run_bp4(
            (neighbours_of(channel.checks_x), neighbours_of(channel.checks_z)),
            QubitOdds(prior, prior, prior),
            (shots.syndrome.T[channel.rows_x] == 1, shots.syndrome.T[channel.rows_z] == 1),
            num_iterations=9,
            check_rule=min_sum(scaling),
        )
        weight = eqx.filter_jit(network.encoder.run_bp)(shots.syndrome).weight
        np.testing.assert_array_equal(weight, (expected.x_bits | expected.z_bits).sum(axis=0))
        weights.append(np.asarray(weight))
    assert (weights[0] != weights[1]).any()
    with pytest.raises(ValueError, match=r"bp_scaling must lie in \(0, 1\]: got 1.5."):
        dataclasses.replace(CONFIG, bp_scaling=1.5)
