"""A model of both bases decodes the readout of either, at every number of rounds."""

import functools
import warnings

import numpy as np
import pytest

from tiny_network import write_tiny_network
from unmasq.codes import get_code
from unmasq.decoding.diffusion_decoder import load
from unmasq.decoding.model_store import find_model, model_for_problem
from unmasq.decoding.problem_match import problem_to_decode
from unmasq.evaluation.collect import Limits, collect
from unmasq.evaluation.contenders import network
from unmasq.problems.building import circuit_from_code, problem_from_code
from unmasq.problems.problem import ProblemMismatchError

ROWS = {"X": slice(0, 4), "Z": slice(4, 8)}


@functools.cache
def circuit(rounds, basis, code="bb18"):
    return circuit_from_code(get_code(code), "circuit", 0.003, rounds, basis)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("bases") / "tiny.safetensors"
    problem = problem_from_code(get_code("bb18"), "circuit", 0.003, 3, "XZ")
    write_tiny_network(path, problem, messages=True, trained_at=(0.001, 0.003))
    return path


@pytest.fixture(scope="module")
def decoder(path):
    return load(path)


@pytest.mark.parametrize("basis", ["X", "Z"])
def test_each_basis_gets_its_part_of_what_the_network_says(decoder, basis):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the noise is that of training
        alone = decoder.for_problem(circuit(3, basis))
    assert (alone.num_detectors, alone.num_logicals) == (72, 4)
    shots = np.random.default_rng(1).integers(0, 2, (5, 72), np.uint8)
    whole, found = decoder.decode_soft(shots), alone.decode_soft(shots)
    np.testing.assert_array_equal(found.logicals, whole.logicals[:, ROWS[basis]])
    np.testing.assert_array_equal(found.probabilities, whole.probabilities[:, ROWS[basis]])
    right = np.where(found.logicals == 1, found.probabilities, 1 - found.probabilities)
    np.testing.assert_allclose(found.confidence, right.prod(axis=1), rtol=1e-5)
    assert alone.decode_batch(shots[:0]).shape == (0, 4)


@pytest.mark.parametrize("basis", ["X", "Z"])
def test_streams_and_other_rounds_give_that_part_too(decoder, basis):
    alone = decoder.for_problem(circuit(1, basis))
    shots = np.random.default_rng(2).integers(0, 2, (3, 36), np.uint8)
    stream = alone.stream()
    for frame in np.split(shots, 2, axis=1):
        stream.push(frame)
    np.testing.assert_array_equal(stream.finish().logicals, alone.decode_batch(shots))
    assert alone.decode_batch(shots).shape == (3, 4)
    assert alone.for_problem(circuit(1, basis)) is alone


def test_what_is_neither_basis_is_refused(decoder):
    for other in (circuit(3, "X", "bb36"), circuit(2, "X", "bb36")):
        with pytest.raises(ProblemMismatchError, match="must be one that a model was trained for"):
            decoder.for_problem(other)
    alone = decoder.for_problem(circuit(3, "X"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = alone.for_problem(circuit(3, "Z"))  # the model still knows both
    assert again.identity.told.first == 4


@pytest.mark.parametrize(("rounds", "basis"), [(3, "Z"), (2, "X")])
def test_the_model_store_and_evaluate_find_it(path, rounds, basis):
    problem = problem_from_code(get_code("bb18"), "circuit", 0.003, rounds, basis)
    files = [find_model(path)]
    assert model_for_problem(problem_to_decode(circuit(rounds, basis)), files) is files[0]
    (counts,) = collect([network(path)], problem, [0.003], Limits(64), workers=1)
    assert counts.shots == 64
