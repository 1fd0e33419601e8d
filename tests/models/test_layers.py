"""Layers by themselves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unmasq.models.layers import LayerNorm


def exact_norm(rows: np.ndarray) -> np.ndarray:
    """In float64, in two passes."""
    wide = rows.astype(np.float64)
    centred = wide - wide.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize(
    ("mean", "spread"), [(0, 1), (20, 1e-3), (-300, 1e-2), (1e4, 0), (1e4, 1), (0, 1e-20)]
)
def test_layer_norm_is_exact_on_nearly_constant_rows(mean, spread):
    rng = np.random.default_rng(0)
    rows = (mean + spread * rng.normal(size=(64, 3, 256))).astype(np.float32)
    norm = LayerNorm(256, bias=False)
    normal = np.asarray(norm(jnp.asarray(rows)))
    np.testing.assert_allclose(normal, exact_norm(rows), atol=2e-4)
    gradient = jax.grad(lambda x: jnp.sum(norm(x) ** 2 * jnp.asarray(rows)))(jnp.asarray(rows))
    assert np.isfinite(gradient).all()


def test_layer_norm_survives_a_first_entry_far_from_the_others():
    """The shift is the first entry: the worst it can be."""
    rows = np.random.default_rng(1).normal(size=(64, 3, 256)).astype(np.float32)
    rows[:, :, 0] = 1e4
    norm = LayerNorm(256, bias=False)
    np.testing.assert_allclose(norm(jnp.asarray(rows)), exact_norm(rows), atol=2e-3, rtol=1e-4)


def test_the_gradient_of_layer_norm_is_that_of_the_formula():
    rows = jnp.asarray(np.random.default_rng(2).normal(size=(4, 3, 16)), jnp.float32)
    weight = jnp.asarray(np.random.default_rng(3).normal(size=(4, 3, 16)), jnp.float32)

    def plain(x):
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        variance = jnp.mean(centred**2, axis=-1, keepdims=True)
        return centred / jnp.sqrt(variance + 1e-5)

    norm = LayerNorm(16, bias=False)
    ours, theirs = (jax.grad(lambda x, f=f: jnp.sum(f(x) * weight))(rows) for f in (norm, plain))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
