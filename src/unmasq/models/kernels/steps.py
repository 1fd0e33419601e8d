"""The halves of a block of messages by the kernels of `products.py`, differentiable."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from unmasq.models.kernels.arithmetic import gelu, gelu_slope
from unmasq.models.kernels.products import (
    feedforward,
    gathered_product,
    norm_backward,
    weight_gradient,
)
from unmasq.models.kernels.tables import Exchange, Routes


class Matrices(NamedTuple):
    """What messages are multiplied by, one for each group or relation: tables number them."""

    reduce: jax.Array  # (groups, d, b)
    to_qubits: jax.Array  # (relations, b, b)
    to_checks: jax.Array  # (relations, b, d)


def _exchanged(
    x: jax.Array, told: jax.Array, matrices: Matrices, routes: Routes, finish: str
) -> tuple[tuple[jax.Array, ...], tuple[jax.Array, ...]]:
    """x + messages(told), perhaps normalised; and what the gradient needs besides."""
    (z,) = gathered_product("reduce", told, matrices.reduce, routes.reduce.forth)
    y, before = gathered_product("to_qubits", z, matrices.to_qubits, routes.to_qubits.forth, "gelu")
    out = gathered_product("to_checks", y, matrices.to_checks, routes.to_checks.forth, finish, x)
    return out, (told, z, before, y)


def _exchanged_back(
    ds: jax.Array,
    kept: tuple[jax.Array, ...],
    matrices: Matrices,
    routes: Routes,
    added: jax.Array | None,
) -> tuple[jax.Array, Matrices]:
    """From the gradient of x + messages(told): of told, plus `added`, and of the matrices."""
    told, z, before, y = kept
    turned = Matrices(*(weights.swapaxes(1, 2) for weights in matrices))
    (da,) = gathered_product(
        "from_checks", ds, turned.to_checks, routes.to_checks.back, "slope", before
    )
    (dz,) = gathered_product("from_qubits", da, turned.to_qubits, routes.to_qubits.back)
    finish = "none" if added is None else "add"
    (dtold,) = gathered_product("expand", dz, turned.reduce, routes.reduce.back, finish, added)

    def gradient(name: str, rows: jax.Array, g: jax.Array, exchange: Exchange) -> jax.Array:
        return weight_gradient(name, rows, g, exchange.pairs)

    return dtold, Matrices(
        gradient("reduce_gradient", told, dz, routes.reduce),
        gradient("to_qubits_gradient", z, da, routes.to_qubits),
        gradient("to_checks_gradient", y, ds, routes.to_checks),
    )


@jax.custom_vjp
def messages_then_norm(x: jax.Array, matrices: Matrices, routes: Routes) -> jax.Array:
    """LN(x + messages(x))."""
    return _messages_then_norm(x, matrices, routes)[0]


def _messages_then_norm(x: jax.Array, matrices: Matrices, routes: Routes) -> tuple:
    (out, inverse), kept = _exchanged(x, x, matrices, routes, "norm")
    return out, (kept, out, inverse, matrices, routes)


def _messages_then_norm_back(saved: tuple, g: jax.Array) -> tuple:
    kept, out, inverse, matrices, routes = saved
    ds = norm_backward(g, out, inverse)
    return *_exchanged_back(ds, kept, matrices, routes, ds), None


messages_then_norm.defvjp(_messages_then_norm, _messages_then_norm_back)


@jax.custom_vjp
def messages_added(x: jax.Array, told: jax.Array, matrices: Matrices, routes: Routes) -> jax.Array:
    """x + messages(told)."""
    return _messages_added(x, told, matrices, routes)[0]


def _messages_added(x: jax.Array, told: jax.Array, matrices: Matrices, routes: Routes) -> tuple:
    (out,), kept = _exchanged(x, told, matrices, routes, "add")
    return out, (kept, matrices, routes)


def _messages_added_back(saved: tuple, g: jax.Array) -> tuple:
    kept, matrices, routes = saved
    return g, *_exchanged_back(g, kept, matrices, routes, None), None


messages_added.defvjp(_messages_added, _messages_added_back)


@jax.custom_vjp
def feedforward_then_norm(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
    """LN(x + gelu(x up) down)."""
    return feedforward(x, up, down)[0]


def _feedforward_then_norm(x: jax.Array, up: jax.Array, down: jax.Array) -> tuple:
    out, inverse = feedforward(x, up, down)
    return out, (x, out, inverse, up, down)


def _feedforward_then_norm_back(saved: tuple, g: jax.Array) -> tuple[Any, ...]:
    """What is hidden is computed again. By XLA, which is faster here than a kernel of ours."""
    x, out, inverse, up, down = saved
    ds = norm_backward(g, out, inverse)
    flat_x, flat_s = (each.reshape(-1, each.shape[-1]) for each in (x, ds))
    before = (flat_x @ up).astype(jnp.float32)
    h, slope = (of(before).astype(x.dtype) for of in (gelu, gelu_slope))
    da = (flat_s @ down.T) * slope
    dx = ds + (da @ up.T).reshape(x.shape)
    return dx, flat_x.T @ da, h.T @ flat_s


feedforward_then_norm.defvjp(_feedforward_then_norm, _feedforward_then_norm_back)
