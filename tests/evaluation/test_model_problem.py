"""A model's own problem, built again from its description."""

import numpy as np
import pytest

from tiny_network import write_tiny_network
from unmasq.circuits import NoiseModel
from unmasq.codes import get_code
from unmasq.decoding.model_store import find_model
from unmasq.evaluation.model_problem import problem_of_model
from unmasq.problems.building import problem_from_code


@pytest.mark.parametrize(
    "noise", [NoiseModel(0.004, 0.001, 0.002, 0.008), NoiseModel.uniform(0.008)]
)
def test_a_model_of_biased_noise_is_measured_on_biased_noise(tmp_path, noise):
    """It used to be measured on uniform noise: nothing said that its problem was another."""
    problem = problem_from_code(get_code("bb18"), noise, rounds=2)
    write_tiny_network(tmp_path / "m.safetensors", problem, encoder_layers=1)
    again = problem_of_model(find_model(tmp_path / "m.safetensors"), 0.004)
    np.testing.assert_allclose(again.priors, problem.at(0.004).priors, rtol=1e-5)
    assert again.noise == problem.noise == noise.label
