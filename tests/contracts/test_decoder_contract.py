"""What every decoder promises, whoever wrote it: one suite for all of them.

A decoder joins by an entry in `DECODERS`. Quaternary BP and the listing of cosets read only Pauli
noise on qubits, so each case also comes in that form.
"""

import dataclasses
import pickle

import numpy as np
import pytest
import stim

from baselines.small_problems import (
    all_bits,
    identity_problem,
    logicals_of,
    pauli_problem,
    repetition_problem,
    sampled_shots,
    syndromes_of,
)
from unmasq.baselines import baseline_names, make_baseline
from unmasq.codes import get_code
from unmasq.decoding import Decoder
from unmasq.problems.building import problem_from_code, problem_from_dem, problem_from_matrices
from unmasq.problems.problem import DecodingProblem

DECODERS = baseline_names()
QUATERNARY = tuple(name for name in DECODERS if name.startswith(("bp4", "coset")))
BINARY = tuple(name for name in DECODERS if name not in QUATERNARY)

every_decoder = pytest.mark.parametrize("name", DECODERS)
every_binary_decoder = pytest.mark.parametrize("name", BINARY)


def make(name: str, problem: DecodingProblem) -> Decoder:
    pytest.importorskip({"relay": "relay_bp", "tesse": "tesseract_decoder"}.get(name[:5], "numpy"))
    if name.endswith("-x") and problem.basis == "?":  # all checks are of the type that it reads
        problem = dataclasses.replace(problem, basis="X")
    return make_baseline(name, problem)


def steane_problem() -> DecodingProblem:
    checks = all_bits(3)[1:].T.copy()
    logical = np.ones((1, 7), np.uint8)
    return pauli_problem(checks, checks, logical, logical, (0.02, 0.02, 0.02))


def lone_qubits(count: int) -> DecodingProblem:
    """Qubits with checks and logicals of their own: the syndrome is the answer."""
    eye = np.eye(count, dtype=np.uint8)
    return pauli_problem(eye, eye, eye, eye, (0.02, 0.02, 0.02))


def some_problem(name: str) -> DecodingProblem:
    return steane_problem() if name in QUATERNARY else repetition_problem([0.1, 0.05, 0.2, 0.15])


@every_decoder
def test_it_says_who_it_is(name: str):
    problem = some_problem(name)
    decoder = make(name, problem)
    assert isinstance(decoder, Decoder)
    assert decoder.name == name
    assert decoder.num_detectors == problem.num_detectors
    assert decoder.num_logicals == problem.num_logicals


@every_decoder
def test_an_empty_batch_gives_an_empty_prediction(name: str):
    problem = some_problem(name)
    predictions = make(name, problem).decode_batch(np.zeros((0, problem.num_detectors), np.uint8))
    assert predictions.shape == (0, problem.num_logicals)
    assert predictions.dtype == np.uint8


@every_decoder
def test_a_quiet_shot_flips_nothing(name: str):
    problem = some_problem(name)
    quiet = np.zeros((3, problem.num_detectors), np.uint8)
    predictions = make(name, problem).decode_batch(quiet)
    assert not predictions.any()
    assert predictions.shape == (3, problem.num_logicals)


@every_decoder
def test_one_shot_is_a_batch_of_one_and_order_does_not_matter(name: str):
    noise = ("code-capacity", 0.1) if name in QUATERNARY else ("circuit", 0.006)
    code = "toric:3" if name == "pymatching" else "bb18"
    problem = problem_from_code(get_code(code), *noise, rounds=1)
    shots = 6 if name.startswith("coset") else 32  # it lists cosets: a tenth of a second a shot
    syndromes, _ = sampled_shots(problem, shots, seed=1)
    decoder = make(name, problem)
    together = decoder.decode_batch(syndromes)
    assert together.any(axis=1).sum() > (0 if code == "toric:3" else shots // 4)
    singly = np.concatenate([decoder.decode_batch(shot[None]) for shot in syndromes])
    np.testing.assert_array_equal(singly, together)
    order = np.random.default_rng(2).permutation(shots)
    np.testing.assert_array_equal(decoder.decode_batch(syndromes[order]), together[order])


@every_decoder
def test_a_wrong_width_is_refused_with_both_sizes(name: str):
    problem = some_problem(name)
    decoder = make(name, problem)
    m = problem.num_detectors
    with pytest.raises(ValueError, match=rf"decoder's {m} columns.*got {m + 1}\."):
        decoder.decode_batch(np.zeros((2, m + 1), np.uint8))
    with pytest.raises(ValueError, match=r"np\.unpackbits"):
        decoder.decode_batch(np.zeros((2, 1), np.uint8))
    with pytest.raises(ValueError, match=rf"shape \(shots, {m}\).*got shape \({m},\)"):
        decoder.decode_batch(np.zeros(m, np.uint8))


@every_decoder
def test_what_is_not_bits_is_refused(name: str):
    problem = some_problem(name)
    decoder = make(name, problem)
    syndromes = np.zeros((3, problem.num_detectors), np.uint8)
    syndromes[1, 2] = 2
    with pytest.raises(ValueError, match=r"syndromes\[1, 2\] = 2"):
        decoder.decode_batch(syndromes)
    with pytest.raises(TypeError, match="float64"):
        decoder.decode_batch(np.zeros((3, problem.num_detectors)))


@every_decoder
def test_the_type_of_the_bits_does_not_matter(name: str):
    problem = some_problem(name)
    decoder = make(name, problem)
    syndromes, _ = sampled_shots(problem, 30, seed=3)
    kept = syndromes.copy()
    expected = decoder.decode_batch(syndromes)
    np.testing.assert_array_equal(syndromes, kept)
    assert expected.dtype == np.uint8
    for dtype in (np.bool_, np.int64):
        np.testing.assert_array_equal(decoder.decode_batch(syndromes.astype(dtype)), expected)
    columns_first = np.asfortranarray(syndromes)
    np.testing.assert_array_equal(decoder.decode_batch(columns_first), expected)


@every_decoder
@pytest.mark.parametrize("size", [1, 4, 5, 8])
def test_any_number_of_detectors_and_logicals_modulo_8(name: str, size: int):
    problem = lone_qubits(size) if name in QUATERNARY else identity_problem(2 * size - 1)
    syndromes = np.random.default_rng(4).integers(0, 2, (20, problem.num_detectors), np.uint8)
    np.testing.assert_array_equal(make(name, problem).decode_batch(syndromes), syndromes)


@every_decoder
def test_a_pickled_decoder_answers_the_same(name: str):
    problem = some_problem(name)
    decoder = make(name, problem)
    copy = pickle.loads(pickle.dumps(decoder))
    assert copy.name == name
    syndromes = all_bits(problem.num_detectors)[:64]
    if name.startswith("coset"):
        syndromes = syndromes[::5]
    np.testing.assert_array_equal(copy.decode_batch(syndromes), decoder.decode_batch(syndromes))


@every_decoder
def test_single_faults_are_undone(name: str):
    """Each fault alone is the most likely explanation of its syndrome."""
    problem = repetition_problem([0.02, 0.03, 0.04])
    if name in QUATERNARY:
        problem = problem_from_code(get_code("bb18"), "code-capacity", 0.01)
    errors = np.eye(problem.num_faults, dtype=np.uint8)
    predictions = make(name, problem).decode_batch(syndromes_of(problem, errors))
    np.testing.assert_array_equal(predictions, logicals_of(problem, errors))


@every_binary_decoder
def test_the_likelier_half_of_a_repetition_code_wins(name: str):
    problem = repetition_problem([0.01, 0.02, 0.05, 0.03, 0.04])
    syndromes, best = most_likely(problem)
    np.testing.assert_array_equal(make(name, problem).decode_batch(syndromes), best)


@every_binary_decoder
@pytest.mark.parametrize("likelier", [0, 1])
def test_faults_of_equal_detectors_are_told_apart_by_their_priors(name: str, likelier: int):
    priors = [0.02, 0.02]
    priors[likelier] = 0.1
    problem = problem_from_matrices([[1, 1]], [[0, 1]], priors)
    assert problem.num_faults == 2
    assert make(name, problem).decode_batch(np.array([[1]], np.uint8)) == [[likelier]]


@every_binary_decoder
def test_no_detectors_at_all(name: str):
    problem = problem_from_matrices(np.zeros((0, 2)), [[1, 0], [1, 1]], [0.1, 0.2])
    predictions = make(name, problem).decode_batch(np.zeros((3, 0), np.uint8))
    np.testing.assert_array_equal(predictions, np.zeros((3, 2), np.uint8))


@every_binary_decoder
def test_no_faults_at_all(name: str):
    dem = stim.DetectorErrorModel("detector D1\nlogical_observable L0")
    problem = problem_from_dem(dem)
    assert problem.check_matrix.shape == (2, 0)
    syndromes = np.array([[0, 0], [1, 0]], np.uint8)
    np.testing.assert_array_equal(make(name, problem).decode_batch(syndromes), [[0], [0]])


@every_binary_decoder
@pytest.mark.parametrize("second_row", [[0, 0], [1, 1]])
def test_a_syndrome_that_no_error_explains_is_no_reason_to_stop(name: str, second_row: list[int]):
    if name == "pymatching" and any(second_row):
        pytest.skip("a fault that flips three detectors")
    problem = problem_from_matrices([[1, 1], second_row, [0, 1]], [[1, 0]], [0.1, 0.2])
    predictions = make(name, problem).decode_batch(all_bits(3))
    assert predictions.shape == (8, 1)
    explained, best = most_likely(problem)
    rows = explained @ [1, 2, 4]
    np.testing.assert_array_equal(predictions[rows], best)


def most_likely(problem: DecodingProblem) -> tuple[np.ndarray, np.ndarray]:
    """Every syndrome, and the logicals of its most likely error, from a list of all errors."""
    errors = all_bits(problem.num_faults)
    odds = errors @ np.log((1 - problem.priors) / problem.priors)
    keys = syndromes_of(problem, errors) @ (1 << np.arange(problem.num_detectors))
    order = np.lexsort((odds, keys))
    first = order[np.unique(keys[order], return_index=True)[1]]
    return syndromes_of(problem, errors[first]), logicals_of(problem, errors[first])
