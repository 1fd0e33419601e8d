"""A wrong problem is refused, with what differs from the model's own."""

import json
import warnings

import pytest
import stim

from tiny_network import write_tiny_network
from unmasq.circuits import NoiseModel
from unmasq.codes import get_code
from unmasq.decoding.diffusion_decoder import load
from unmasq.decoding.problem_match import problem_to_decode, require_problem
from unmasq.decoding.sinter_adapter import OneModel
from unmasq.problems.building import circuit_from_code, problem_from_code
from unmasq.problems.problem import ProblemMismatchError
from unmasq.problems.trained_noise import NoiseMismatchWarning, TrainedNoise


def test_another_p_fits_and_another_problem_does_not(tmp_path):
    problem = problem_from_code(get_code("bb18"), "code-capacity", 0.05)
    write_tiny_network(tmp_path / "tiny.safetensors", problem)
    model = load(tmp_path / "tiny.safetensors").identity
    require_problem(model, problem.at(0.01))
    circuit = problem_from_code(get_code("bb18"), "circuit", 0.003, rounds=2)
    with pytest.raises(ProblemMismatchError) as error:
        require_problem(model, circuit)
    message = str(error.value)
    assert f"got structure {circuit.structure_id} (54 detectors, 4 logicals, " in message
    assert "Model 'tiny' (code bb18, noise code-capacity, basis XZ" in message
    assert f"structure {model.structure_id}, with 18 detectors and 8 logicals" in message


@pytest.fixture(scope="module")
def memory_model(tmp_path_factory):
    """Trained, it says, for two rounds of basis X at p = 0.002 to 0.004."""
    path = tmp_path_factory.mktemp("memory") / "tiny.safetensors"
    problem = problem_from_code(get_code("bb18"), "circuit", 0.004, rounds=2)
    write_tiny_network(path, problem, encoder_layers=1, trained_at=(0.002, 0.004))
    return load(path)


def memory(noise="circuit", p=0.003, rounds=2, basis="X"):
    return circuit_from_code(get_code("bb18"), noise, p, rounds, basis)


@pytest.mark.parametrize("p", [1e-5, 0.003, 0.0075])
def test_its_circuit_and_error_model_fit_at_every_lower_p(memory_model, p):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        memory_model.require_problem(memory(p=p))
        memory_model.require_problem(memory(p=p).detector_error_model())
        memory_model.require_problem(problem_from_code(get_code("bb18"), "circuit", p, 2))


def permuted(dem: stim.DetectorErrorModel) -> stim.DetectorErrorModel:
    """Detectors 0 and 1 exchanged."""
    swap = {0: 1, 1: 0}
    found = stim.DetectorErrorModel()
    for line in dem.flattened():
        if line.type == "error":
            targets = [
                stim.target_relative_detector_id(swap.get(t.val, t.val))
                if t.is_relative_detector_id()
                else t
                for t in line.targets_copy()
            ]
            found.append("error", line.args_copy(), targets)
    return found


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (lambda: memory(basis="Z"), "has as many detectors and logicals, but was trained on"),
        (lambda: memory(rounds=3), "54 detectors and 4 logicals"),
        (lambda: permuted(memory().detector_error_model()), "another order of detectors"),
        (lambda: circuit_from_code(get_code("bb18"), "code-capacity", 0.01), "18 detectors, 8"),
        (lambda: stim.DetectorErrorModel("error(0.1) D53 L3"), "1 faults"),
    ],
    ids=["basis", "rounds", "order", "capacity", "one fault"],
)
def test_every_other_problem_is_refused_in_one_line(memory_model, source, words):
    with pytest.raises(ProblemMismatchError) as error:
        memory_model.require_problem(source())
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_no_problem_at_all_is_a_type_error(memory_model):
    with pytest.raises(TypeError, match="must be a DecodingProblem, a stim.*: got list"):
        memory_model.require_problem([])


@pytest.mark.parametrize(
    ("noise", "p", "words"),
    [
        (NoiseModel(0.003, 0.003, 0.003, 0.03), None, "times more or less likely than in training"),
        (NoiseModel(0.003, 0.0, 0.003, 0.003), None, "some faults are 4.24 times more or less"),
        ("circuit", 0.02, "p = 0.02 lies far above the trained p = 0.002 to 0.004"),
    ],
    ids=["measurement", "no idles", "p"],
)
def test_clearly_other_noise_is_warned_of(memory_model, noise, p, words):
    with pytest.warns(NoiseMismatchWarning) as found:
        memory_model.require_problem(memory(noise, p))
    (said,) = found
    assert words in str(said.message)
    assert "model 'tiny' was trained on other noise" in str(said.message)


def test_a_file_that_does_not_say_leaves_the_noise_to_its_card(tmp_path):
    problem = problem_from_code(get_code("bb18"), "circuit", 0.004, rounds=2)
    path, card = tmp_path / "old.safetensors", tmp_path / "old.json"
    write_tiny_network(path, problem, encoder_layers=1)
    biased = memory(NoiseModel(0.003, 0.003, 0.003, 0.03), None)
    recipe = '{"recipe": {"noise": {"p": 0.004, "low": 0.5}}}'
    for text in ("{}", recipe):
        card.write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            load(path).require_problem(biased)  # which nobody can tell
    model = load(path)
    assert model.identity.trained_for.endswith("num_rounds 2, p = 0.002 to 0.004")
    with pytest.warns(NoiseMismatchWarning, match="lies far above"):
        model.require_problem(problem.at(0.02))
    card.write_text(json.dumps({"noise": TrainedNoise.of(problem, 0.002, 0.004).facts()}))
    with pytest.warns(NoiseMismatchWarning, match="times more or less likely"):
        load(path).require_problem(biased)
    for_sinter = OneModel(str(path), model.model_hash)
    with pytest.warns(NoiseMismatchWarning, match="times more or less likely"):
        for_sinter(problem_to_decode(biased))
