"""A wrong problem is refused, with what differs from the model's own."""

import pytest

from tiny_network import write_tiny_network
from unmasq.codes import get_code
from unmasq.decoding.diffusion_decoder import load
from unmasq.decoding.problem_match import require_structure
from unmasq.problems.building import problem_from_code
from unmasq.problems.problem import ProblemMismatchError


def test_another_p_fits_and_another_problem_does_not(tmp_path):
    problem = problem_from_code(get_code("bb18"), "code-capacity", 0.05)
    write_tiny_network(tmp_path / "tiny.safetensors", problem)
    model = load(tmp_path / "tiny.safetensors").identity
    require_structure(model, problem.at(0.01))
    circuit = problem_from_code(get_code("bb18"), "circuit", 0.003, rounds=2)
    with pytest.raises(ProblemMismatchError) as error:
        require_structure(model, circuit)
    message = str(error.value)
    assert f"got structure {circuit.structure_id} (54 detectors, 4 logicals, " in message
    assert "Model 'tiny' (code bb18, noise code-capacity, basis XZ" in message
    assert f"structure {model.structure_id}, with 18 detectors and 8 logicals" in message
