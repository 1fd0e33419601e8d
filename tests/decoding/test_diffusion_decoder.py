"""The decoder around a network: batching, packing, soft output, names. And on real networks."""

import pickle

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from table_denoisers import (
    ExactNoise,
    TableDenoiser,
    exact_table,
    random_posterior,
    random_table,
    table_decoder,
)
from unmasq.codes import get_code
from unmasq.decoding import Decoder, passes
from unmasq.decoding import compiled as compiled_module
from unmasq.decoding.asking import Asking
from unmasq.decoding.diffusion_decoder import DiffusionDecoder, load
from unmasq.decoding.rules import Unmasking
from unmasq.decoding.unmasking import unmask
from unmasq.diffusion.gaussian import alphas_bar
from unmasq.models import Geometry, NetworkConfig, build_network
from unmasq.models.weights import load_weights, save_weights
from unmasq.problems.building import problem_from_code

M, K = 9, 4


def bits(shots: int, width: int = M, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (shots, width), np.uint8)


def decoder(**settings) -> DiffusionDecoder:
    return table_decoder(random_table(K, rows=512), M, K, **settings)


def compiled_function(asked, rule):
    return asked._passes.flat.compiled(rule, K).func


@pytest.fixture(scope="module")
def weight_file(tmp_path_factory):
    """A random tied network on [[18,4,4]] with two rounds, as a weight file."""
    problem = problem_from_code(get_code("bb18"), "circuit", 0.01, rounds=2)
    geometry = Geometry.of(problem)
    config = NetworkConfig(
        width=16, feedforward=32, heads=4, encoder_layers=1, decoder_layers=2, ties="tied"
    )
    network = build_network(config, geometry, key=jr.key(1))
    path = tmp_path_factory.mktemp("weights") / "tiny.safetensors"
    header = {
        "name": "tiny",
        "structure_id": problem.structure_id,
        "objective": "masked",
        "num_steps": 4,
    }
    save_weights(path, network, config, geometry, header)
    return path


@pytest.fixture(scope="module")
def weights(weight_file):
    return load_weights(weight_file)


@pytest.fixture(scope="module")
def trained(weights):
    return DiffusionDecoder.from_weights(weights)


def test_it_is_a_decoder(trained, weights):
    assert isinstance(trained, Decoder)
    assert trained.name == f"unmasq-{weights.model_hash[:8]}"
    assert trained.model_hash == weights.model_hash
    assert trained.structure_id == weights.header["structure_id"]
    assert (trained.num_detectors, trained.num_logicals) == (54, 4)


@pytest.mark.parametrize("shots", [0, 1, 3, 8, 21])
def test_packed_and_unpacked_paths_agree_bit_for_bit(shots):
    asked = decoder(max_batch=8)
    syndromes = bits(shots)
    packed = np.packbits(syndromes, axis=1, bitorder="little")
    plain = asked.decode_batch(syndromes)
    assert plain.shape == (shots, K)
    assert plain.dtype == np.uint8
    np.testing.assert_array_equal(asked.decode_batch(packed, bit_packed_shots=True), plain)
    both = asked.decode_batch(packed, bit_packed_shots=True, bit_packed_predictions=True)
    assert both.shape == (shots, 1)
    np.testing.assert_array_equal(np.unpackbits(both, axis=1, count=K, bitorder="little"), plain)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d,
        lambda d: d.with_steps(1),
        lambda d: d.with_threshold(1.5),
    ],
    ids=["default", "T=1", "tau"],
)
def test_neither_padding_nor_cutting_changes_an_answer(change):
    """Table lookups are exact, so every number must be equal, not only close."""
    asked = change(decoder(max_batch=4))
    syndromes = bits(7)
    together = asked.decode_soft(syndromes)
    singly = [asked.decode_soft(shot[None]) for shot in syndromes]
    assert len({tuple(row) for row in together.logicals}) > 1
    for field in ("logicals", "probabilities", "log_likelihood", "steps"):
        alone = np.concatenate([getattr(soft, field) for soft in singly])
        np.testing.assert_array_equal(getattr(together, field), alone)


@pytest.mark.parametrize("threshold", [0.0, 1.5, 4.0, np.inf])
def test_clear_shots_leave_an_adaptive_batch_and_nothing_else_changes(threshold, monkeypatch):
    asked = decoder(max_batch=32).with_threshold(threshold)
    syndromes = bits(53)
    split = asked.decode_soft(syndromes)
    monkeypatch.setattr(passes, "SPLIT_FROM", 1000)
    whole = asked.decode_soft(syndromes)
    if threshold == 1.5:
        assert 0 < (whole.steps > 1).mean() < 1
    for field in ("logicals", "probabilities", "log_likelihood", "steps"):
        np.testing.assert_array_equal(getattr(split, field), getattr(whole, field))


@pytest.mark.parametrize("shots", [8, 32])
def test_nan_in_a_later_step_is_an_error_too(shots):
    """All hidden is fine; with any bit shown the table holds NaN."""
    table = np.full((512, 3**K, K), np.nan, np.float32)
    table[:, -1] = np.random.default_rng(0).normal(size=(512, K))
    broken = table_decoder(TableDenoiser(jnp.asarray(table)), M, K).with_threshold(1.5)
    with pytest.raises(ValueError, match="must give finite log-odds: got NaN"):
        broken.decode_batch(bits(shots))


@pytest.mark.parametrize("shots", [1, 5, 40])
def test_after_warming_up_nothing_is_compiled(shots):
    compiled_module.compiled.cache_clear()
    asked = decoder(max_batch=32).with_threshold(1.5)
    asked.warm_up(shots)

    def sizes():
        rules = (asked._passes.rule, Unmasking(unmask, 1))
        return [compiled_function(asked, rule)._cache_size() for rule in rules]

    before = sizes()
    asked.decode_batch(bits(shots))
    assert sizes() == before
    assert sum(before) == {1: 1, 5: 1, 40: 3}[shots]  # 32 in two passes, and 8 in one


def test_single_and_batched_logits_of_a_network_agree(trained):
    syndromes = bits(37, 54, seed=3)
    together = trained.decode_soft(syndromes)
    singly = [trained.decode_soft(shot[None]) for shot in syndromes]
    probabilities = np.concatenate([soft.probabilities for soft in singly])
    logicals = np.concatenate([soft.logicals for soft in singly])
    margins = np.abs(_logit(together.probabilities)).min(axis=1)
    clear = margins > 1e-4
    assert clear.sum() > 30
    assert len(np.unique(together.logicals[clear], axis=0)) > 1
    np.testing.assert_array_equal(logicals[clear], together.logicals[clear])
    difference = _logit(probabilities[clear]) - _logit(together.probabilities[clear])
    assert np.abs(difference).max() < 1e-4


def test_padding_never_changes_a_prediction_of_a_network(trained):
    syndromes = bits(64, 54, seed=4)
    for shots in (33, 47, 63):
        np.testing.assert_allclose(
            trained.decode_soft(syndromes[:shots]).log_likelihood,
            trained.decode_soft(syndromes).log_likelihood[:shots],
            atol=1e-5,
        )


def test_few_sizes_are_compiled():
    compiled_module.compiled.cache_clear()
    asked = decoder(max_batch=16)
    for shots in range(1, 40):
        asked.decode_batch(bits(shots))
    function = compiled_function(asked, asked._passes.rule)
    assert compiled_module.compiled.cache_info().currsize == 1
    assert function._cache_size() == 5  # 1, 2, 4, 8, 16


def test_decoders_of_one_architecture_share_their_compiled_function():
    compiled_module.compiled.cache_clear()
    one = table_decoder(random_table(K, seed=1), M, K)
    other = table_decoder(random_table(K, seed=2), M, K)
    assert (one.decode_batch(bits(32)) != other.decode_batch(bits(32))).any()
    assert compiled_module.compiled.cache_info().misses == 1


def test_the_encoder_runs_once():
    calls = []

    class Counting(TableDenoiser):
        def encode(self, syndrome):
            jax.debug.callback(lambda: calls.append("encode"))
            return super().encode(syndrome)

    asked = table_decoder(Counting(random_table(K).table), M, K)
    asked.decode_batch(bits(4))
    jax.effects_barrier()
    assert calls == ["encode"]


def test_soft_output_of_an_exact_network_is_the_posterior():
    posterior = random_posterior(3, rows=4, seed=7)
    soft = table_decoder(exact_table(posterior), 2, 3).decode_soft(
        np.array([[0, 0], [1, 0], [0, 1], [1, 1]], np.uint8)
    )
    number = soft.logicals.astype(int) @ [1, 2, 4]
    np.testing.assert_allclose(soft.confidence, posterior[np.arange(4), number], rtol=1e-4)
    np.testing.assert_allclose(np.exp(soft.log_likelihood), soft.confidence, rtol=1e-6)
    np.testing.assert_array_equal(soft.steps, 3)
    np.testing.assert_array_equal(soft.probabilities > 0.5, soft.logicals)
    chosen = np.where(soft.logicals, soft.probabilities, 1 - soft.probabilities)
    np.testing.assert_allclose(chosen.prod(axis=1), soft.confidence, rtol=1e-4)


def test_one_step_gives_the_marginals():
    posterior = random_posterior(3, rows=2, seed=8)
    soft = (
        table_decoder(exact_table(posterior), 1, 3)
        .with_steps(1)
        .decode_soft(np.array([[0], [1]], np.uint8))
    )
    strings = (np.arange(8)[:, None] >> np.arange(3)) & 1
    np.testing.assert_allclose(soft.probabilities, posterior @ strings, rtol=1e-4)


def test_unsure_shots_are_discarded():
    asked = decoder()
    soft = asked.decode_soft(bits(40))
    below = float(np.median(soft.confidence))
    logicals, discarded = asked.with_discard(below).decode_or_discard(bits(40))
    np.testing.assert_array_equal(discarded, soft.confidence < below)
    assert 15 <= discarded.sum() <= 25
    np.testing.assert_array_equal(logicals, soft.logicals)
    assert not asked.decode_or_discard(bits(40))[1].any()
    for wrong in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match="between 0 and 1"):
            asked.with_discard(wrong)


def test_adaptive_steps_are_reported():
    asked = decoder()
    once = asked.with_threshold(0.0).decode_soft(bits(20))
    np.testing.assert_array_equal(once.steps, 1)
    np.testing.assert_array_equal(once.logicals, asked.with_steps(1).decode_batch(bits(20)))
    every = asked.with_threshold(np.inf).decode_soft(bits(20))
    np.testing.assert_array_equal(every.steps, K)
    np.testing.assert_array_equal(every.logicals, asked.decode_batch(bits(20)))
    some = asked.with_threshold(1.5).decode_soft(bits(20)).steps
    assert 1 < some.mean() < K


def test_names_say_what_is_not_the_default():
    asked = decoder()
    assert asked.name == "unmasq-01234567"
    assert asked.with_steps(K).name == "unmasq-01234567"
    assert asked.with_steps(2).name == "unmasq-01234567,T=2"
    assert asked.with_threshold(2.5).name == "unmasq-01234567,tau=2.5"
    assert asked.with_threshold(np.inf).name == "unmasq-01234567,tau=inf"
    assert asked.with_steps(1).with_discard(0.9).name == "unmasq-01234567,T=1,discard=0.9"


def test_an_lr_model_answers_in_one_step():
    asked = table_decoder(random_table(K), M, K, trained_steps=1)
    assert asked.decode_soft(bits(3)).steps.tolist() == [1, 1, 1]
    assert asked.with_steps(1).name == "unmasq-01234567"
    with pytest.raises(ValueError, match=r"steps must lie in 1\.\.1: got 2.*trained with T = 1"):
        asked.with_steps(2)
    with pytest.raises(ValueError, match="threshold must be used with a masked diffusion model"):
        asked.with_threshold(1.0)


def test_an_autoregressive_model_goes_in_order():
    network = random_table(K, rows=512)
    asked = table_decoder(network, M, K, objective="autoregressive")
    syndromes = bits(16)
    expected = np.full((16, K), 2)
    memory = network.encode(jnp.asarray(syndromes))
    for k in range(K):
        expected[:, k] = network.denoise(memory, jnp.asarray(expected, jnp.int32))[:, k] > 0
    np.testing.assert_array_equal(asked.decode_batch(syndromes), expected)
    assert (asked.decode_batch(syndromes) != decoder().decode_batch(syndromes)).any()
    with pytest.raises(ValueError, match="one bit a step"):
        asked.with_steps(2)


def test_a_continuous_model_recovers_the_logicals():
    truth = np.random.default_rng(0).integers(0, 2, (8, 3), np.uint8)
    network = ExactNoise(jnp.asarray(truth), jnp.asarray(alphas_bar(200), jnp.float32))
    asked = table_decoder(network, 3, 3, objective="continuous", trained_steps=200)
    syndromes = ((np.arange(8)[:, None] >> np.arange(3)) & 1).astype(np.uint8)
    np.testing.assert_array_equal(asked.decode_batch(syndromes), truth)
    fewer = asked.with_steps(10)
    assert fewer.name == "unmasq-01234567,T=10"
    np.testing.assert_array_equal(fewer.decode_batch(syndromes), truth)
    assert fewer.decode_soft(syndromes).confidence.min() > 0.9


def test_bfloat16_stays_near_float32(trained, weights):
    syndromes = bits(64, 54, seed=5)
    half = DiffusionDecoder.from_weights(weights, Asking(dtype="bfloat16"))
    assert half.asking.dtype == "bfloat16"
    exact, rough = (d.with_steps(1).decode_soft(syndromes) for d in (trained, half))
    difference = np.abs(exact.probabilities - rough.probabilities)
    assert 0 < difference.max() < 0.05
    with pytest.raises(ValueError, match="float32 or bfloat16: got 'float64'"):
        Asking(dtype="float64")


def test_loading_a_file_gives_the_decoder_of_its_weights(weight_file, trained):
    loaded = load(weight_file, dtype="bfloat16", max_batch=16)
    assert (loaded.name, loaded.identity) == (trained.name, trained.identity)
    assert (loaded.asking.dtype, loaded.max_batch) == ("bfloat16", 16)


def test_a_pickled_decoder_answers_the_same(trained):
    asked = trained.with_threshold(2.0).with_discard(0.5)
    copy = pickle.loads(pickle.dumps(asked))
    assert copy.name == asked.name
    syndromes = bits(10, 54)
    np.testing.assert_array_equal(copy.decode_batch(syndromes), asked.decode_batch(syndromes))


def test_nan_is_an_error_and_no_prediction():
    table = np.array(random_table(K, rows=1).table)
    table[:, -1] = np.nan  # all hidden
    asked = table_decoder(TableDenoiser(jnp.asarray(table)), M, K)
    for broken in (asked, asked.with_threshold(1.0)):
        with pytest.raises(ValueError, match="model 'table'.*NaN"):
            broken.decode_batch(bits(3))


def test_a_batch_can_be_started_and_fetched_later():
    asked = decoder(max_batch=8)
    first, second = asked.start(bits(5)), asked.start(bits(8, seed=1))
    np.testing.assert_array_equal(second().logicals, asked.decode_batch(bits(8, seed=1)))
    np.testing.assert_array_equal(first().logicals, asked.decode_batch(bits(5)))
    with pytest.raises(ValueError, match=r"shots must number 1\.\.8: got 9"):
        asked.start(bits(9))


def test_the_maximum_batch_is_a_power_of_two():
    with pytest.raises(ValueError, match="power of two: got 100"):
        decoder(max_batch=100)


def _logit(probabilities: np.ndarray) -> np.ndarray:
    p = probabilities.astype(np.float64)
    return np.log(p) - np.log1p(-p)


def test_a_decoder_says_what_it_is_on_one_line(trained):
    assert repr(trained.with_steps(1)) == (
        f"DiffusionDecoder(unmasq-{trained.model_hash[:8]},T=1, model tiny, float32: "
        "54 detectors, 4 logicals)"
    )
