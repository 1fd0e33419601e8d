"""A model that knows no number of rounds decodes its experiment with any, and nothing else."""

import functools
import warnings

import numpy as np
import pytest

from command_line import run
from tiny_network import write_tiny_network
from unmasq.circuits import NoiseModel
from unmasq.codes import get_code
from unmasq.decoding.diffusion_decoder import load
from unmasq.decoding.model_store import find_model, model_for_problem
from unmasq.decoding.problem_match import problem_to_decode
from unmasq.decoding.sinter_adapter import ByStructure, OneModel
from unmasq.evaluation.collect import Limits, collect
from unmasq.evaluation.contenders import network
from unmasq.problems.building import circuit_from_code, problem_from_code
from unmasq.problems.problem import ProblemMismatchError
from unmasq.problems.trained_noise import NoiseMismatchWarning


@functools.cache
def circuit(rounds, basis="X", code="bb18", noise="circuit"):
    return circuit_from_code(
        get_code(code), noise, 0.003 if noise == "circuit" else None, rounds, basis
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("rounds") / "tiny.safetensors"
    problem = problem_from_code(get_code("bb18"), "circuit", 0.003, 3)
    write_tiny_network(path, problem, messages=True, trained_at=(0.001, 0.003))
    return path


@pytest.fixture(scope="module")
def decoder(path):
    return load(path)


@pytest.mark.parametrize("rounds", [1, 4])
def test_it_decodes_other_rounds_as_its_stream_does(decoder, rounds):
    """A stream takes frame by frame, and cannot know how many will come."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = decoder.for_problem(circuit(rounds))
    assert other.num_detectors == 18 * (rounds + 1)
    shots = np.random.default_rng(rounds).integers(0, 2, (4, other.num_detectors), np.uint8)
    stream = decoder.stream()
    for frame in np.split(shots, rounds + 1, axis=1):
        stream.push(frame)
    expected = stream.finish()
    found = other.decode_soft(shots)
    np.testing.assert_array_equal(found.logicals, expected.logicals)
    np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-5)


def test_there_and_back_is_the_model_itself(decoder):
    back = decoder.for_problem(circuit(4)).for_problem(circuit(3))
    assert (back.num_detectors, back.structure_id) == (72, decoder.structure_id)
    assert decoder.for_problem(circuit(3)) is decoder


@pytest.mark.parametrize(
    "other",
    [
        lambda: circuit(2, "Z"),
        lambda: circuit(4, "Z"),
        lambda: circuit(2, code="bb36"),
        lambda: circuit(4, noise=NoiseModel(0.0, 0.003, 0.003, 0.003)),
        lambda: circuit_from_code(get_code("bb18"), "code-capacity", 0.01),
    ],
    ids=["basis, 2", "basis, 4", "code", "no CNOT faults", "no rounds"],
)
def test_another_experiment_is_refused(decoder, other):
    with pytest.raises(ProblemMismatchError, match="decodes every number of rounds"):
        decoder.for_problem(other())


def test_other_noise_is_noticed_at_other_rounds(decoder):
    biased = circuit(4, noise=NoiseModel(0.003, 0.003, 0.003, 0.03))
    with pytest.warns(NoiseMismatchWarning, match="times more or less likely"):
        decoder.require_problem(biased)


def test_sinter_and_evaluate_find_it(path, decoder):
    problem = problem_from_code(get_code("bb18"), "circuit", 0.003, 2)
    assert model_for_problem(problem, [find_model(path)]).name == "tiny"
    one = OneModel(str(path), decoder.model_hash)
    assert ByStructure((one,))(problem_to_decode(circuit(2))).num_detectors == 54
    for contender in (network(path), network(decoder)):
        (counts,) = collect([contender], problem, [0.003], Limits(64), workers=1)
        assert (counts.shots, counts.point.rounds) == (64, 2)


def test_predict_reads_shots_of_the_circuit_it_is_given(path, tmp_path, capsys):
    circuit(2).to_file(tmp_path / "two.stim")
    shots = circuit(2).compile_detector_sampler(seed=1).sample(7, bit_packed=True)
    (tmp_path / "shots").write_bytes(shots.tobytes())
    code, _, err = run(
        capsys, "predict", "--model", path, "--dets", tmp_path / "shots", "--dets_format", "b8",
        "--obs_out", tmp_path / "obs", "--obs_out_format", "01", "--circuit", tmp_path / "two.stim",
    )  # fmt: skip
    assert (code, err) == (0, f"7 shots: {tmp_path / 'obs'}\n")
