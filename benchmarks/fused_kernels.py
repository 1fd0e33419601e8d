"""Trial kernels for one block of messages, in Pallas for Triton; `fused_layer.py` measures them.

Activations are (sites, B, width): each site is a contiguous matrix, so taking a neighbour's rows
is an index of a pointer, and no kernel writes what it gathers. Every matrix product of the block,
forward and backward, is one form,

    out[i] = finish(sum_k rows[source[i, k]] @ weights[matrix[i, k]])

with tables of int32. Its gradient with respect to the rows is the same form with the table turned
round and the matrices transposed; with respect to the weights it is `weight_gradient`. Sums are
float32. Only networks with every neighbour present, without biases and with the norm after each
residual ("post") are served. Nothing here is used by the package.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from fused_math import gelu_and_slope, norm_gradient, normalised
from fused_tables import Table
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as gpu


class Tiling(NamedTuple):
    """How a kernel is cut. None in its place, in a `Plan`, means XLA."""

    rows: int  # of the batch in a tile
    chunk: int  # of the axis that is summed (products) or hidden (feed-forward)
    warps: int
    stages: int  # of the pipeline that fetches the next chunks
    splits: int = 1  # of the sum over shots, for gradients of weights
    quick: bool = False  # tanh of the special-function unit instead of an exponential


# What is computed on a tile (or on everything, by XLA): float32 in, float32 out.


RESIDUAL = ("add", "norm")  # ways to finish a sum that starts from what is told besides


def finished(finish: str, total: jax.Array, before: jax.Array | None, quick: bool) -> tuple:
    """What a gathered product writes: one array or two. `before` is what gelu was taken of."""
    if finish == "gelu":
        return gelu_and_slope(total, quick)[0], total
    if finish == "slope":
        assert before is not None
        return (total * gelu_and_slope(before, quick)[1],)
    if finish == "norm":
        return normalised(total)
    return (total,)


def _dot(a: jax.Array, b: jax.Array, over: tuple[int, int] = (1, 0)) -> jax.Array:
    axes = (((over[0],), (over[1],)), ((), ()))
    return lax.dot_general(a, b, axes, preferred_element_type=jnp.float32)


def _call(kernel: Callable, tiling: Tiling, name: str, interpret: bool, **rest: Any) -> Callable:
    kernel.__name__ = name  # type: ignore[attr-defined]
    return pl.pallas_call(
        kernel,
        compiler_params=gpu.CompilerParams(num_warps=tiling.warps, num_stages=tiling.stages),
        interpret=interpret,
        name=name,
        **rest,
    )


def _whole(array: Any) -> pl.BlockSpec:
    return pl.BlockSpec(array.shape, lambda *_: (0,) * array.ndim)


# Gathered products.


def gathered_product(
    rows: jax.Array,
    weights: jax.Array,
    table: Table,
    finish: str = "none",
    extra: jax.Array | None = None,
    *,
    tiling: Tiling | None,
    interpret: bool = False,
) -> tuple[jax.Array, ...]:
    """out[i] = finish(sum_k rows[source[i, k]] @ weights[matrix[i, k]])."""
    if tiling is None:
        return _gathered_product_by_xla(rows, weights, table, finish, extra)
    sites, batch, inner = rows.shape
    outs, slots = table.source.shape
    width = weights.shape[-1]
    tile, chunk = min(tiling.rows, batch), min(tiling.chunk, inner)
    parts = inner // chunk

    def kernel(*refs: Any) -> None:
        rows_ref, weights_ref, source_ref, matrix_ref = refs[:4]
        extra_ref = refs[4] if extra is not None else None
        out_refs = refs[4 + (extra is not None) :]

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
        values = finished(finish, total, before, tiling.quick)
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
    call = _call(
        kernel,
        tiling,
        f"gathered_product_{finish}_{inner}_{width}",
        interpret,
        grid=(outs, batch // tile),
        in_specs=[
            pl.BlockSpec((sites, tile, inner), lambda i, j: (0, j, 0)),
            _whole(weights),
            by_row,
            by_row,
            *([] if extra is None else [by_tile]),
        ],
        out_specs=specs,
        out_shape=shapes,
    )
    inputs = [rows, weights, jnp.asarray(table.source), jnp.asarray(table.matrix)]
    return tuple(call(*inputs, *([] if extra is None else [extra])))


def _groups(table: Table) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows that take the same matrices, and those matrices."""
    kinds, kind = np.unique(table.matrix, axis=0, return_inverse=True)
    return [(np.flatnonzero(kind.ravel() == i), matrices) for i, matrices in enumerate(kinds)]


def _side_by_side(rows: jax.Array, source: np.ndarray) -> jax.Array:
    return jnp.concatenate([rows[source[:, k]] for k in range(source.shape[1])], axis=-1)


def _gathered_product_by_xla(
    rows: jax.Array, weights: jax.Array, table: Table, finish: str, extra: jax.Array | None
) -> tuple[jax.Array, ...]:
    groups = _groups(table)
    inner, width = weights.shape[1:]
    parts = []
    for members, matrices in groups:
        told = _side_by_side(rows, table.source[members])
        flat = told.reshape(-1, told.shape[-1]) @ weights[matrices].reshape(-1, width)
        parts.append(flat.reshape(*told.shape[:-1], width))
    order = np.concatenate([members for members, _ in groups])
    total = jnp.concatenate(parts)
    if not np.array_equal(order, np.arange(len(order))):
        total = total[np.argsort(order)]
    total = total.astype(jnp.float32)
    wide = None if extra is None else extra.astype(jnp.float32)
    if finish in RESIDUAL:
        total, wide = total + wide, None
    first, *rest = finished(finish, total, wide, False)
    keep = jnp.float32 if finish == "norm" else rows.dtype
    return (first.astype(rows.dtype), *(value.astype(keep) for value in rest))


def weight_gradient(
    rows: jax.Array,
    g: jax.Array,
    table: Table,
    *,
    tiling: Tiling | None,
    interpret: bool = False,
) -> jax.Array:
    """For each matrix: the sum of rows[source]^T g[i] over the rows i that took it."""
    batch, inner = rows.shape[1:]
    width = g.shape[-1]
    if tiling is None:
        parts = []
        for members, matrices in _groups(table):
            told = _side_by_side(rows, table.source[members])
            flat = told.reshape(-1, told.shape[-1]).T @ g[members].reshape(-1, width)
            parts.append(flat.reshape(len(matrices), inner, width))
        order = np.concatenate([matrices for _, matrices in _groups(table)])
        return jnp.concatenate(parts)[np.argsort(order)]
    pairs = table.pairs()
    matrices, count = pairs.shape[:2]
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

    call = _call(
        kernel,
        tiling,
        f"weight_gradient_{inner}_{width}",
        interpret,
        grid=(matrices, tiling.splits),
        in_specs=[
            _whole(rows),
            _whole(g),
            pl.BlockSpec((None, count, 2), lambda m, s: (m, 0, 0)),
        ],
        out_specs=pl.BlockSpec((None, None, inner, width), lambda m, s: (s, m, 0, 0)),
        out_shape=jax.ShapeDtypeStruct((tiling.splits, matrices, inner, width), jnp.float32),
    )
    return jnp.sum(call(rows, g, jnp.asarray(pairs)), axis=0).astype(rows.dtype)


def norm_backward(
    g: jax.Array,
    normal: jax.Array,
    inverse: jax.Array,
    *,
    tiling: Tiling | None,
    interpret: bool = False,
) -> jax.Array:
    """`norm_gradient` of whole arrays."""
    if tiling is None:
        wide = norm_gradient(g.astype(jnp.float32), normal.astype(jnp.float32), inverse)
        return wide.astype(g.dtype)
    sites, batch, width = g.shape
    tile = min(tiling.rows, batch)

    def kernel(g_ref: Any, normal_ref: Any, inverse_ref: Any, out_ref: Any) -> None:
        wide, normal = g_ref[...].astype(jnp.float32), normal_ref[...].astype(jnp.float32)
        out_ref[...] = norm_gradient(wide, normal, inverse_ref[...]).astype(out_ref.dtype)

    by_tile = pl.BlockSpec((None, tile, width), lambda i, j: (i, j, 0))
    call = _call(
        kernel,
        tiling,
        "norm_backward",
        interpret,
        grid=(sites, batch // tile),
        in_specs=[by_tile, by_tile, pl.BlockSpec((None, tile), lambda i, j: (i, j))],
        out_specs=by_tile,
        out_shape=jax.ShapeDtypeStruct(g.shape, g.dtype),
    )
    return call(g, normal, inverse)


# Feed-forward.


def feedforward(
    x: jax.Array, up: jax.Array, down: jax.Array, *, tiling: Tiling | None, interpret: bool = False
) -> tuple[jax.Array, jax.Array]:
    """LN(x + gelu(x up) down) and the inverse deviations; what is hidden stays on the chip."""
    sites, batch, width = x.shape
    if tiling is None:
        flat = jax.nn.gelu(x.reshape(-1, width) @ up) @ down
        total = x.astype(jnp.float32) + flat.reshape(x.shape).astype(jnp.float32)
        out, inverse = normalised(total)
        return out.astype(x.dtype), inverse
    hidden = up.shape[1]
    tile, chunk = min(tiling.rows, batch), min(tiling.chunk, hidden)

    def kernel(x_ref: Any, up_ref: Any, down_ref: Any, out_ref: Any, inverse_ref: Any) -> None:
        x = x_ref[...]

        def add(step: Any, total: jax.Array) -> jax.Array:
            here = pl.ds(step * chunk, chunk)
            h = gelu_and_slope(_dot(x, up_ref[:, here]), tiling.quick)[0]
            return total + _dot(h.astype(x.dtype), down_ref[here, :])

        total = lax.fori_loop(0, hidden // chunk, add, x.astype(jnp.float32))
        out, inverse = normalised(total)
        out_ref[...] = out.astype(out_ref.dtype)
        inverse_ref[...] = inverse

    by_tile = pl.BlockSpec((None, tile, width), lambda i, j: (i, j, 0))
    call = _call(
        kernel,
        tiling,
        "feedforward",
        interpret,
        grid=(sites, batch // tile),
        in_specs=[by_tile, _whole(up), _whole(down)],
        out_specs=[by_tile, pl.BlockSpec((None, tile), lambda i, j: (i, j))],
        out_shape=[
            jax.ShapeDtypeStruct(x.shape, x.dtype),
            jax.ShapeDtypeStruct((sites, batch), jnp.float32),
        ],
    )
    return tuple(call(x, up, down))


def feedforward_backward(
    ds: jax.Array,
    x: jax.Array,
    up: jax.Array,
    down: jax.Array,
    *,
    tiling: Tiling | None,
    interpret: bool = False,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """From the gradient of the sum before the norm: of x and of x up, and h = gelu(x up).

    What is hidden is computed again; products of what is returned are the gradients of weights.
    """
    sites, batch, width = x.shape
    hidden = up.shape[1]
    if tiling is None:
        h, slope = gelu_and_slope((x.reshape(-1, width) @ up).astype(jnp.float32))
        da = (ds.reshape(-1, width) @ down.T) * slope.astype(x.dtype)
        dx = ds + (da @ up.T).reshape(x.shape)
        shape = (sites, batch, hidden)
        return dx, da.reshape(shape), h.astype(x.dtype).reshape(shape)
    tile, chunk = min(tiling.rows, batch), min(tiling.chunk, hidden)

    def kernel(*refs: Any) -> None:
        ds_ref, x_ref, up_ref, up_t_ref, down_t_ref, dx_ref, da_ref, h_ref = refs
        ds, x = ds_ref[...], x_ref[...]

        def add(step: Any, total: jax.Array) -> jax.Array:
            here = pl.ds(step * chunk, chunk)
            h, slope = gelu_and_slope(_dot(x, up_ref[:, here]), tiling.quick)
            da = (_dot(ds, down_t_ref[:, here]) * slope).astype(x.dtype)
            h_ref[:, here] = h.astype(x.dtype)
            da_ref[:, here] = da
            return total + _dot(da, up_t_ref[here, :])

        total = lax.fori_loop(0, hidden // chunk, add, ds.astype(jnp.float32))
        dx_ref[...] = total.astype(x.dtype)

    by_tile = pl.BlockSpec((None, tile, width), lambda i, j: (i, j, 0))
    by_hidden = pl.BlockSpec((None, tile, hidden), lambda i, j: (i, j, 0))
    like_h = jax.ShapeDtypeStruct((sites, batch, hidden), x.dtype)
    call = _call(
        kernel,
        tiling,
        "feedforward_backward",
        interpret,
        grid=(sites, batch // tile),
        in_specs=[by_tile, by_tile, _whole(up), _whole(up.T), _whole(down.T)],
        out_specs=[by_tile, by_hidden, by_hidden],
        out_shape=[jax.ShapeDtypeStruct(x.shape, x.dtype), like_h, like_h],
    )
    return tuple(call(ds, x, up, up.T, down.T))
