"""The continuous decoder with a denoiser that knows the answer."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_denoisers import ExactNoise
from unmasq.decoding.noise_removal import remove_noise, reverse_coefficients
from unmasq.diffusion.gaussian import alphas_bar, inference_times

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
    """l_{t'} = (l_t - (1 - alpha) / sqrt(1 - alpha_bar_t) epsilon) / sqrt(alpha)."""
    times = inference_times(STEPS, num_used)
    kept = alphas_bar(STEPS)[times]
    noisy, noise = np.array([0.3, -1.1]), np.array([0.7, 0.2])
    for step, (keep, remove) in enumerate(zip(*reverse_coefficients(STEPS, times), strict=True)):
        alpha = kept[step] / kept[step + 1]
        expected = (noisy - (1 - alpha) / np.sqrt(1 - kept[step]) * noise) / np.sqrt(alpha)
        np.testing.assert_allclose(keep * noisy - remove * noise, expected, rtol=1e-9)


@given(st.integers(1, STEPS))
def test_steps_with_the_true_noise_return_to_the_start(num_used):
    """With epsilon = (l_t - sqrt(kept) l_0) / sqrt(1 - kept), steps end at l_0 for any stride."""
    start, noisy = np.array([0.5, -0.5]), np.array([1.3, 0.2])
    times = inference_times(STEPS, num_used)
    assert (times[0], times[-1]) == (STEPS, 0)
    kept = alphas_bar(STEPS)[times]
    for step, (keep, remove) in enumerate(zip(*reverse_coefficients(STEPS, times), strict=True)):
        noise = (noisy - np.sqrt(kept[step]) * start) / np.sqrt(1 - kept[step])
        noisy = keep * noisy - remove * noise
    np.testing.assert_allclose(noisy, start, atol=1e-9)


def test_a_mean_is_read_as_a_probability():
    """One step straight to a mean of 0.2: probability 0.7."""
    scale = np.sqrt(alphas_bar(STEPS)[-1]) / np.sqrt(1 - alphas_bar(STEPS)[-1])
    result = remove_noise(lambda x, t: jnp.full((1, 1), -0.2 * scale, jnp.float32), 1, 1, STEPS, 1)
    np.testing.assert_allclose(1 / (1 + np.exp(-result.logits)), 0.7, rtol=1e-4)
    np.testing.assert_array_equal(result.logicals, [[1]])
