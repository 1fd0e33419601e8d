"""Networks that are told rates: like others at nominal ones, and told those of their problem."""

import dataclasses
import pickle
import warnings

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.decoding.diffusion_decoder import load
from unmasq.models import NetworkConfig, build_network, count_parameters, geometry_for
from unmasq.models.weights import load_weights, named_arrays, save_weights
from unmasq.problems.any_rounds import AnyRounds
from unmasq.problems.building import problem_from_code
from unmasq.problems.faults import scaled_priors
from unmasq.problems.problem import DecodingProblem
from unmasq.problems.rates import NominalRates
from unmasq.problems.rounds import with_rounds
from unmasq.problems.trained_noise import NoiseMismatchWarning, TrainedNoise

P = 0.01
UNTOLD = NetworkConfig(
    width=16,
    feedforward=16,
    heads=2,
    encoder_layers=1,
    decoder_layers=1,
    ties="tied",
    mixing="messages",
    message_width=8,
    decoder="still",
)
TOLD = dataclasses.replace(UNTOLD, told_rates=True)
WEIGHT = "encoder.rate_embedding.weight"


@pytest.fixture(scope="module")
def problem() -> DecodingProblem:
    return problem_from_code(get_code("bb18"), "circuit", P, 3)


@pytest.fixture(scope="module")
def drifted(problem) -> DecodingProblem:
    factors = np.exp(0.5 * np.random.default_rng(3).standard_normal(problem.num_faults))
    priors = scaled_priors(problem.priors, factors)
    return dataclasses.replace(problem, priors=priors, channels=None, symmetry=None)


@pytest.fixture(scope="module")
def syndromes(problem):
    shots = np.random.default_rng(0).random((8, problem.num_detectors)) < 0.1
    return shots.astype(np.uint8)


def network(config, problem):
    return build_network(config, geometry_for(config, problem), key=jr.key(0))


def trained(problem):
    """A told network whose rates matter."""
    weight = jr.normal(jr.key(5), network(TOLD, problem).encoder.rate_embedding.weight.shape)
    place = lambda net: net.encoder.rate_embedding.weight  # noqa: E731
    return eqx.tree_at(place, network(TOLD, problem), weight)


@pytest.fixture(scope="module")
def file(tmp_path_factory, problem):
    path = tmp_path_factory.mktemp("models") / "told.safetensors"
    header = {
        "name": "told",
        "structure_id": problem.structure_id,
        "objective": "masked",
        "num_steps": problem.num_logicals,
        "problem": {"num_rounds": 3},
        "noise": TrainedNoise.of(problem, P / 2, P, 0.7).facts(),
        "rounds": AnyRounds.of(problem).facts(),
    }
    save_weights(path, trained(problem), TOLD, geometry_for(TOLD, problem), header)
    return path


@eqx.filter_jit
def logits(network, syndromes):
    memory = network.begin(jnp.asarray(syndromes)).memory
    return network.denoise(memory, jnp.full((len(syndromes), network.num_logicals), 2))


def odds(decoder, syndromes):
    return decoder.decode_soft(syndromes).probabilities


def test_a_network_begins_as_the_one_that_is_told_nothing(problem, drifted, syndromes):
    untold, told = network(UNTOLD, problem), network(TOLD, problem)
    ours, theirs = (named_arrays(eqx.filter(net, eqx.is_inexact_array)) for net in (told, untold))
    assert ours.keys() - theirs.keys() == {WEIGHT}
    assert all(np.array_equal(theirs[name], ours[name]) for name in theirs)
    assert not ours[WEIGHT].any()
    assert count_parameters(told) == count_parameters(untold) + ours[WEIGHT].size
    rates = jnp.asarray(NominalRates.of(problem).features(drifted))[:, :, None]
    np.testing.assert_array_equal(logits(told.told(rates), syndromes), logits(untold, syndromes))


def test_nominal_rates_are_as_none_and_others_are_not(problem, drifted, syndromes):
    told, nominal = trained(problem), NominalRates.of(problem)
    plain = logits(told, syndromes)
    for source, same in ((problem, True), (drifted, False)):
        rates = jnp.asarray(nominal.features(source))[:, :, None]
        assert np.array_equal(logits(told.told(rates), syndromes), plain) == same


def test_each_shot_may_have_rates_of_its_own(problem, drifted, syndromes):
    told, nominal = trained(problem), NominalRates.of(problem)
    one, other = (jnp.asarray(nominal.features(source)) for source in (problem, drifted))
    both = logits(told.told(jnp.stack([one, other], 2)), syndromes[:2])
    for shot, rates in enumerate((one, other)):
        alone = logits(told.told(rates[:, :, None]), syndromes[:2])
        np.testing.assert_allclose(both[shot], alone[shot], atol=1e-5)


def test_a_weight_file_carries_the_nominal_rates(file, problem):
    weights = load_weights(file)
    assert weights.config == TOLD
    np.testing.assert_array_equal(weights.geometry.rates.sums, NominalRates.of(problem).sums)
    assert weights.network.encoder.rates is None
    stored = np.asarray(weights.network.encoder.rate_embedding.weight)
    wanted = trained(problem).encoder.rate_embedding.weight
    np.testing.assert_allclose(stored, wanted, rtol=1e-3, atol=1e-3)


def test_the_decoder_of_a_problem_is_told_its_rates(file, problem, drifted, syndromes):
    decoder = load(file)
    nominal = odds(decoder, syndromes)
    np.testing.assert_array_equal(odds(decoder.for_problem(problem), syndromes), nominal)
    told = decoder.for_problem(drifted)
    assert np.abs(odds(told, syndromes) - nominal).max() > 1e-3
    assert (told.name, told.model_hash) == (decoder.name, decoder.model_hash)
    for again in (pickle.loads(pickle.dumps(told)), told.with_steps(told.asking.num_steps)):
        np.testing.assert_array_equal(odds(again, syndromes), odds(told, syndromes))
    np.testing.assert_array_equal(odds(told.for_problem(problem), syndromes), nominal)


def test_other_numbers_of_rounds_have_nominal_rates_of_their_own(file, problem):
    longer = with_rounds(problem, 5)
    shots = np.random.default_rng(1).random((4, longer.num_detectors)) < 0.1
    decoder = load(file).for_problem(longer)
    rates = np.asarray(decoder._network.encoder.rates)
    assert rates.shape[:2] == (6, problem.layout.num_checks)
    np.testing.assert_allclose(rates, 0, atol=1e-5)
    assert np.isfinite(odds(decoder, shots.astype(np.uint8))).all()


def test_a_stream_is_decoded_at_nominal_rates_alone(file, drifted):
    assert load(file).streams
    told = load(file).for_problem(drifted)
    assert not told.streams
    with pytest.raises(ValueError, match="rates must be nominal to decode a stream: .* shots"):
        told.stream()


def test_noise_within_the_trained_spread_is_not_warned_of(file, problem):
    def scaled(factor):
        factors = np.where(np.arange(problem.num_faults) % 2, factor, 1.0)
        priors = scaled_priors(problem.priors, factors)
        return dataclasses.replace(problem, priors=priors, channels=None, symmetry=None)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(file).for_problem(scaled(5.0))
    with pytest.warns(NoiseMismatchWarning, match="times more or less likely"):
        load(file).for_problem(scaled(1 / 20))
    plain = TrainedNoise.of(problem, P / 2, P)
    assert plain.difference(scaled(5.0)) is not None
    assert "spread" not in plain.facts()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoder_layers": 0}, "told_rates must be false for a network without encoder layers"),
        ({"kind": "continuous"}, "told_rates must be false for a network without encoder layers"),
        ({"bp_iterations": 4}, "told_rates must be false for a network that begins with belief"),
    ],
)
def test_networks_that_cannot_be_told_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        NetworkConfig(told_rates=True, **changes)
