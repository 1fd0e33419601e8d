"""Networks that begin with belief propagation: every way of asking adds the guess back."""

import dataclasses
import pickle

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.decoding import passes
from unmasq.decoding.asking import Asking
from unmasq.decoding.diffusion_decoder import load
from unmasq.diffusion.masking import MASK
from unmasq.models import MaskedDenoiser, NetworkConfig, build_network, geometry_for
from unmasq.models.beliefs import Attempt
from unmasq.models.weights import save_weights
from unmasq.problems.building import problem_from_code
from unmasq.problems.translates import translates_of
from unmasq.shots.sampling import EvaluationShots

CONFIG = NetworkConfig(
    width=16,
    feedforward=16,
    heads=4,
    encoder_layers=1,
    decoder_layers=1,
    ties="tied",
    bp_iterations=9,
)
SHOTS = 64


@pytest.fixture(scope="module")
def problem():
    return problem_from_code(get_code("bb18"), "code-capacity", 0.08)


@pytest.fixture(scope="module")
def syndromes(problem):
    return np.asarray(EvaluationShots(problem).chunk(0).syndrome)[:SHOTS]


@pytest.fixture(scope="module")
def network(problem):
    return build_network(CONFIG, geometry_for(CONFIG, problem), key=jr.key(3))


@pytest.fixture(scope="module")
def beginning(network, syndromes):
    return eqx.filter_jit(network.begin)(jnp.asarray(syndromes))


@pytest.fixture(scope="module")
def guess(beginning):
    return np.asarray(beginning.guess)


def decoder_of(folder, problem, network, **facts):
    header = {
        "name": "n",
        "structure_id": problem.structure_id,
        "objective": "masked",
        "num_steps": 8,
        **facts,
    }
    path = folder / "n.safetensors"
    geometry, translates = geometry_for(CONFIG, problem), translates_of(problem)
    save_weights(path, network, CONFIG, geometry, header, np.float32, translates)
    return load(path, Asking(guess=False))


@pytest.fixture(scope="module")
def silent(tmp_path_factory, problem, network):
    """A network that says of every logical that nothing is left to flip."""
    sure = eqx.tree_at(
        lambda net: (net.head.weight, net.head.bias),
        network,
        replace_fn=lambda leaf: jnp.full_like(leaf, -5.0 if leaf.ndim == 1 else 0.0),
    )
    return decoder_of(tmp_path_factory.mktemp("silent"), problem, sure)


WAYS = {
    "as trained": lambda decoder: decoder,
    "T=1": lambda decoder: decoder.with_steps(1),
    "adaptively": lambda decoder: decoder.with_threshold(2.0),
}


@pytest.mark.parametrize("way", WAYS)
def test_where_nothing_is_left_the_answer_is_the_guess(silent, syndromes, guess, way):
    assert 0.1 < guess.any(axis=1).mean() < 0.9
    soft = WAYS[way](silent).decode_soft(syndromes)
    np.testing.assert_array_equal(soft.logicals, guess)
    np.testing.assert_array_equal(soft.probabilities > 0.5, guess == 1)
    np.testing.assert_allclose(soft.confidence, (1 / (1 + np.exp(-5))) ** 8, rtol=1e-3)


def test_views_vote_on_what_is_left(silent, syndromes, beginning, guess, monkeypatch):
    """No logical is flipped by nothing, in no view; where checks are left, views may differ."""
    monkeypatch.setattr(passes, "SURE", 2.0)  # all shots are voted on
    solved = ~np.asarray(beginning.syndrome).any(axis=1)
    assert 0.5 < solved.mean() < 1
    found = silent.with_views(3).decode_batch(syndromes)
    np.testing.assert_array_equal(found[solved], guess[solved])


def test_what_is_left_is_decoded_and_added(tmp_path, problem, network, syndromes, beginning, guess):
    """One pass, by hand."""
    hidden = jnp.full(guess.shape, MASK, jnp.int32)
    logits = np.asarray(eqx.filter_jit(network.denoise)(beginning.memory, hidden))
    middle = float(np.median(logits))
    network = eqx.tree_at(lambda net: net.head.bias, network, network.head.bias - middle)
    left = (logits > middle).astype(np.uint8)
    found = decoder_of(tmp_path, problem, network).with_steps(1).decode_batch(syndromes)
    close = np.abs(logits - middle) < 1e-4
    np.testing.assert_array_equal(found[~close], (left ^ guess)[~close])


# The guess taken where it explains the syndrome


@pytest.fixture(scope="module")
def asked(tmp_path_factory, problem, network):
    """An untrained network, which often overrules the guess."""
    return decoder_of(tmp_path_factory.mktemp("asked"), problem, network)


@pytest.fixture(scope="module")
def solved(beginning):
    solved = ~np.asarray(beginning.syndrome).any(axis=1)
    assert 0.5 < solved.mean() < 1
    return solved


@pytest.mark.parametrize("way", WAYS)
def test_the_network_is_asked_about_unsolved_shots_alone(asked, syndromes, guess, solved, way):
    decoder = WAYS[way](asked)
    plain, found = decoder.decode_soft(syndromes), decoder.with_guess().decode_soft(syndromes)
    assert (plain.logicals != guess)[solved].any()
    np.testing.assert_array_equal(found.logicals[solved], guess[solved])
    np.testing.assert_array_equal(found.logicals[~solved], plain.logicals[~solved])
    assert np.isnan(found.confidence[solved]).all()
    assert np.isnan(found.probabilities[solved]).all()
    assert not found.steps[solved].any()
    np.testing.assert_allclose(found.confidence[~solved], plain.confidence[~solved], rtol=1e-4)
    np.testing.assert_array_equal(found.steps[~solved], plain.steps[~solved])


def test_views_vote_on_unsolved_shots_alone(asked, syndromes, guess, solved, monkeypatch):
    monkeypatch.setattr(passes, "SURE", 2.0)
    voting = asked.with_views(3)
    found = voting.with_guess().decode_batch(syndromes)
    np.testing.assert_array_equal(found[solved], guess[solved])
    np.testing.assert_array_equal(found[~solved], voting.decode_batch(syndromes)[~solved])


@pytest.mark.parametrize("shots", [0, 1, 3, SHOTS])
@pytest.mark.parametrize("part", [1, 4])
def test_the_guess_of_a_shot_does_not_depend_on_its_batch(
    asked, syndromes, monkeypatch, shots, part
):
    whole = asked.with_guess().decode_batch(syndromes)
    monkeypatch.setitem(passes.UNSOLVED_PART, "cpu", part)
    found = asked.with_guess().decode_batch(syndromes[:shots])
    np.testing.assert_array_equal(found, whole[:shots])


def test_a_guessing_decoder_compiles_beforehand_and_travels(asked, syndromes, monkeypatch):
    monkeypatch.setitem(passes.UNSOLVED_PART, "cpu", 8)
    decoder = pickle.loads(pickle.dumps(asked.with_steps(2).with_guess()))
    assert decoder.name == f"{asked.name},T=2,guess"
    assert decoder.with_guess(False).name == f"{asked.name},T=2"
    decoder.warm_up(SHOTS)
    flat = decoder._passes.flat
    functions = [
        flat.compiled(MaskedDenoiser.guess).func,
        flat.compiled(decoder._passes.rule, decoder.num_logicals).func,
    ]
    sizes = [function._cache_size() for function in functions]
    assert all(sizes)
    decoder.decode_batch(syndromes)
    assert [function._cache_size() for function in functions] == sizes


def test_a_guess_is_refused_where_it_cannot_be(tmp_path, problem, asked):
    with pytest.raises(ValueError, match="guess and discard_below must not be given together"):
        asked.with_discard(0.9).with_guess()
    plain = load("bb72-circuit")
    assert not plain.asking.guess
    with pytest.raises(ValueError, match="'bb72-circuit' does not"):
        plain.with_guess()
    assert plain.with_guess(False).name == plain.name


def test_a_model_that_begins_with_a_guess_takes_it_by_itself_and_its_name_says_so(asked):
    """The plain name stays that of every shot asked as trained: stored counts never mix."""
    plain = asked.name
    assert plain == f"unmasq-{asked.model_hash[:8]}"
    best = asked.asked(Asking())
    assert best.name == f"{plain},tau=4,guess"
    assert best.with_guess(False).name == plain
    assert best.with_steps(8).name == f"{plain},guess"
    assert best.with_discard(0.9).name == f"{plain},discard=0.9"  # a guess has no confidence
    assert pickle.loads(pickle.dumps(best)).name == best.name
    untied = dataclasses.replace(asked.identity, trained_steps=1)  # it cannot unmask adaptively
    assert untied.settled(Asking()).num_steps == 1


def test_other_scalings_are_tried_at_what_the_first_guess_leaves(tmp_path, problem, network):
    syndromes = np.asarray(EvaluationShots(problem).chunk(0).syndrome)[:256]
    others = [[30, 0.8, 0.0], [30, 1.0, 0.0]]
    decoder = decoder_of(tmp_path, problem, network, attempts=others)
    expected = np.asarray(decoder.with_threshold(4.0).decode_batch(syndromes))
    left = np.ones(len(syndromes), bool)
    for attempt in (None, *(Attempt(*other) for other in others)):
        guess = eqx.filter_jit(network.guess)(jnp.asarray(syndromes), attempt)
        taken = left & np.asarray(guess.solved)
        assert taken.any()
        expected = np.where(taken[:, None], np.asarray(guess.logicals), expected)
        left &= ~taken
    found = decoder.asked(Asking())
    assert found.name.endswith("tau=4,guess=3")
    np.testing.assert_array_equal(found.decode_batch(syndromes), expected)
    assert (found.asked(Asking(attempts=1)).decode_batch(syndromes) != expected).any()
