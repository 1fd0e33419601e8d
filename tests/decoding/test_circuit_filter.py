"""Belief propagation as a filter of circuit noise: the network answers what it does not solve."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.decoding import passes
from unmasq.decoding.asking import Asking
from unmasq.decoding.diffusion_decoder import load
from unmasq.models import NetworkConfig, build_network, geometry_for
from unmasq.models.beliefs import Attempt
from unmasq.models.weights import save_weights
from unmasq.problems.any_rounds import AnyRounds
from unmasq.problems.building import problem_from_code
from unmasq.problems.rounds import with_rounds
from unmasq.shots.sampling import EvaluationShots

CONFIG = NetworkConfig(
    width=16,
    feedforward=16,
    heads=2,
    encoder_layers=1,
    decoder_layers=1,
    ties="tied",
    mixing="messages",
    message_width=8,
    decoder="still",
    bp_iterations=10,
    bp_scaling=1.0,
    bp_memory=0.15,
    bp_use="filter",
)
SHOTS = 64


@pytest.fixture(scope="module")
def problem():
    return problem_from_code(get_code("bb18"), "circuit", 0.006, 3)


def written(path, problem, config, **facts):
    geometry = geometry_for(config, problem)
    header = {
        "name": "tiny",
        "structure_id": problem.structure_id,
        "objective": "masked",
        "num_steps": problem.num_logicals,
        "rounds": AnyRounds.of(problem).facts(),
        **facts,
    }
    network = build_network(config, geometry, key=jr.key(3))
    save_weights(path, network, config, geometry, header)
    return path


@pytest.fixture(scope="module")
def decoder(tmp_path_factory, problem):
    return load(written(tmp_path_factory.mktemp("filter") / "tiny.safetensors", problem, CONFIG))


@pytest.fixture(scope="module")
def alone(tmp_path_factory, problem):
    """The same weights without belief propagation."""
    plain = dataclasses.replace(CONFIG, bp_iterations=0, bp_use="start")
    return load(written(tmp_path_factory.mktemp("alone") / "tiny.safetensors", problem, plain))


@pytest.mark.parametrize("rounds", [3, 5])
def test_solved_shots_have_the_guess_and_others_the_network(problem, decoder, alone, rounds):
    there = with_rounds(problem, rounds)
    shots = EvaluationShots(there).chunk(0)
    syndromes, logicals = (np.asarray(bits)[:SHOTS] for bits in shots)
    assert decoder.asking.guess
    here = decoder.for_problem(there)
    found = here.decode_batch(syndromes)
    network = alone.with_threshold(4.0).for_problem(there).decode_batch(syndromes)
    every = here.with_guess(False).with_threshold(4.0).decode_batch(syndromes)
    np.testing.assert_array_equal(every, network)
    right = (found == logicals).all(axis=1)
    differ = (found != network).any(axis=1)
    assert 0.2 < differ.mean() < 1  # an untrained network rarely agrees with the guess
    assert right[differ].mean() > 0.8


def test_a_network_that_saw_all_shots_is_asked_about_all(tmp_path, problem):
    path = written(tmp_path / "all.safetensors", problem, CONFIG, trusts_guess=False)
    assert not load(path).asking.guess
    assert load(path, Asking(guess=True)).asking.guess


def test_no_stream_begins_with_belief_propagation(decoder):
    assert not decoder.streams
    with pytest.raises(ValueError, match="begins with belief propagation over all frames"):
        decoder.stream()


def test_few_iterations_first_give_the_bits_of_all_at_once(monkeypatch, problem, decoder):
    syndromes = np.asarray(EvaluationShots(problem).chunk(0).syndrome)
    whole = decoder.decode_soft(syndromes)
    monkeypatch.setitem(passes.FIRST_ITERATIONS, jax.default_backend(), 2)
    monkeypatch.setitem(passes.UNGUESSED_PART, jax.default_backend(), 32)
    parted = decoder.asked(decoder.asking)
    solved = np.asarray(parted._passes._guess(syndromes, parted._passes._attempts[0]).solved)
    assert 32 < (~solved).sum() < len(solved)
    found = parted.decode_soft(syndromes)
    for name in ("logicals", "log_likelihood"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))


def test_an_attempt_is_made_at_what_those_before_it_leave(tmp_path, problem, decoder):
    others = [[40, 0.8, 0.15], [1, 0.5, 0.0]]
    path = written(tmp_path / "tiny.safetensors", problem, CONFIG, attempts=others)
    tries = load(path)
    assert tries.name.endswith(",guess=3")
    assert tries.asked(Asking(attempts=1)).name == decoder.name
    with pytest.raises(ValueError, match=r"attempts must lie in 1..3 for 'tiny', asked so: got 4"):
        tries.asked(Asking(attempts=4))
    with pytest.raises(ValueError, match=r"attempts must lie in 1..1"):
        tries.asked(Asking(attempts=2, guess=False))
    syndromes = np.asarray(EvaluationShots(problem).chunk(0).syndrome)[:256]
    network = decoder._network
    expected = np.asarray(decoder.with_guess(False).with_threshold(4.0).decode_batch(syndromes))
    left = np.ones(len(syndromes), bool)
    for attempt in (network.encoder.beliefs.own, *(Attempt(*other) for other in others)):
        guess = eqx.filter_jit(network.guess)(jnp.asarray(syndromes), attempt)
        taken = left & np.asarray(guess.solved)
        assert taken.any() or attempt.iterations == 1
        expected = np.where(taken[:, None], np.asarray(guess.logicals), expected)
        left &= ~taken
    np.testing.assert_array_equal(tries.decode_batch(syndromes), expected)
    found = tries.asked(Asking(attempts=1)).decode_batch(syndromes)
    np.testing.assert_array_equal(found, decoder.decode_batch(syndromes))
    assert (found != expected).any()


@pytest.mark.parametrize(
    "facts",
    [5, [5], [[40, 0.8]], [[0, 0.8, 0.1]], [[40, 0.8, 1.0]], [[40, "x", 0.1]], [[4.5, 1, 0]]],
)
def test_attempts_that_are_none_are_refused(tmp_path, problem, facts):
    path = written(tmp_path / "tiny.safetensors", problem, CONFIG, attempts=facts)
    with pytest.raises(
        ValueError, match=r"attempts must be a list of \[iterations, scaling, memory"
    ):
        load(path)
