"""Ordered-statistics decoding on given soft information, batched over shots in JAX.

`ldpc` has OSD only behind its own BP, and weighs its candidates with the same probabilities that
rank the columns. Quaternary BP brings its own ranking, and candidates are weighed by the channel,
so OSD is written out here; the tests hold it against `ldpc` on inputs where the two must agree.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

_WORD = 32


@functools.partial(jax.jit, static_argnames=("rank", "order"))
def ordered_statistics(
    checks: Bool[Array, "M N"],
    odds: Float[Array, "B N"],
    syndromes: Bool[Array, "B M"],
    weights: Int[Array, " N"],
    *,
    rank: int,
    order: int,
) -> Bool[Array, "B N"]:
    """The lightest error of each shot found among the OSD candidates, with H e = s.

    Columns are ranked by `odds`, the log-odds that they did not flip, least first, and the first
    `rank` independent ones solve the syndrome alone (order 0). Combination sweep of order w > 0
    also tries to flip each other column, and each pair of the first w of them; `weights` decide,
    in integers so that equal weights tie on every device, and a tie goes to the earlier candidate.

    A syndrome outside the image of H gets an error that meets the independent checks only.
    """
    solve = functools.partial(_solve, checks, weights=weights, rank=rank, order=order)
    return jax.vmap(solve)(odds, syndromes)


def integer_weights(weights: np.ndarray) -> np.ndarray:
    """Weights as integers, the heaviest 4096; all 1 where none is positive."""
    if weights.max(initial=0.0) <= 0:
        return np.ones(weights.shape, np.int32)
    return np.round(4096 * weights / weights.max()).astype(np.int32)


def _solve(
    checks: Bool[Array, "M N"],
    odds: Float[Array, " N"],
    syndrome: Bool[Array, " M"],
    *,
    weights: Int[Array, " N"],
    rank: int,
    order: int,
) -> Bool[Array, " N"]:
    n = checks.shape[1]
    ranking = jnp.argsort(odds)
    augmented = jnp.concatenate([checks[:, ranking], syndrome[:, None]], axis=1)
    reduced, pivots = _eliminate(augmented, rank)
    weight = jnp.concatenate([weights[ranking], jnp.zeros(1, weights.dtype)])  # n: no column

    is_pivot = jnp.zeros(n + 1, bool).at[pivots].set(True)[:n]
    free = jnp.append(jnp.argsort(is_pivot)[: n - rank], n)
    first, second = _candidates(n - rank, order)
    # The reduced system reads: bit of the row's pivot = syndrome + sum of its free bits.
    columns = jnp.concatenate([reduced[:, :n], jnp.zeros((len(reduced), 1), bool)], axis=1)[:, free]
    solutions = reduced[:, n:] ^ columns[:, first] ^ columns[:, second]  # (M, candidates)
    total = jnp.sum(jnp.where(solutions, weight[pivots][:, None], 0), axis=0)
    total += weight[free[first]] + weight[free[second]]
    best = jnp.argmin(total)

    ranked = jnp.zeros(n + 1, bool).at[pivots].set(solutions[:, best])
    ranked = ranked.at[free[first[best]]].set(first[best] < n - rank)
    ranked = ranked.at[free[second[best]]].set(second[best] < n - rank)
    return jnp.zeros(n, bool).at[ranking].set(ranked[:n])


def _candidates(num_free: int, order: int) -> tuple[Int[Array, " C"], Int[Array, " C"]]:
    """The free columns each candidate flips, two at most; `num_free` stands for none."""
    pairs = [(num_free, num_free)]
    if order > 0:
        near = range(min(order, num_free))
        pairs += [(i, num_free) for i in range(num_free)]
        pairs += [(i, j) for i in near for j in near if i < j]
    table = np.array(pairs, np.int32)
    return jnp.asarray(table[:, 0]), jnp.asarray(table[:, 1])


def _eliminate(
    augmented: Bool[Array, "M N1"], rank: int
) -> tuple[Bool[Array, "M N1"], Int[Array, " M"]]:
    """Gauss-Jordan with columns in order; also each row's pivot column, N for a row without one.

    Rows stay where they are. They are packed into words, so that adding one is a few XORs.
    """
    rows = _pack(augmented)
    num_rows, width = augmented.shape
    index = jnp.arange(num_rows)

    def step(state: tuple) -> tuple:
        column, rows, pivots = state
        ones = (rows[:, column // _WORD] >> (column % _WORD).astype(jnp.uint32)) & 1 == 1
        eligible = ones & (pivots == width - 1)
        is_pivot = (index == jnp.argmax(eligible)) & jnp.any(eligible)
        pivot_row = rows[jnp.argmax(eligible)]
        clear = ones & ~is_pivot & jnp.any(eligible)
        rows = rows ^ jnp.where(clear[:, None], pivot_row[None, :], jnp.uint32(0))
        return column + 1, rows, jnp.where(is_pivot, column, pivots)

    def unfinished(state: tuple) -> Bool[Array, ""]:
        column, _, pivots = state
        return (column < width - 1) & (jnp.sum(pivots < width - 1) < rank)

    start = (jnp.int32(0), rows, jnp.full(num_rows, width - 1, jnp.int32))
    _, rows, pivots = jax.lax.while_loop(unfinished, step, start)
    return _unpack(rows, width), pivots


def _pack(bits: Bool[Array, "M N"]) -> UInt32[Array, "M words"]:
    rows, width = bits.shape
    words = -(-width // _WORD)
    padded = jnp.pad(bits, ((0, 0), (0, words * _WORD - width))).reshape(rows, words, _WORD)
    return jnp.sum(padded.astype(jnp.uint32) << _positions(), axis=2)


def _unpack(rows: UInt32[Array, "M words"], width: int) -> Bool[Array, "M N"]:
    bits = (rows[:, :, None] >> _positions()) & jnp.uint32(1)
    return bits.reshape(rows.shape[0], -1)[:, :width] == 1


def _positions() -> UInt32[Array, "1 1 bits"]:
    return jnp.arange(_WORD, dtype=jnp.uint32)[None, None, :]
