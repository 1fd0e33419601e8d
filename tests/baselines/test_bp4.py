"""Quaternary BP + OSD as a decoder: the qubits it finds, and its exact error rate on [[18,4,4]]."""

import dataclasses

import numpy as np
import pytest

from baselines.small_problems import (
    joint_distribution,
    pauli_problem,
    sampled_shots,
    success_probability,
)
from statistical import assert_rate
from unmasq.baselines import make_baseline
from unmasq.baselines.bp4 import NUM_ITERATIONS, QuaternaryBpOsd
from unmasq.baselines.osd import ordered_statistics
from unmasq.codes import get_code
from unmasq.models.quaternary import min_sum, run_bp4
from unmasq.problems.building import problem_from_code
from unmasq.problems.pauli_channel import pauli_channel

pytestmark = pytest.mark.usefixtures("full_compilation")


@pytest.fixture(scope="module")
def bb18():
    return problem_from_code(get_code("bb18"), "code-capacity", 0.05)


@pytest.fixture(scope="module")
def exact(bb18):
    """All 2^14 syndromes and P(s, l): 4 million numbers, in two seconds."""
    return joint_distribution(bb18)


def test_the_joint_distribution_is_one(bb18, exact):
    syndromes, distribution = exact
    assert distribution.shape == (2**14, 2**8)
    np.testing.assert_allclose(distribution.sum(), 1.0)
    quiet = np.flatnonzero(~syndromes.any(axis=1))
    # No error at all, exactly; stabilizers and logicals of weight 4 and more add the rest.
    lowest = 0.95**18
    assert lowest < distribution[quiet, 0] < 1.01 * lowest
    shots, _ = sampled_shots(bb18, 4000, seed=0)
    assert_rate(int((~shots.any(axis=1)).sum()), 4000, float(distribution[quiet].sum()))


def test_it_comes_close_to_the_most_likely_coset_and_never_beats_it(bb18, exact):
    """Exact error rates, no statistics: 0.0729 at best, 0.0819 with OSD-10, 0.0868 with OSD-0."""
    syndromes, distribution = exact
    best = 1 - distribution.max(axis=1).sum()
    low, high = (
        1 - success_probability(distribution, make_baseline(name, bb18).decode_batch(syndromes))
        for name in ("bp4-osd10", "bp4-osd0")
    )
    assert best == pytest.approx(0.07287, abs=1e-5)
    # Where BP ties to the last bit, another machine may decide the other way.
    assert low == pytest.approx(0.0819, abs=5e-4)
    assert high == pytest.approx(0.0868, abs=5e-4)


def test_its_rate_on_shots_is_its_exact_rate(bb18, exact):
    syndromes, distribution = exact
    decoder = QuaternaryBpOsd(bb18)
    expected = 1 - success_probability(distribution, decoder.decode_batch(syndromes))
    shots, logicals = sampled_shots(bb18, 5000, seed=1)
    failures = (decoder.decode_batch(shots) != logicals).any(axis=1).sum()
    assert_rate(int(failures), 5000, expected)


def test_the_predicted_error_has_the_syndrome(bb18):
    shots, _ = sampled_shots(bb18.at(0.15), 500, seed=2)
    decoder = QuaternaryBpOsd(bb18)
    x_errors, z_errors = decoder.decode_to_errors(shots)
    channel = pauli_channel(bb18)
    np.testing.assert_array_equal(z_errors @ channel.checks_x.T.astype(int) % 2, shots[:, :9])
    np.testing.assert_array_equal(x_errors @ channel.checks_z.T.astype(int) % 2, shots[:, 9:])


def test_the_settings_are_the_papers(bb18):
    decoder = make_baseline("bp4-osd10", bb18)
    assert NUM_ITERATIONS == 100
    assert decoder._check_rule is min_sum(0.5)
    assert decoder._osd_x.order == decoder._osd_z.order == 10
    assert make_baseline("bp4-osd0", bb18)._osd_x.order == 0
    assert make_baseline("bp4-osd10-s0.75", bb18)._check_rule is min_sum(0.75)


def test_a_single_shot_is_decoded_alone_and_as_in_a_batch(bb18, monkeypatch):
    shots, _ = sampled_shots(bb18.at(0.15), 40, seed=5)
    shots = shots[shots.any(axis=1)]
    decoder = QuaternaryBpOsd(bb18)
    whole = decoder.decode_batch(shots)
    sizes = []

    def watched(*arguments, **settings):
        sizes.append(arguments[2][0].shape[1])
        return run_bp4(*arguments, **settings)

    monkeypatch.setattr("unmasq.baselines.bp4.run_bp4", watched)
    singles = np.concatenate([decoder.decode_batch(shot[None]) for shot in shots])
    assert set(sizes) == {1}
    assert len(sizes) > len(shots)  # some went on after the first iterations
    np.testing.assert_array_equal(singles, whole)


def test_a_warm_decoder_compiles_nothing_more(bb18):
    shots, _ = sampled_shots(bb18.at(0.2), 40, seed=6)  # some are left to OSD
    decoder = QuaternaryBpOsd(bb18)
    decoder.warm_up(40)
    compiled = run_bp4._cache_size(), ordered_statistics._cache_size()
    for part in (shots, shots[:20], *(shot[None] for shot in shots)):
        decoder.decode_batch(part)
    assert (run_bp4._cache_size(), ordered_statistics._cache_size()) == compiled


def test_where_bp_fails_osd_solves_each_half_from_its_own_odds(bb18):
    shots, _ = sampled_shots(bb18.at(0.15), 128, seed=4)
    decoder = QuaternaryBpOsd(bb18)
    halves = shots[:, :9].astype(bool), shots[:, 9:].astype(bool)
    x_bits, z_bits, x_odds, z_odds, converged = decoder._run_bp(*halves, 100)
    assert 10 < converged.sum() < 110
    x_errors, z_errors = decoder.decode_to_errors(shots)
    np.testing.assert_array_equal(x_errors[converged], x_bits[converged])
    np.testing.assert_array_equal(z_errors[converged], z_bits[converged])
    x_solved, z_solved = (
        decoder._osd_z.run(x_odds, halves[1]),
        decoder._osd_x.run(z_odds, halves[0]),
    )
    np.testing.assert_array_equal(x_errors[~converged], x_solved[~converged])
    np.testing.assert_array_equal(z_errors[~converged], z_solved[~converged])


def test_large_batches_are_cut_and_joined_in_order(bb18, monkeypatch):
    shots, _ = sampled_shots(bb18, 50, seed=3)
    whole = QuaternaryBpOsd(bb18).decode_batch(shots)
    monkeypatch.setattr("unmasq.baselines.bp4._MAX_BATCH", 16)
    np.testing.assert_array_equal(QuaternaryBpOsd(bb18).decode_batch(shots), whole)


@pytest.mark.parametrize("name", ["bb18", "bb72"])
def test_the_qubits_found_are_those_of_the_code(name):
    code = get_code(name)
    channel = pauli_channel(problem_from_code(code, "code-capacity", 0.06))
    np.testing.assert_allclose(
        channel.probabilities, np.tile([0.94, 0.02, 0.02, 0.02], (code.n, 1))
    )
    found = np.concatenate(
        [channel.checks_x, channel.checks_z, channel.logicals_of_z, channel.logicals_of_x]
    )
    zeros = np.zeros_like(code.logicals_x)
    expected = np.concatenate(
        [code.checks_x, code.checks_z, code.logicals_x, zeros, zeros, code.logicals_z]
    )
    assert sorted(map(bytes, found.T)) == sorted(map(bytes, expected.T))


def test_a_biased_channel_is_read_from_the_faults():
    eye, none = np.eye(3, dtype=np.uint8), np.zeros((0, 3), np.uint8)
    problem = pauli_problem(eye, eye, eye, none, (0.1, 0.15, 0.2))
    identity, x, z, y = pauli_channel(problem).probabilities[0]
    assert x == pytest.approx(0.1 * 0.85 * 0.8 + 0.9 * 0.15 * 0.2)
    assert z == pytest.approx(0.15 * 0.9 * 0.8 + 0.85 * 0.1 * 0.2)
    assert y == pytest.approx(0.2 * 0.9 * 0.85 + 0.8 * 0.1 * 0.15)
    assert identity + x + y + z == pytest.approx(1)


def test_each_qubit_gets_the_priors_of_its_own_three_faults():
    uniform = problem_from_code(get_code("bb72"), "code-capacity", 0.06)
    priors = np.random.default_rng(7).uniform(0.01, 0.2, uniform.num_faults)
    channel = pauli_channel(dataclasses.replace(uniform, priors=priors, symmetry=None))
    blocks = (uniform.check_matrix.toarray(), uniform.logical_matrix.toarray())
    prior_of = dict(zip(map(bytes, np.concatenate(blocks).T), priors, strict=True))
    of_x = np.concatenate([0 * channel.checks_x, channel.checks_z, channel.logicals_of_x])
    of_z = np.concatenate([channel.checks_x, 0 * channel.checks_z, channel.logicals_of_z])
    for j, (_, x, z, _) in enumerate(channel.probabilities):
        q_x, q_z, q_y = (prior_of[bytes(e[:, j])] for e in (of_x, of_z, of_x ^ of_z))
        assert x == pytest.approx(q_x * (1 - q_z) * (1 - q_y) + (1 - q_x) * q_z * q_y)
        assert z == pytest.approx(q_z * (1 - q_x) * (1 - q_y) + (1 - q_z) * q_x * q_y)


def test_osd_weighs_candidates_by_the_channel_of_each_half():
    eye = np.eye(3, dtype=np.uint8)
    problem = pauli_problem(eye, eye, eye, eye, (0.1, 0.15, 0.2))
    priors = np.random.default_rng(6).uniform(0.01, 0.2, problem.num_faults)
    decoder = QuaternaryBpOsd(dataclasses.replace(problem, priors=priors))
    _, x, z, y = decoder._channel.probabilities.T
    for osd, flip in ((decoder._osd_x, z + y), (decoder._osd_z, x + y)):
        odds = np.log((1 - flip) / flip)
        np.testing.assert_allclose(osd._weights / 4096, odds / odds.max(), atol=1e-3)


def test_qubits_that_differ_only_in_their_logicals_are_told_apart():
    """[[4,2,2]]: every X error fires the same single check."""
    check = np.ones((1, 4), np.uint8)
    logicals = np.array([[1, 1, 0, 0], [1, 0, 1, 0]], np.uint8)
    problem = pauli_problem(check, check, logicals, logicals, (0.05, 0.01, 0.02))
    channel = pauli_channel(problem)
    assert len(channel.probabilities) == 4
    syndromes, distribution = joint_distribution(problem)
    predictions = make_baseline("bp4-osd10", problem).decode_batch(syndromes)
    best = distribution.max(axis=1).sum()
    assert 0.99 * best < success_probability(distribution, predictions) <= best + 1e-12


def test_circuit_noise_is_refused_with_a_way_out():
    problem = problem_from_code(get_code("bb18"), "circuit", 0.003, rounds=1)
    with pytest.raises(ValueError, match=r"code-capacity.*'bb18' with circuit noise.*bposd-xz"):
        make_baseline("bp4-osd0", problem)


def test_qubits_with_a_missing_or_doubled_fault_are_refused(bb18):
    keep = np.arange(54) != 7
    fewer = dataclasses.replace(
        bb18,
        check_matrix=bb18.check_matrix[:, keep],
        logical_matrix=bb18.logical_matrix[:, keep],
        priors=bb18.priors[keep],
        channels=None,
        symmetry=None,
    )
    with pytest.raises(ValueError, match="53 faults"):
        pauli_channel(fewer)
    swapped = bb18.logical_matrix.toarray()
    swapped[:, 0] ^= 1
    logicals = type(bb18.logical_matrix)(swapped)
    with pytest.raises(ValueError, match="54 faults"):
        pauli_channel(dataclasses.replace(bb18, logical_matrix=logicals, symmetry=None))


def test_random_syndromes_do_not_stop_it(bb18):
    """Most are in no error's reach: the 18 checks of [[18,4,4]] have rank 14."""
    syndromes = np.random.default_rng(5).integers(0, 2, (50, 18), np.uint8)
    assert make_baseline("bp4-osd10", bb18).decode_batch(syndromes).shape == (50, 8)
