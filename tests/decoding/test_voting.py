"""Views that vote: against votes counted by hand, and against the symmetry itself."""

import dataclasses
import pickle

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code, gf2
from unmasq.decoding import passes
from unmasq.decoding.asking import Asking
from unmasq.decoding.compiled import compiled
from unmasq.decoding.diffusion_decoder import DiffusionDecoder, load
from unmasq.decoding.voting import Voters, count_votes
from unmasq.files.weight_file import BrokenWeightsError
from unmasq.models import NetworkConfig, build_network, geometry_for
from unmasq.models.weights import load_weights, save_weights
from unmasq.problems.building import problem_from_code
from unmasq.problems.translates import translates_of
from unmasq.shots.reader import ShotReader

SHOTS = 24


@pytest.fixture(scope="module")
def problem():
    """The maps of [[18,4,4]] and [[36,8,4]] are symmetric: they would hide a transposed one."""
    return problem_from_code(get_code("bb72"), "circuit", 0.01, rounds=1)


@pytest.fixture(scope="module")
def translates(problem):
    return translates_of(problem)


@pytest.fixture(scope="module")
def syndromes(problem):
    return ShotReader(problem, 0).read(0, SHOTS)[0]


def save(path, problem, ties="tied", translates=None, **changes):
    config = NetworkConfig(
        width=16, feedforward=32, heads=4, encoder_layers=1, decoder_layers=2, ties=ties, **changes
    )
    geometry = geometry_for(config, problem)
    network = build_network(config, geometry, key=jr.key(1))
    header = {
        "name": "tiny",
        "structure_id": problem.structure_id,
        "objective": "masked",
        "num_steps": 4,
    }
    save_weights(path, network, config, geometry, header, translates=translates)
    return path


@pytest.fixture(scope="module")
def weights(tmp_path_factory, problem, translates):
    path = tmp_path_factory.mktemp("weights") / "tiny.safetensors"
    return load_weights(save(path, problem, translates=translates))


@pytest.fixture(scope="module")
def decoder(weights):
    return DiffusionDecoder.from_weights(weights)


@pytest.fixture(scope="module")
def still_decoder(tmp_path_factory, problem, translates):
    """Of messages, and with a memory that stands still."""
    path = tmp_path_factory.mktemp("still") / "tiny.safetensors"
    changes = {"mixing": "messages", "message_width": 8, "decoder": "still", "biases": False}
    save(path, problem, translates=translates, **changes)
    return DiffusionDecoder.from_weights(load_weights(path))


@pytest.fixture
def all_vote(monkeypatch):
    monkeypatch.setattr(passes, "SURE", 2.0)


def moved(problem, syndromes, sources):
    frames = syndromes.reshape(len(syndromes), problem.layout.num_frames, -1)
    return np.ascontiguousarray(frames[:, :, sources]).reshape(len(syndromes), -1)


def flips(problem, syndromes):
    frames = syndromes.reshape(len(syndromes), problem.layout.num_frames, -1)
    return frames.sum(axis=1).astype(int)


def test_votes_are_counted_by_weight_and_ties_go_to_the_first():
    answers = jnp.array(
        [[[0, 1], [1, 0], [0, 1]], [[0, 1], [1, 0], [0, 1]], [[1, 1], [0, 1], [0, 0]]], jnp.uint8
    )
    weights = jnp.array([[0.2, 0.5, 0.4], [0.2, 0.7, 0.4], [0.3, 0.3, 0.3]])
    logicals, share, log_likelihood = count_votes(answers, weights)
    np.testing.assert_array_equal(logicals, [[0, 1], [1, 0], [1, 1]])
    expected = [[0.5 / 1.1, 0.6 / 1.1], [0.7 / 1.3, 0.6 / 1.3], [1 / 3, 2 / 3]]
    np.testing.assert_allclose(share, expected, rtol=1e-5)
    np.testing.assert_allclose(np.exp(log_likelihood), [0.2, 0.7 / 3, 0.1], rtol=1e-5)


@pytest.mark.parametrize(
    ("which", "count"),
    [("decoder", 2), ("decoder", 5), ("decoder", 36), ("still_decoder", 5)],
)
def test_a_vote_is_what_decoding_each_translate_by_itself_gives(
    request, which, problem, translates, syndromes, all_vote, count
):
    decoder = request.getfixturevalue(which)
    chosen = translates.spread(count)
    answers, weights = [], []
    for sources, m, chi in zip(chosen.sources, chosen.logical_maps, chosen.flip_maps, strict=True):
        soft = decoder.decode_soft(moved(problem, syndromes, sources))
        target = (soft.logicals + flips(problem, syndromes) @ chi.T) % 2
        answers.append(gf2.combine(m.T, target.astype(np.uint8)))  # l M^T = target
        weights.append(soft.confidence)
    answers, weights = np.stack(answers, axis=1), np.stack(weights, axis=1)
    found = decoder.with_views(count).decode_soft(syndromes)
    differs = 0
    for shot in range(SHOTS):
        support = {}
        for answer, weight in zip(answers[shot], weights[shot], strict=True):
            support[tuple(answer)] = support.get(tuple(answer), 0) + weight
        ranked = sorted(support.values(), reverse=True)
        if len(ranked) > 1 and ranked[0] - ranked[1] < 1e-4:
            continue
        best = max(support, key=support.get)
        np.testing.assert_array_equal(found.logicals[shot], best)
        np.testing.assert_allclose(found.confidence[shot], support[best] / count, rtol=1e-3)
        differs += tuple(answers[shot, 0]) != best
    assert differs > 0  # a vote that never changes an answer tests nothing


def test_a_vote_of_the_whole_group_moves_with_the_shot(
    decoder, problem, translates, syndromes, all_vote
):
    voters = decoder.with_views(translates.order)
    here = voters.decode_soft(syndromes)
    sources, m, chi = (
        getattr(translates, name)[4] for name in ("sources", "logical_maps", "flip_maps")
    )
    there = voters.decode_soft(moved(problem, syndromes, sources))
    expected = (here.logicals @ m.T.astype(int) + flips(problem, syndromes) @ chi.T) % 2
    assert (expected != here.logicals).any()
    np.testing.assert_array_equal(there.logicals, expected)
    np.testing.assert_allclose(there.log_likelihood, here.log_likelihood, atol=1e-4)


def test_only_unsure_shots_are_voted_on(decoder, syndromes, monkeypatch):
    alone = decoder.decode_soft(syndromes)
    cut = float(np.median(alone.confidence))
    monkeypatch.setattr(passes, "SURE", cut)
    found = decoder.with_views(5).decode_soft(syndromes)
    sure = alone.confidence >= cut
    assert 0 < sure.sum() < SHOTS
    np.testing.assert_array_equal(found.logicals[sure], alone.logicals[sure])
    np.testing.assert_array_equal(found.log_likelihood[sure], alone.log_likelihood[sure])
    np.testing.assert_array_equal(found.steps, np.where(sure, 4, 8))
    assert (found.log_likelihood[~sure] != alone.log_likelihood[~sure]).all()


def test_neither_padding_nor_cutting_changes_a_vote(decoder, syndromes, all_vote):
    voters = decoder.with_views(5)
    together = voters.decode_soft(syndromes)
    small = DiffusionDecoder(
        decoder._network,
        decoder.identity,
        Asking(views=5),
        max_batch=8,
        translates=decoder.translates,
    ).decode_soft(syndromes[:21])
    np.testing.assert_array_equal(small.logicals, together.logicals[:21])
    np.testing.assert_allclose(small.log_likelihood, together.log_likelihood[:21], atol=1e-4)


def test_the_name_tells_of_the_vote_and_it_pickles(decoder, syndromes, all_vote):
    name = f"unmasq-{decoder.model_hash[:8]}"
    assert decoder.with_steps(2).with_views(5).name == f"{name},T=2,views=5"
    voters = decoder.with_views(5)
    again = pickle.loads(pickle.dumps(voters))
    np.testing.assert_array_equal(again.decode_batch(syndromes), voters.decode_batch(syndromes))
    assert again.name == voters.name == f"{name},views=5"
    assert decoder.with_views(1).name == decoder.name


@pytest.mark.parametrize(("change", "message"), [
    (lambda d: d.with_views(0), r"views must be at least 1: got 0\."),
    (lambda d: d.with_views(37), r"views must lie in 1\.\.36: got 37\."),
])  # fmt: skip
def test_what_cannot_vote_is_refused(decoder, change, message):
    with pytest.raises(ValueError, match=message):
        change(decoder)


def test_a_model_without_a_symmetry_or_its_maps_is_refused(tmp_path, problem, translates):
    free = save(tmp_path / "free.safetensors", problem, "free", translates)
    old = save(tmp_path / "old.safetensors", problem)
    for path in (free, old):
        with pytest.raises(ValueError, match="views must be 1 for this model"):
            load(path).with_views(2)
        with pytest.raises(ValueError, match="views must be at least 1"):
            load(path).with_views(0)
        assert load(path).with_views(1).asking.views == 1


def test_views_without_maps_or_memory_are_refused(decoder, weights):
    message = "views must be 1 for this model"
    identity = dataclasses.replace(decoder.identity, max_views=1)
    with pytest.raises(ValueError, match=message):
        DiffusionDecoder(decoder._network, identity, Asking(views=5))
    header = {**weights.header, "objective": "continuous", "num_steps": 20}
    continuous = DiffusionDecoder.from_weights(dataclasses.replace(weights, header=header))
    with pytest.raises(ValueError, match=message):
        continuous.with_views(5)


def test_a_vote_is_compiled_when_warming_up(decoder, syndromes, all_vote):
    compiled.cache_clear()
    voters = decoder.with_views(5)
    voters.warm_up(16)
    asked = voters._passes.voters.compiled(Voters.vote, voters._passes.rule, voters.num_logicals)
    function = asked.func
    assert function._cache_size() == 1
    voters.decode_batch(syndromes[:16])
    assert function._cache_size() == 1


@pytest.mark.parametrize("change", [
    lambda t: dataclasses.replace(t, flip_maps=t.flip_maps[1:]),
    lambda t: dataclasses.replace(t, logical_maps=t.logical_maps[:, :-1]),
])  # fmt: skip
def test_maps_of_a_wrong_shape_are_refused_when_loading(tmp_path, problem, translates, change):
    path = save(tmp_path / "x.safetensors", problem, translates=change(translates))
    with pytest.raises(BrokenWeightsError, match="logical_maps and flip_maps must have shapes"):
        load(path)


def test_maps_that_lead_nowhere_are_refused(tmp_path, problem, translates):
    singular = dataclasses.replace(translates, logical_maps=0 * translates.logical_maps)
    path = save(tmp_path / "x.safetensors", problem, translates=singular)
    with pytest.raises(ValueError, match="logical_maps must be invertible"):
        load(path).with_views(2)


def test_the_maps_travel_in_the_weight_file(tmp_path, problem, translates):
    found = load_weights(save(tmp_path / "x.safetensors", problem, translates=translates))
    for name in ("sources", "logical_maps", "flip_maps", "check"):
        np.testing.assert_array_equal(getattr(found.translates, name), getattr(translates, name))
