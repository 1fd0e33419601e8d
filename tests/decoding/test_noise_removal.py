"""The continuous decoder with a denoiser that knows the answer."""

import jax.numpy as jnp
import numpy as np
import pytest

from table_denoisers import ExactNoise
from unmasq.decoding.noise_removal import remove_noise, reverse_coefficients
from unmasq.diffusion.gaussian import alphas_bar, inference_times, reverse_step

STEPS = 200
LOGICALS = np.array([[0, 1, 1], [1, 0, 1], [0, 0, 0], [1, 1, 1]], np.uint8)


def exact_noise() -> ExactNoise:
    return ExactNoise(jnp.asarray(LOGICALS), jnp.asarray(alphas_bar(STEPS), jnp.float32))


@pytest.mark.parametrize("num_used", [1, 7, 20, 200])
def test_an_exact_denoiser_recovers_the_logicals(num_used):
    syndromes = jnp.asarray([[0, 0], [1, 0], [0, 1], [1, 1]], jnp.uint8)
    network = exact_noise()
    result = remove_noise(lambda x, t: network(x, syndromes, t), 4, 3, STEPS, num_used)
    np.testing.assert_array_equal(result.logicals, LOGICALS)
    np.testing.assert_array_equal(result.steps, num_used)
    assert (result.log_likelihood > np.log(0.9)).all()


@pytest.mark.parametrize("num_used", [1, 3, 200])
def test_steps_are_those_of_the_process(num_used):
    times = inference_times(STEPS, num_used)
    kept = alphas_bar(STEPS)[times]
    noisy, noise = jnp.float32([[0.3, -1.1]]), jnp.float32([[0.7, 0.2]])
    for step, (keep, remove) in enumerate(zip(*reverse_coefficients(STEPS, times), strict=True)):
        expected = reverse_step(noisy, noise, float(kept[step]), float(kept[step + 1]))
        np.testing.assert_allclose(keep * noisy - remove * noise, expected, rtol=1e-5)


def test_a_mean_is_read_as_a_probability():
    """One step straight to a mean of 0.2: probability 0.7."""
    scale = np.sqrt(alphas_bar(STEPS)[-1]) / np.sqrt(1 - alphas_bar(STEPS)[-1])
    result = remove_noise(lambda x, t: jnp.full((1, 1), -0.2 * scale, jnp.float32), 1, 1, STEPS, 1)
    np.testing.assert_allclose(1 / (1 + np.exp(-result.logits)), 0.7, rtol=1e-4)
    np.testing.assert_array_equal(result.logicals, [[1]])
