"""Belief propagation before a network for circuit noise: what it solves, leaves and tells."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.models import NetworkConfig, build_network, for_rounds, geometry_for
from unmasq.models.circuit_beliefs import CircuitBeliefs
from unmasq.models.weights import load_weights, save_weights
from unmasq.problems.building import problem_from_code
from unmasq.problems.rounds import with_rounds
from unmasq.shots.sampling import EvaluationShots

CONFIG = NetworkConfig(
    width=16,
    feedforward=16,
    heads=4,
    encoder_layers=1,
    decoder_layers=1,
    ties="tied",
    mixing="messages",
    message_width=8,
    decoder="still",
    bp_iterations=12,
    bp_scaling=1.0,
    bp_memory=0.15,
)
SHOTS = 128


@pytest.fixture(scope="module")
def problem():
    return problem_from_code(get_code("bb18"), "circuit", 0.006, 3)


@pytest.fixture(scope="module")
def shots(problem):
    found = EvaluationShots(problem).chunk(0)
    return np.asarray(found.syndrome)[:SHOTS], np.asarray(found.logicals)[:SHOTS]


@pytest.fixture(scope="module")
def network(problem):
    return build_network(CONFIG, geometry_for(CONFIG, problem), key=jr.key(0))


@pytest.fixture(scope="module")
def outcome(network, shots):
    return eqx.filter_jit(lambda net, s: net.encoder.run_bp(s))(network, jnp.asarray(shots[0]))


def test_guess_and_rest_make_the_shot(problem, shots, outcome):
    """Where nothing is left the guess is one of the errors with this syndrome; mostly the right."""
    left = np.asarray(outcome.residual).transpose(2, 0, 1).reshape(SHOTS, -1)
    sees = problem.layout.check_type == 0
    other = np.tile(~sees, 4)
    np.testing.assert_array_equal(left[:, other], shots[0][:, other])
    solved = np.asarray(outcome.solved)
    np.testing.assert_array_equal(solved, ~left[:, ~other].any(axis=1))
    assert 0.3 < solved.mean() < 1
    right = (np.asarray(outcome.guess) == shots[1]).all(axis=1)
    assert right[solved].mean() > 0.8


def test_what_is_told_moves_with_the_shot(problem, network, shots, outcome):
    grid = problem.layout.grid()
    images = problem.symmetry.check_images[4]
    moved = np.empty_like(shots[0])
    moved[:, grid[:, images]] = shots[0][:, grid]
    there = eqx.filter_jit(lambda s: network.encoder.run_bp(s))(jnp.asarray(moved))
    sites = network.encoder.beliefs.sites
    places = np.searchsorted(sites, images[np.asarray(sites)])
    solved = np.asarray(outcome.solved)  # sums in another order: an unsolved shot may drift
    np.testing.assert_array_equal(there.solved, solved)
    np.testing.assert_allclose(
        there.features[:, places][..., solved], outcome.features[..., solved], atol=1e-3
    )


def test_a_filter_leaves_the_network_alone(problem, shots):
    """A network that only asks for what BP solves reads and predicts as one without BP."""
    plain = dataclasses.replace(CONFIG, bp_iterations=0, bp_use="start")
    filtering = dataclasses.replace(CONFIG, bp_use="filter")
    answers = []
    for config in (plain, filtering):
        network = build_network(config, geometry_for(config, problem), key=jr.key(1))
        begin = eqx.filter_jit(lambda net: net.begin(jnp.asarray(shots[0])))
        found = begin(network)
        assert found.guess is None
        answers.append(np.asarray(found.memory))
    np.testing.assert_array_equal(*answers)
    guess = eqx.filter_jit(lambda net: net.guess(jnp.asarray(shots[0])))(network)
    assert 0.3 < np.asarray(guess.solved).mean() < 1


@pytest.mark.parametrize("use", ["start", "hint"])
def test_what_is_told_changes_nothing_at_first(problem, network, shots, outcome, use):
    config = dataclasses.replace(CONFIG, bp_use=use)
    told = build_network(config, geometry_for(config, problem), key=jr.key(0))
    begin = eqx.filter_jit(lambda net, s: net.begin(s))
    found = begin(told, jnp.asarray(shots[0]))
    alone = dataclasses.replace(CONFIG, bp_iterations=0)
    untold = build_network(alone, geometry_for(alone, problem), key=jr.key(0))
    read = shots[0]
    if use == "start":
        read = np.asarray(outcome.residual).transpose(2, 0, 1).reshape(SHOTS, -1)
        np.testing.assert_array_equal(found.guess, outcome.guess)
        np.testing.assert_array_equal(found.syndrome, read)
    np.testing.assert_allclose(found.memory, begin(untold, jnp.asarray(read)).memory, atol=1e-5)
    louder = eqx.tree_at(
        lambda net: net.encoder.bp_embedding.weight, told, replace_fn=lambda w: w + 0.1
    )
    assert np.abs(begin(louder, jnp.asarray(shots[0])).memory - found.memory).max() > 0.1


def test_a_weight_file_carries_the_graph_to_other_rounds(tmp_path, problem, network):
    geometry = geometry_for(CONFIG, problem)
    header = {
        "name": "tiny",
        "structure_id": problem.structure_id,
        "objective": "masked",
        "num_steps": problem.num_logicals,
    }
    save_weights(tmp_path / "tiny.safetensors", network, CONFIG, geometry, header)
    loaded = load_weights(tmp_path / "tiny.safetensors")
    longer = with_rounds(problem, 5)
    there = for_rounds(loaded.network, loaded.geometry.on(longer, longer.layout))
    bits = np.asarray(EvaluationShots(longer).chunk(0).syndrome)[:16]
    found = eqx.filter_jit(lambda net, s: net.encoder.run_bp(s))(there, jnp.asarray(bits))
    own = CircuitBeliefs(geometry_for(CONFIG, longer).faults, 12, 1.0, 0.15)
    wanted = eqx.filter_jit(own)(jnp.asarray(bits.T.reshape(6, 18, 16)))
    np.testing.assert_array_equal(found.guess, wanted.guess)
    np.testing.assert_array_equal(found.residual, wanted.residual)


def test_networks_that_cannot_have_it_are_refused(problem):
    both = problem_from_code(get_code("bb18"), "circuit", 0.006, 3, "XZ")
    with pytest.raises(ValueError, match="got basis XZ"):
        geometry_for(CONFIG, both)
    for name, value in (("bp_use", "guess"), ("bp_memory", 1.0)):
        with pytest.raises(ValueError, match=name):
            dataclasses.replace(CONFIG, **{name: value})
