"""The most likely coset: its counts against lists of all errors, its answers against exact ones."""

import collections
import dataclasses
import itertools
import pickle

import numpy as np
import pytest

from baselines.small_problems import (
    all_bits,
    joint_distribution,
    pauli_problem,
    sampled_shots,
    success_probability,
)
from unmasq.baselines import make_baseline
from unmasq.baselines.cosets import CosetSums, LikeliestCoset
from unmasq.codes import CSSCode, get_code
from unmasq.problems.building import problem_from_code
from unmasq.problems.problem import DecodingProblem

HAMMING, ALL_SEVEN = all_bits(3)[1:].T.copy(), np.ones((1, 7), np.uint8)


def uniform_problem(checks: np.ndarray, logicals: np.ndarray, q: float = 0.02) -> DecodingProblem:
    """Both types alike; faults of one probability make X, Z and Y of one probability."""
    return pauli_problem(checks, checks, logicals, logicals, (q, q, q))


def lone_qubits(count: int) -> DecodingProblem:
    """Qubits with checks and logicals of their own: the syndrome is the answer."""
    eye = np.eye(count, dtype=np.uint8)
    return uniform_problem(eye, eye)


def capacity(name: str, p: float) -> DecodingProblem:
    return problem_from_code(get_code(name), "code-capacity", p)


def single_errors(x: tuple, z: tuple) -> np.ndarray:
    """What X, Z, Y of each qubit flip, (n, 3) numbers of bits: X checks, Z checks, logicals.

    From the (checks, logicals) of each type, without the code under test.
    """
    of_z = np.concatenate([x[0], 0 * z[0], x[1], 0 * z[1]]).astype(np.int64)
    of_x = np.concatenate([0 * x[0], z[0], 0 * x[1], z[1]]).astype(np.int64)
    paulis = np.stack([of_x, of_z, of_x ^ of_z], axis=2)
    return (paulis << np.arange(len(of_x))[:, None, None]).sum(axis=0)


def all_errors(singles: np.ndarray, weight: int) -> np.ndarray:
    """What every error of this weight flips, as numbers of bits."""
    qubits = np.array(list(itertools.combinations(range(len(singles)), weight)))
    sums = np.zeros((len(qubits), 1), np.int64)
    for column in qubits.T:
        sums = (sums[:, :, None] ^ singles[column][:, None]).reshape(len(qubits), -1)
    return sums.ravel()


def assert_counts(decoder: LikeliestCoset, singles: np.ndarray, syndromes, weights) -> int:
    """Compares N_w(s, l) with a list of all errors; returns how many were found."""
    m, total = decoder.num_detectors, 0
    for weight in weights:
        errors = all_errors(singles, weight)
        for syndrome in syndromes:
            number = int(syndrome.astype(np.int64) @ (1 << np.arange(m)))
            logicals = errors[errors & (2**m - 1) == number] >> m
            expected = dict(collections.Counter(logicals.tolist()))
            assert decoder._errors.counts(syndrome, weight) == expected, (weight, syndrome)
            total += len(logicals)
    return total


def css_singles(code: CSSCode) -> np.ndarray:
    return single_errors((code.checks_x, code.logicals_x), (code.checks_z, code.logicals_z))


@pytest.fixture(scope="module")
def bb18():
    return capacity("bb18", 0.05)


@pytest.fixture(scope="module")
def exact(bb18):
    return joint_distribution(bb18)


@pytest.mark.parametrize("block", [8192, 5])
def test_the_counts_of_the_steane_code_are_those_of_all_its_errors(monkeypatch, block):
    """Every syndrome, every weight; also where the tables are cut into blocks of five."""
    monkeypatch.setattr("unmasq.baselines.cosets._BLOCK", block)
    decoder = LikeliestCoset(uniform_problem(HAMMING, ALL_SEVEN))
    singles = single_errors((HAMMING, ALL_SEVEN), (HAMMING, ALL_SEVEN))
    assert assert_counts(decoder, singles, all_bits(6), range(1, 8)) == 4**7 - 1


def test_the_counts_of_weight_8_are_those_of_all_errors_of_eight_qubits():
    """Qubits in a cube: a check of all, checks of two faces, and the third face as logical."""
    corners = all_bits(3).T
    checks = np.concatenate([np.ones((1, 8), np.uint8), corners[:2]])
    decoder = LikeliestCoset(uniform_problem(checks, corners[2:]), max_weight=8)
    singles = single_errors((checks, corners[2:]), (checks, corners[2:]))
    assert assert_counts(decoder, singles, all_bits(6)[::9], [7, 8]) > 1000


def test_the_counts_of_bb18_are_those_of_all_errors_up_to_weight_5(bb18):
    shots, _ = sampled_shots(bb18.at(0.15), 20, seed=1)
    shots = shots[shots.any(axis=1)]
    singles = css_singles(get_code("bb18"))
    assert assert_counts(LikeliestCoset(bb18), singles, shots, range(1, 6)) > 1000


def test_it_comes_within_millionths_of_the_most_likely_coset_and_never_beats_it(bb18, exact):
    """No statistics: at p = 0.05 an error rate of 0.07287 at best, and 1.1e-6 more by weight 4."""
    syndromes, distribution = exact
    best = distribution.max(axis=1).sum()
    predictions = LikeliestCoset(bb18, max_weight=4).decode_batch(syndromes)
    success = success_probability(distribution, predictions)
    assert 1 - best == pytest.approx(0.07287, abs=1e-5)
    assert 1e-6 < best - success < 2e-6


def assert_answers_are_best(problem, exact, max_weight: int, picked: slice) -> float:
    """Of the syndromes in order of likelihood, those picked; returns their probability."""
    syndromes, distribution = exact
    some = np.argsort(-distribution.sum(axis=1), kind="stable")[picked]
    predictions = LikeliestCoset(problem, max_weight=max_weight).decode_batch(syndromes[some])
    index = predictions.astype(np.int64) @ (1 << np.arange(problem.num_logicals))
    best = distribution[some].max(axis=1)
    np.testing.assert_allclose(distribution[some, index], best, rtol=1e-9)
    return float(distribution[some].sum())


def test_at_small_p_it_answers_most_likely_cosets_for_0_9995_of_the_shots(bb18):
    problem = bb18.at(0.005)
    exact = joint_distribution(problem)
    assert assert_answers_are_best(problem, exact, 5, slice(1000)) > 0.9995


@pytest.mark.parametrize(("max_weight", "step"), [(5, 20), (7, 1000)])
def test_with_more_weight_its_answers_are_most_likely_cosets_also_at_large_p(
    bb18, exact, max_weight, step
):
    """Likely and unlikely syndromes; by weight 4, one in 20 of all syndromes is answered wrong."""
    assert assert_answers_are_best(bb18, exact, max_weight, slice(1, None, step)) > 0.001


def test_the_name_lists_up_to_weight_8(bb18):
    decoder = make_baseline("coset8", bb18)
    assert decoder.name == "coset8"
    heavy, _ = sampled_shots(bb18.at(0.3), 1, seed=6)
    assert decoder.cosets(heavy[0]).reached == 8


def test_where_no_weight_is_left_out_the_sums_are_exact():
    """[[4,2,2]], whose qubits differ only in the logicals they flip: P(s, l) = (1 - p)^n sum."""
    logicals = np.array([[1, 1, 0, 0], [1, 0, 1, 0]], np.uint8)
    problem = uniform_problem(np.ones((1, 4), np.uint8), logicals, q=0.15)
    syndromes, distribution = joint_distribution(problem)
    decoder = LikeliestCoset(problem)
    quiet = (1 - 3 * 0.15 * 0.85**2 - 3 * 0.15**2 * 0.85) ** 4
    for syndrome, expected in zip(syndromes, distribution, strict=True):
        if syndrome.any():
            found = decoder.cosets(syndrome)
            assert found.reached == 8
            for logical, odds in found.sums.items():
                assert quiet * odds == pytest.approx(expected[logical])
            assert sorted(found.sums) == list(range(16))


def test_errors_planted_in_bb72_are_found():
    problem = capacity("bb72", 0.02)
    decoder = LikeliestCoset(problem)
    code = get_code("bb72")
    rng = np.random.default_rng(2)
    for weight in (4, 5, 6, 7):
        x, z = np.zeros((2, 72), np.int64)
        qubits, paulis = rng.choice(72, weight, replace=False), rng.integers(1, 4, weight)
        x[qubits], z[qubits] = paulis & 1, paulis >> 1
        syndrome = np.concatenate([code.checks_x @ z, code.checks_z @ x]) & 1
        logicals = np.concatenate([code.logicals_x @ z, code.logicals_z @ x]) & 1
        counts = decoder._errors.counts(syndrome.astype(np.uint8), weight)
        assert counts[int(logicals @ (1 << np.arange(24)))] >= 1


def test_the_listing_ends_where_one_coset_leads_with_a_weight_to_spare():
    alone, close, far = {3: 1e-4}, {3: 1e-4, 5: 2e-6}, {3: 1e-4, 5: 9e-7}
    assert not CosetSums({}, None, 4).clear
    assert not CosetSums(alone, 2, 2).clear
    assert CosetSums(alone, 2, 3).clear
    assert not CosetSums(close, 2, 3).clear
    assert CosetSums(far, 2, 3).clear
    assert CosetSums(far, 2, 3).best == 3
    assert CosetSums({}, None, 7).best == 0
    assert CosetSums({6: 0.5, 2: 0.5}, 1, 2).best == 2


def test_a_clear_case_is_not_listed_to_the_end(bb18):
    decoder = LikeliestCoset(bb18.at(0.001))
    syndrome = bb18.check_matrix.toarray()[:, 0]
    found = decoder.cosets(syndrome)
    assert (found.lowest, found.reached) == (1, 2)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_fewer_qubits_than_a_part_has_errors(count):
    problem = lone_qubits(count)
    syndromes = all_bits(2 * count)
    decoder = LikeliestCoset(problem)
    np.testing.assert_array_equal(decoder.decode_batch(syndromes), syndromes)
    assert decoder._errors.counts(syndromes[-1], 7) == {}


def test_an_error_above_the_maximal_weight_gives_no_flip():
    decoder = LikeliestCoset(lone_qubits(5), max_weight=4)
    four, five = np.ones((2, 1, 10), np.uint8)
    four[0, [0, 5]] = 0
    np.testing.assert_array_equal(decoder.decode_batch(four), four)
    assert not decoder.decode_batch(five).any()
    assert decoder.cosets(five[0]) == CosetSums({}, None, 4)


def test_a_syndrome_that_no_error_explains_gives_no_flip(bb18, exact):
    """The 18 checks of [[18,4,4]] have rank 14: one syndrome in 16 can occur."""
    possible = set(map(bytes, exact[0]))
    syndromes = np.random.default_rng(5).integers(0, 2, (64, 18), np.uint8)
    decoder = LikeliestCoset(bb18, max_weight=5)
    for syndrome, prediction in zip(syndromes, decoder.decode_batch(syndromes), strict=True):
        assert decoder._errors.explains(syndrome) == (bytes(syndrome) in possible)
        assert bytes(syndrome) in possible or not prediction.any()


def test_equal_shots_get_equal_answers_in_their_places(bb18):
    shots, _ = sampled_shots(bb18, 40, seed=3)
    decoder = LikeliestCoset(bb18, max_weight=4)
    once = decoder.decode_batch(shots)
    assert once.any()
    order = np.random.default_rng(3).integers(0, 40, 200)
    np.testing.assert_array_equal(decoder.decode_batch(shots[order]), once[order])


def test_a_pickled_one_answers_the_same(bb18):
    shots, _ = sampled_shots(bb18, 200, seed=4)
    decoder = LikeliestCoset(bb18, "coset4", max_weight=4)
    copy = pickle.loads(pickle.dumps(decoder))
    assert (copy.name, copy._max_weight) == ("coset4", 4)
    np.testing.assert_array_equal(copy.decode_batch(shots), decoder.decode_batch(shots))


def test_circuit_noise_is_refused_with_a_way_out():
    problem = problem_from_code(get_code("bb18"), "circuit", 0.003, rounds=1)
    with pytest.raises(ValueError, match=r"^coset8.*'bb18' with circuit noise.*bposd-xz"):
        make_baseline("coset8", problem)


def test_paulis_or_qubits_that_differ_are_refused(bb18):
    eye = np.eye(2, dtype=np.uint8)
    biased = pauli_problem(eye, eye, eye, eye, (0.02, 0.01, 0.02))
    with pytest.raises(ValueError, match=r"P\(Z\) = 0\.01 on qubit 0.*Use bp4-osd10\."):
        LikeliestCoset(biased)
    priors = bb18.priors.copy()
    priors[-1] *= 1.01
    with pytest.raises(ValueError, match="one probability for X, Y and Z of all qubits"):
        LikeliestCoset(dataclasses.replace(bb18, priors=priors, symmetry=None))


def test_large_codes_are_refused_with_their_sizes():
    with pytest.raises(ValueError, match=r"got 132, 24 and 13158288\. Use bp4-osd10"):
        make_baseline("coset8", capacity("bb144", 0.01))


@pytest.mark.parametrize("max_weight", [0, 9])
def test_a_weight_out_of_reach_is_refused(bb18, max_weight):
    with pytest.raises(ValueError, match=rf"max_weight must lie in 1\.\.8: got {max_weight}"):
        LikeliestCoset(bb18, max_weight=max_weight)
