"""A block of messages by the kernels of `fused_kernels.py`, differentiable."""

from collections.abc import Callable
from typing import Any

import jax
from fused_kernels import (
    Tiling,
    feedforward,
    feedforward_backward,
    gathered_product,
    norm_backward,
    weight_gradient,
)
from fused_tables import Parameters, Routes, Table

KERNELS = (
    "reduce",
    "to_qubits",
    "to_checks",
    "norm_backward",
    "from_checks",
    "from_qubits",
    "expand",
    "reduce_gradient",
    "to_qubits_gradient",
    "to_checks_gradient",
    "feedforward",
    "feedforward_backward",
)
Plan = dict[str, Tiling | None]  # a tiling for each kernel; XLA where there is none


def message_step(routes: Routes, plan: Plan, interpret: bool = False) -> Callable:
    """(x, reduce, to_qubits, to_checks) -> LN(x + messages(x))."""

    def product(name: str, *inputs: Any) -> tuple[jax.Array, ...]:
        return gathered_product(*inputs, tiling=plan.get(name), interpret=interpret)

    def gradient(name: str, rows: jax.Array, g: jax.Array, table: Table) -> jax.Array:
        tiling = plan.get(f"{name}_gradient")
        return weight_gradient(rows, g, table, tiling=tiling, interpret=interpret)

    def forward(x: jax.Array, reduce: jax.Array, to_qubits: jax.Array, to_checks: jax.Array):
        (z,) = product("reduce", x, reduce, routes.reduce)
        y, before = product("to_qubits", z, to_qubits, routes.to_qubits, "gelu")
        out, inverse = product("to_checks", y, to_checks, routes.to_checks, "norm", x)
        return out, (x, z, before, y, out, inverse, reduce, to_qubits, to_checks)

    def backward(kept: tuple, g: jax.Array) -> tuple[jax.Array, ...]:
        x, z, before, y, out, inverse, reduce, to_qubits, to_checks = kept
        reduce, to_qubits, to_checks = (w.swapaxes(1, 2) for w in (reduce, to_qubits, to_checks))
        tiling = plan.get("norm_backward")
        ds = norm_backward(g, out, inverse, tiling=tiling, interpret=interpret)
        turned = [table.turned() for table in routes]
        (da,) = product("from_checks", ds, to_checks, turned[2], "slope", before)
        (dz,) = product("from_qubits", da, to_qubits, turned[1])
        (dx,) = product("expand", dz, reduce, turned[0], "add", ds)
        return (
            dx,
            gradient("reduce", x, dz, routes.reduce),
            gradient("to_qubits", z, da, routes.to_qubits),
            gradient("to_checks", y, ds, routes.to_checks),
        )

    step = jax.custom_vjp(lambda *inputs: forward(*inputs)[0])
    step.defvjp(forward, backward)
    return step


def feedforward_step(plan: Plan, interpret: bool = False) -> Callable:
    """(x, up, down) -> LN(x + gelu(x up) down)."""

    def forward(x: jax.Array, up: jax.Array, down: jax.Array):
        tiling = plan.get("feedforward")
        out, inverse = feedforward(x, up, down, tiling=tiling, interpret=interpret)
        return out, (x, out, inverse, up, down)

    def backward(kept: tuple, g: jax.Array) -> tuple[jax.Array, ...]:
        x, out, inverse, up, down = kept
        tiling = plan.get("norm_backward")
        ds = norm_backward(g, out, inverse, tiling=tiling, interpret=interpret)
        tiling = plan.get("feedforward_backward")
        dx, da, h = feedforward_backward(ds, x, up, down, tiling=tiling, interpret=interpret)
        flat_x, flat_s, flat_a, flat_h = (a.reshape(-1, a.shape[-1]) for a in (x, ds, da, h))
        return dx, flat_x.T @ flat_a, flat_h.T @ flat_s

    step = jax.custom_vjp(lambda *inputs: forward(*inputs)[0])
    step.defvjp(forward, backward)
    return step


def fused_block(routes: Routes, plan: Plan, interpret: bool = False) -> Callable:
    """(parameters, x) -> what `MessageBlock` makes of x."""
    message = message_step(routes, plan, interpret)
    hidden = feedforward_step(plan, interpret)

    def block(parameters: Parameters, x: jax.Array) -> jax.Array:
        x = message(x, parameters.reduce, parameters.to_qubits, parameters.to_checks)
        return hidden(x, parameters.up, parameters.down)

    return block
