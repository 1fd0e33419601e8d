"""Shots against Stim's sampler, against exact distributions, and against stored bits."""

import functools
import hashlib
import os
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import stim
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, hypergeom

from exact_distribution import distribution_of, outcome_numbers
from statistical import FALSE_ALARM, assert_rate
from unmasq.codes import get_code
from unmasq.problems.building import (
    circuit_from_code,
    problem_from_circuit,
    problem_from_code,
    problem_from_dem,
)
from unmasq.problems.frames import intermediate_logicals
from unmasq.shots.sampling import CHUNK_SHOTS, EvaluationShots, ShotSampler, parity, parity_dtype

pytestmark = pytest.mark.usefixtures("full_compilation")

P = 0.01


@functools.cache
def problem(rounds=2):
    return problem_from_code(get_code("bb18"), "circuit", P, rounds)


@functools.cache
def tiny_problem():
    return problem_from_dem(
        stim.DetectorErrorModel("""
            error(0.1) D0 L0
            error(0.2) D0 D1
            error(0.3) D1 D2
            error(0.05) D2 L1
            error(0.01) L0 L1
            error(0.5) D3
        """)
    )


def draw(sampler, shots, p=P, seed=0, batch=10_000, impl=None):
    """Syndromes and logicals of many shots, in batches."""
    keys = jr.split(jr.key(seed, impl=impl), shots // batch)
    sample = eqx.filter_jit(sampler)
    parts = [sample(jnp.full(batch, p), key=key) for key in keys]
    return tuple(np.concatenate([np.asarray(part[i]) for part in parts]) for i in range(2))


# Against Stim.


def assert_same_rates(hits, other_hits, shots):
    """Both counts of `shots` shots have one unknown rate.

    Given their sum, one count is then hypergeometric: each comparison fails by chance with
    probability at most FALSE_ALARM, whatever the rate.
    """
    total = hits + other_hits
    low, high = hypergeom.ppf(
        np.array([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2])[:, None], 2 * shots, total, shots
    )
    outside = np.flatnonzero((hits < low) | (hits > high))
    assert outside.size == 0, f"{hits[outside]} and {other_hits[outside]} of {shots}"


def pair_hits(bits):
    """How often each pair of columns is 1 together, each pair once, singles included."""
    counts = bits.astype(np.float32).T @ bits.astype(np.float32)
    return counts[np.triu_indices(len(counts))].astype(np.int64)


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
@pytest.mark.parametrize("noise", ["circuit", "code-capacity"])
def test_rates_and_pair_correlations_are_those_of_stims_sampler(noise, impl):
    """All detectors and logicals and all pairs of them: about 1700 comparisons at 1e-9 each."""
    shots, code = 100_000, get_code("bb18")
    circuit = circuit_from_code(code, noise, P, rounds=2)
    stim_bits = np.concatenate(
        circuit.compile_detector_sampler(seed=5).sample(shots, separate_observables=True), axis=1
    )
    ours = draw(ShotSampler(problem_from_code(code, noise, P, rounds=2)), shots, impl=impl)
    assert_same_rates(pair_hits(np.concatenate(ours, axis=1)), pair_hits(stim_bits), shots)


def test_the_comparison_with_stim_sees_a_rate_that_is_five_percent_off():
    shots = 100_000
    circuit = circuit_from_code(get_code("bb18"), "circuit", P, rounds=2)
    stim_bits = circuit.compile_detector_sampler(seed=5).sample(shots)
    syndrome, _ = draw(ShotSampler(problem()), shots, p=1.05 * P)
    with pytest.raises(AssertionError):
        assert_same_rates(pair_hits(syndrome), pair_hits(stim_bits), shots)


# Against exact distributions.


def assert_distribution(numbers, expected):
    """Pearson's chi-square over outcomes; fails by chance with probability FALSE_ALARM."""
    counts = np.bincount(numbers, minlength=len(expected))
    assert counts[expected == 0].sum() == 0
    wanted = expected[expected > 0] * len(numbers)
    assert wanted.min() > 5
    statistic = ((counts[expected > 0] - wanted) ** 2 / wanted).sum()
    assert statistic < chi2.isf(FALSE_ALARM, len(wanted) - 1), statistic


def test_training_shots_have_the_exact_distribution():
    shots = draw(ShotSampler(tiny_problem()), 200_000, p=0.5)
    assert_distribution(outcome_numbers(*shots), distribution_of(tiny_problem()))


def test_evaluation_shots_have_the_exact_distribution():
    source = EvaluationShots(tiny_problem(), seed=3)
    numbers = [outcome_numbers(*map(np.asarray, source.chunk(c))) for c in range(200)]
    assert_distribution(np.concatenate(numbers), distribution_of(tiny_problem()))


# The error rate of each shot.


@pytest.mark.parametrize("p", [1e-4, 0.006, 0.1])
def test_priors_on_the_device_are_those_of_the_problem(p):
    found = ShotSampler(problem()).priors(jnp.array([p, 0.5]))
    np.testing.assert_allclose(found[0], problem().at(p).priors, rtol=2e-5)
    np.testing.assert_allclose(found[1], problem().at(0.5).priors, rtol=2e-5)


def test_each_shot_has_its_own_error_rate():
    shots = 40_000
    rates = jnp.tile(jnp.array([0.002, 0.02]), shots // 2)
    syndrome, _ = eqx.filter_jit(ShotSampler(problem()))(rates, key=jr.key(1))
    for start, p in ((0, 0.002), (1, 0.02)):
        h, priors = problem().check_matrix.toarray(), problem().at(p).priors
        expected = (1 - np.prod(np.where(h, 1 - 2 * priors, 1), axis=1)) / 2
        hits = np.asarray(syndrome)[start::2].sum(axis=0, dtype=int)
        for detector, rate in enumerate(expected):
            assert_rate(hits[detector], shots // 2, rate)


def test_noise_without_a_formula_is_scaled_as_independent_copies_compose():
    """p = problem.p is the prior itself, twice that two copies, and 1/2 stays 1/2."""
    source = problem_from_dem(stim.DetectorErrorModel("error(0.1) D0 L0\nerror(0.3) D0"))
    assert source.channels is None
    once, twice, half = ShotSampler(source).priors(source.p * jnp.array([1.0, 2.0, 0.5]))
    np.testing.assert_allclose(once, source.priors, rtol=1e-6)
    np.testing.assert_allclose(twice, 2 * source.priors * (1 - source.priors), rtol=1e-6)
    np.testing.assert_allclose(2 * half * (1 - half), source.priors, rtol=1e-6)
    always = np.flatnonzero(tiny_problem().priors == 0.5)
    assert always.size
    found = ShotSampler(tiny_problem()).priors(jnp.array([0.001, 0.5]))
    np.testing.assert_array_equal(found[:, always], 0.5)


# What a shot is made of.


def test_the_syndrome_and_logicals_are_parities_of_the_errors():
    sampler = ShotSampler(problem())
    errors = sampler.errors(jnp.full(50, 0.05), key=jr.key(2))
    shots = sampler.observe(errors)
    e = np.asarray(errors).astype(int)
    assert set(np.unique(e)) == {0, 1}
    np.testing.assert_array_equal(shots.syndrome, (e @ problem().check_matrix.T.toarray()) % 2)
    np.testing.assert_array_equal(shots.logicals, (e @ problem().logical_matrix.T.toarray()) % 2)
    again = sampler(jnp.full(50, 0.05), key=jr.key(2))
    np.testing.assert_array_equal(shots.syndrome, again.syndrome)
    np.testing.assert_array_equal(shots.logicals, again.logicals)
    assert shots.syndrome.dtype == shots.logicals.dtype == jnp.uint8


def ragged_problem():
    circuit = stim.Circuit.generated(
        "surface_code:rotated_memory_z", distance=3, rounds=2, after_clifford_depolarization=0.01
    )
    return problem_from_circuit(circuit)


def capacity_problem():
    return problem_from_code(get_code("bb18"), "code-capacity", 0.01)


@pytest.mark.parametrize("make", [problem, ragged_problem, capacity_problem, tiny_problem])
def test_intermediate_logicals_of_every_frame_are_l_pi_e(make):
    found = make()
    sampler = ShotSampler(found, intermediate=True)
    errors = sampler.errors(jnp.full(200, 0.1), key=jr.key(3))
    shots = sampler.observe(errors)
    e = np.asarray(errors).astype(int)
    frames = found.num_rounds + 1
    assert shots.logicals.shape == (200, frames, found.num_logicals)
    for r, rows in enumerate(intermediate_logicals(found)):
        np.testing.assert_array_equal(shots.logicals[:, r], e @ rows.toarray().T.astype(int) % 2)
    final = ShotSampler(found).observe(errors)
    np.testing.assert_array_equal(shots.logicals[:, -1], final.logicals)
    np.testing.assert_array_equal(shots.syndrome, final.syndrome)


@given(
    st.sampled_from([257, 1000, 3001]),
    st.integers(0, 2**31),
    st.sampled_from(["bfloat16", "float32"]),
)
def test_parities_are_exact_beyond_the_counts_that_bfloat16_holds(size, seed, dtype):
    rng = np.random.default_rng(seed)
    matrix = rng.random((3, size)) < 0.9
    errors = rng.random((2, size)) < 0.9
    flips = parity(jnp.asarray(matrix, dtype), jnp.asarray(errors, dtype))
    np.testing.assert_array_equal(flips, errors.astype(int) @ matrix.T.astype(int) % 2)


def test_the_parity_of_all_ones_counts_exactly():
    for size in (256, 257, 301, 17_928):
        ones = jnp.ones((1, size), jnp.bfloat16)
        assert int(parity(ones, ones)[0, 0]) == size % 2


# Evaluation shots: the same bits on every machine, for ever.

# sha256 of the bytes of syndrome and logicals of chunks 0 and 5, seed 0, bb18 as above. Another
# hash means other shots: stored counts no longer belong to the shots they name.
GOLDEN = "60ae99f59a7c9e21eff7ceb18272c28c45a17b06e788a3e3bbfe62e03b2d718e"


def chunk_hash(source):
    digest = hashlib.sha256()
    for number in (0, 5):
        for part in source.chunk(number):
            digest.update(np.asarray(part).tobytes())
    return digest.hexdigest()


def test_chunks_are_the_stored_bits():
    assert chunk_hash(EvaluationShots(problem())) == GOLDEN


@pytest.mark.device
def test_chunks_are_the_stored_bits_on_the_accelerator():
    assert jax.default_backend() != "cpu"
    assert parity_dtype() == jnp.bfloat16
    assert chunk_hash(EvaluationShots(problem())) == GOLDEN


@pytest.mark.parametrize(
    "setting",
    [
        {"JAX_ENABLE_X64": "1"},
        {"JAX_THREEFRY_PARTITIONABLE": "0"},
        {"JAX_DEFAULT_PRNG_IMPL": "rbg"},
    ],
    ids=lambda setting: next(iter(setting)),
)
def test_no_setting_of_jax_changes_the_bits(tmp_path, setting):
    from unmasq.problems.problem_file import save_problem

    save_problem(problem(), tmp_path / "problem")
    program = (
        "import hashlib, sys, numpy as np\n"
        "from unmasq.problems.problem_file import load_problem\n"
        "from unmasq.shots.sampling import EvaluationShots\n"
        "source = EvaluationShots(load_problem(sys.argv[1]))\n"
        "parts = [np.asarray(part).tobytes() for c in (0, 5) for part in source.chunk(c)]\n"
        "print(hashlib.sha256(b''.join(parts)).hexdigest())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "problem"],
        env={**os.environ, **setting},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == GOLDEN


def test_chunks_do_not_depend_on_the_order_of_calls():
    one, other = EvaluationShots(problem()), EvaluationShots(problem())
    forward = [one.chunk(c) for c in (0, 1, 2)]
    backward = [other.chunk(c) for c in (2, 1, 0)][::-1]
    for first, second in zip(forward, backward, strict=True):
        np.testing.assert_array_equal(first.syndrome, second.syndrome)
        np.testing.assert_array_equal(first.logicals, second.logicals)


def test_chunks_and_seeds_differ():
    sources = [EvaluationShots(problem(), seed) for seed in (0, 1, 2**32 - 1)]
    chunks = [s.chunk(c).syndrome for s in sources for c in (0, 1, 2**32 - 1)]
    assert len({np.asarray(chunk).tobytes() for chunk in chunks}) == 9
    assert chunks[0].shape == (CHUNK_SHOTS, problem().num_detectors) == (1024, 54)


def test_the_faults_at_a_lower_p_are_among_those_at_a_higher_one():
    """Comparisons between rates lose noise."""
    low, high = (EvaluationShots(problem().at(p)).chunk(0).syndrome for p in (0.001, 0.002))
    quiet = ~np.asarray(high).any(axis=1)
    assert 0.3 < quiet.mean() < 0.7
    assert np.asarray(low)[quiet].any(axis=1).mean() < 0.02


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seeds_outside_the_range_are_refused(seed):
    with pytest.raises(ValueError, match=f"seed must lie in 0..4294967295: got {seed}"):
        EvaluationShots(problem(), seed)


@pytest.mark.parametrize("number", [-1, 2**32])
def test_chunks_outside_the_range_are_refused(number):
    with pytest.raises(ValueError, match=f"number must lie in 0..4294967295: got {number}"):
        EvaluationShots(problem()).chunk(number)
