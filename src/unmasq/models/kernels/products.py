"""Kernels for a block of messages, in Pallas for Triton.

Activations are (sites, B, width): each site is a contiguous matrix, so taking a neighbour's rows
is an index of a pointer, and no kernel writes what it gathers. Every matrix product of the block,
forward and backward, is one form,

    out[i] = finish(sum_k rows[source[i, k]] @ weights[matrix[i, k]])

with tables of int32. Its gradient with respect to the rows is the same form with the table turned
round and the matrices transposed; with respect to the weights it is `weight_gradient`. Sums are
float32.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as gpu

from unmasq.models.kernels.arithmetic import gelu, gelu_slope, norm_gradient, normalised
from unmasq.models.kernels.tables import Ints, Table

INTERPRETED = False  # tests set it: no GPU is needed then


class Tiling(NamedTuple):
    """How a kernel is cut."""

    rows: int  # of the batch in a tile
    chunk: int  # of the axis that is summed (products) or hidden (feed-forward)
    warps: int
    stages: int  # of the pipeline that fetches the next chunks
    splits: int = 1  # of the sum over shots, for gradients of weights


# The fastest of those tried on an H200 (docs/experiments/speed.md). An index counts as one level of
# a pipeline: 3 or 4 stages fetch one chunk ahead, 5 or 6 two.
TILINGS = {
    "reduce": Tiling(64, 64, 4, 5),
    "to_qubits": Tiling(128, 64, 8, 5),
    "to_checks": Tiling(128, 64, 8, 5),
    "from_checks": Tiling(128, 64, 8, 5),
    "from_qubits": Tiling(128, 64, 8, 5),
    "expand": Tiling(64, 64, 4, 2),
    "reduce_gradient": Tiling(32, 1, 8, 5, splits=66),
    "to_qubits_gradient": Tiling(64, 1, 8, 5, splits=11),
    "to_checks_gradient": Tiling(64, 1, 8, 5, splits=11),
    "norm_backward": Tiling(16, 1, 4, 1),
    "feedforward": Tiling(128, 64, 8, 2),
}
RESIDUAL = ("add", "norm")  # ways to finish a sum that starts from what is told besides


def gathered_product(
    name: str,
    rows: jax.Array,
    weights: jax.Array,
    table: Table,
    finish: str = "none",
    extra: jax.Array | None = None,
) -> tuple[jax.Array, ...]:
    """out[i] = finish(sum_k rows[source[i, k]] @ weights[matrix[i, k]]).

    `extra` is added ("add", "norm"), or is what gelu was taken of ("slope"). "gelu" returns that,
    too, and "norm" the inverse deviations.
    """
    sites, batch, inner = rows.shape
    outs, slots = table.source.shape
    width = weights.shape[-1]
    tiling = TILINGS[name]
    tile, chunk = min(tiling.rows, batch), min(tiling.chunk, inner)
    parts = inner // chunk

    def kernel(*refs: Any) -> None:
        rows_ref, weights_ref, source_ref, matrix_ref = refs[:4]
        extra_ref, out_refs = refs[4], refs[4 + (extra is not None) :]

        def add(step: Any, total: jax.Array) -> jax.Array:
            slot = lax.div(step, jnp.int32(parts))
            here = pl.ds(lax.rem(step, jnp.int32(parts)) * chunk, chunk)
            a = rows_ref[source_ref[slot], :, here]
            b = weights_ref[matrix_ref[slot], here, :]
            return total + _dot(a, b)

        # A residual starts the sum: added at the end it would need as many registers again.
        if finish in RESIDUAL:
            total = extra_ref[...].astype(jnp.float32)
        else:
            total = jnp.zeros((tile, width), jnp.float32)
        # Not written out: only a loop is pipelined, and six steps side by side spill registers.
        total = lax.fori_loop(0, slots * parts, add, total)
        before = extra_ref[...].astype(jnp.float32) if finish == "slope" else None
        values = _finished(finish, total, before)
        for ref, value in zip(out_refs, values, strict=True):
            ref[...] = value.astype(ref.dtype)

    # Sites vary fastest: those that share rows run at the same time and find them in the cache.
    by_row = pl.BlockSpec((None, slots), lambda i, j: (i, 0))
    by_tile = pl.BlockSpec((None, tile, width), lambda i, j: (i, j, 0))
    shapes = [jax.ShapeDtypeStruct((outs, batch, width), rows.dtype)]
    specs = [by_tile]
    if finish == "gelu":
        shapes, specs = shapes * 2, specs * 2
    if finish == "norm":
        shapes = [*shapes, jax.ShapeDtypeStruct((outs, batch), jnp.float32)]
        specs = [*specs, pl.BlockSpec((None, tile), lambda i, j: (i, j))]
    run = call(
        kernel,
        tiling,
        name,
        grid=(outs, batch // tile),
        in_specs=[
            pl.BlockSpec((sites, tile, inner), lambda i, j: (0, j, 0)),
            whole(weights),
            by_row,
            by_row,
            *([] if extra is None else [by_tile]),
        ],
        out_specs=specs,
        out_shape=shapes,
    )
    inputs = [rows, weights, jnp.asarray(table.source), jnp.asarray(table.matrix)]
    return tuple(run(*inputs, *([] if extra is None else [extra])))


def weight_gradient(name: str, rows: jax.Array, g: jax.Array, pairs: Ints) -> jax.Array:
    """For each matrix: the sum over its pairs of rows[first]^T g[second]."""
    batch, inner = rows.shape[1:]
    width = g.shape[-1]
    matrices, count = pairs.shape[:2]
    tiling = TILINGS[name]
    tile = min(tiling.rows, batch)
    steps = count * (batch // tile)
    share = -(-steps // tiling.splits)

    def kernel(rows_ref: Any, g_ref: Any, pairs_ref: Any, out_ref: Any) -> None:
        split = pl.program_id(1)

        def add(step: Any, total: jax.Array) -> jax.Array:
            # Pairs vary fastest: what runs at the same time reads the same shots.
            start = lax.div(step, jnp.int32(count)) * tile
            pair = lax.rem(step, jnp.int32(count))
            a = rows_ref[pairs_ref[pair, 0], pl.ds(start, tile), :]
            b = g_ref[pairs_ref[pair, 1], pl.ds(start, tile), :]
            return total + _dot(a, b, (0, 0))

        total = jnp.zeros((inner, width), jnp.float32)
        last = jnp.minimum((split + 1) * share, steps)
        out_ref[...] = lax.fori_loop(split * share, last, add, total)

    run = call(
        kernel,
        tiling,
        name,
        grid=(matrices, tiling.splits),
        in_specs=[
            whole(rows),
            whole(g),
            pl.BlockSpec((None, count, 2), lambda m, s: (m, 0, 0)),
        ],
        out_specs=pl.BlockSpec((None, None, inner, width), lambda m, s: (s, m, 0, 0)),
        out_shape=jax.ShapeDtypeStruct((tiling.splits, matrices, inner, width), jnp.float32),
    )
    return jnp.sum(run(rows, g, jnp.asarray(pairs)), axis=0).astype(rows.dtype)


def norm_backward(g: jax.Array, normal: jax.Array, inverse: jax.Array) -> jax.Array:
    """`norm_gradient` of whole arrays."""
    sites, batch, width = g.shape
    tiling = TILINGS["norm_backward"]
    tile = min(tiling.rows, batch)

    def kernel(g_ref: Any, normal_ref: Any, inverse_ref: Any, out_ref: Any) -> None:
        wide, normal = g_ref[...].astype(jnp.float32), normal_ref[...].astype(jnp.float32)
        out_ref[...] = norm_gradient(wide, normal, inverse_ref[...]).astype(out_ref.dtype)

    by_tile = pl.BlockSpec((None, tile, width), lambda i, j: (i, j, 0))
    run = call(
        kernel,
        tiling,
        "norm_backward",
        grid=(sites, batch // tile),
        in_specs=[by_tile, by_tile, pl.BlockSpec((None, tile), lambda i, j: (i, j))],
        out_specs=by_tile,
        out_shape=jax.ShapeDtypeStruct(g.shape, g.dtype),
    )
    return run(g, normal, inverse)


def feedforward(x: jax.Array, up: jax.Array, down: jax.Array) -> tuple[jax.Array, jax.Array]:
    """LN(x + gelu(x up) down) and the inverse deviations; what is hidden stays on the chip."""
    sites, batch, width = x.shape
    hidden = up.shape[1]
    tiling = TILINGS["feedforward"]
    tile, chunk = min(tiling.rows, batch), min(tiling.chunk, hidden)

    def kernel(x_ref: Any, up_ref: Any, down_ref: Any, out_ref: Any, inverse_ref: Any) -> None:
        x = x_ref[...]

        def add(step: Any, total: jax.Array) -> jax.Array:
            here = pl.ds(step * chunk, chunk)
            h = gelu(_dot(x, up_ref[:, here]))
            return total + _dot(h.astype(x.dtype), down_ref[here, :])

        total = lax.fori_loop(0, hidden // chunk, add, x.astype(jnp.float32))
        out, inverse = normalised(total)
        out_ref[...] = out.astype(out_ref.dtype)
        inverse_ref[...] = inverse

    by_tile = pl.BlockSpec((None, tile, width), lambda i, j: (i, j, 0))
    run = call(
        kernel,
        tiling,
        "feedforward",
        grid=(sites, batch // tile),
        in_specs=[by_tile, whole(up), whole(down)],
        out_specs=[by_tile, pl.BlockSpec((None, tile), lambda i, j: (i, j))],
        out_shape=[
            jax.ShapeDtypeStruct(x.shape, x.dtype),
            jax.ShapeDtypeStruct((sites, batch), jnp.float32),
        ],
    )
    return tuple(run(x, up, down))


def _finished(finish: str, total: jax.Array, before: jax.Array | None) -> tuple[jax.Array, ...]:
    """What a gathered product writes: one array or two."""
    if finish == "gelu":
        return gelu(total), total
    if finish == "slope":
        assert before is not None
        return (total * gelu_slope(before),)
    if finish == "norm":
        return normalised(total)
    return (total,)


def _dot(a: jax.Array, b: jax.Array, over: tuple[int, int] = (1, 0)) -> jax.Array:
    axes = (((over[0],), (over[1],)), ((), ()))
    return lax.dot_general(a, b, axes, preferred_element_type=jnp.float32)


def call(kernel: Callable, tiling: Tiling, name: str, **rest: Any) -> Callable:
    """`pl.pallas_call`, cut so."""
    kernel.__name__ = name
    with warnings.catch_warnings():  # of jax 0.11 on: its Triton backend is to be replaced
        warnings.simplefilter("ignore", DeprecationWarning)
        return pl.pallas_call(
            kernel,
            compiler_params=gpu.CompilerParams(num_warps=tiling.warps, num_stages=tiling.stages),
            interpret=INTERPRETED,
            name=name,
            **rest,
        )


def whole(array: Any) -> pl.BlockSpec:
    """Of an array that every tile sees all of."""
    return pl.BlockSpec(array.shape, lambda *_: (0,) * array.ndim)
