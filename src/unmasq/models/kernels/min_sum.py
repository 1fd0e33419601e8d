"""Belief propagation by two kernels an iteration, in Pallas for Triton.

They say what `unmasq.models.memory_bp` says. A detector's answers have two magnitudes only, so they
are stored as these two, with two bits for each slot: its sign, and whether it hears the second. A
seventh of the memory, and no second look at what was heard. Kernels change arrays in place. Tiles
whose shots are all solved are skipped.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as gpu

from unmasq.models.kernels import products
from unmasq.models.kernels.products import Tiling, call, whole
from unmasq.models.memory_bp import ABSENT, CLIP, REMEMBERED, Neighbours

# `chunk`: slots side by side in a turn of the loop over them; faults, one after another, of a tile
# (they share detectors, whose answers the second finds in the cache). Guesses: not yet measured.
TILINGS = {"detectors": Tiling(512, 4, 4, 1), "faults": Tiling(512, 16, 4, 1)}
MARKED = 16  # slots in a word of marks: the low half holds signs, the high half who hears second
# Where no more than this share of the shots is unsolved they are brought together: all others are
# in tiles that are skipped then.
LEFT = (0.5, 0.125, 0.0)
STRIDE = 2  # iterations from one look at whether all shots are solved to the next: each look waits


class Told(NamedTuple):
    """All that detectors say."""

    first: jax.Array  # (detectors, B): to all slots but one, before signs of their own
    second: jax.Array  # to the one that is least sure
    marks: jax.Array  # (words, detectors, B) of int32


class Tables(NamedTuple):
    """`Neighbours`, as the kernels read them."""

    faults: jax.Array  # (detectors, slots): more of them than there are, missing, for whole chunks
    messages: jax.Array  # (degree, N): the detector in the high bits, the slot in the low; or -1
    bits: int  # that the slot takes

    @classmethod
    def of(cls, graph: Neighbours) -> "Tables":
        slots, detectors = graph.faults.shape
        more = -slots % TILINGS["detectors"].chunk
        missing = graph.messages.shape[1]
        faults = jnp.pad(jnp.asarray(graph.faults).T, ((0, 0), (0, more)), constant_values=missing)
        bits = (max(slots, MARKED) - 1).bit_length()
        slot, detector = jnp.divmod(jnp.asarray(graph.messages), detectors)
        messages = jnp.where(slot < slots, (detector << bits) | slot, -1)
        return cls(faults, messages, bits)


class _Shots(NamedTuple):
    """All that belongs to a shot; the last axis is theirs."""

    syndrome: jax.Array  # (detectors, B) of int8
    told: Told
    unmet: jax.Array  # (detectors, B) of int8: where the likeliest errors flip something else
    odds: jax.Array
    mean: jax.Array
    solved: jax.Array  # by the errors of this iteration's beginning
    number: jax.Array  # of the shot, in the order of the caller


class _State(NamedTuple):
    iteration: jax.Array  # int32
    shots: _Shots


def odds_and_mean(
    graph: Neighbours,
    prior: jax.Array,
    syndrome: jax.Array,
    *,
    iterations: int | jax.Array,
    scaling: float | jax.Array,
    memory: float | jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """What `memory_bp.Found` says of them. Where nobody asks for the mean, XLA leaves it out."""
    tables = Tables.of(graph)
    batch = syndrome.shape[1]
    own = (1 - memory) * prior
    scaling, memory = (jnp.asarray(each, jnp.float32).reshape(1) for each in (scaling, memory))

    def step(iteration: jax.Array, shots: _Shots) -> _Shots:
        """Does nothing after the last iteration."""
        bits, told, unmet, odds, mean, solved, number = shots
        told, unmet = answer(tables, told, unmet, odds, bits, solved, scaling)
        # The prior itself may have the syndrome: even so it goes through an iteration.
        solved = ~jnp.any(unmet != 0, axis=0) & (iteration > 0)
        still = solved | (iteration >= iterations)
        odds = update(tables, odds, told, still, own, memory)
        mean = jnp.where(still, mean, REMEMBERED * mean + (1 - REMEMBERED) * odds)
        return _Shots(bits, told, unmet, odds, mean, solved, number)

    def steps(state: _State) -> _State:
        """Written out: XLA leaves nothing out of a loop in a loop, the mean neither."""
        iteration, shots = state
        for _ in range(STRIDE):
            iteration, shots = iteration + 1, step(iteration, shots)
        return _State(iteration, shots)

    def unfinished(left: float, state: _State) -> jax.Array:
        unsolved = jnp.sum(~state.shots.solved, dtype=jnp.int32)
        return (state.iteration < iterations) & (unsolved > int(left * batch))

    state = _State(jnp.int32(0), _first(tables, prior, syndrome))
    shares = LEFT if batch > _rows(TILINGS["faults"], batch) else LEFT[-1:]
    for left in shares:
        state = lax.while_loop(functools.partial(unfinished, left), steps, state)
        if left > 0:
            state = _State(state.iteration, _unsolved_first(state.shots))
    shots = state.shots
    if len(shares) == 1:
        return shots.odds, shots.mean
    back = jnp.argsort(shots.number)
    return _chosen(shots.odds, back), _chosen(shots.mean, back)


def _first(tables: Tables, prior: jax.Array, syndrome: jax.Array) -> _Shots:
    """Before the first iteration."""
    batch = syndrome.shape[1]
    bits = syndrome.astype(jnp.int8)
    start = jnp.broadcast_to(prior[:, None], (len(prior), batch))
    solved, number = jnp.zeros(batch, bool), jnp.arange(batch, dtype=jnp.int32)
    return _Shots(bits, silent(tables, batch), bits, start, start, solved, number)


def _unsolved_first(shots: _Shots) -> _Shots:
    order = jnp.argsort(shots.solved.astype(jnp.int32))
    return jax.tree.map(lambda each: _chosen(each, order), shots)


def _chosen(array: jax.Array, shots: jax.Array) -> jax.Array:
    return array.at[..., shots].get(mode="promise_in_bounds")


def silent(tables: Tables, batch: int) -> Told:
    """What detectors say before the first iteration."""
    detectors, slots = tables.faults.shape
    none = jnp.zeros((detectors, batch), jnp.float32)
    marks = jnp.zeros((pl.cdiv(slots, MARKED), detectors, batch), jnp.int32)
    return Told(none, none, marks)


def answer(
    tables: Tables,
    told: Told,
    unmet: jax.Array,
    odds: jax.Array,
    syndrome: jax.Array,
    still: jax.Array,
    scaling: jax.Array,
) -> tuple[Told, jax.Array]:
    """What detectors say to these odds, and which are unmet; as before in tiles that are `still`.

    A program for each detector and tile of shots: one walk through the slots.
    """
    count, batch = odds.shape
    detectors, slots = tables.faults.shape
    words = len(told.marks)
    tiling = TILINGS["detectors"]
    tile = _rows(tiling, batch)

    def kernel(*refs: Any) -> None:
        *before, marks, _unmet, odds, syndrome, still, faults, scaling = refs[:9]
        first, second, new, unmet = refs[9:]

        @pl.when(jnp.min(still[...]) == 0)
        def walk() -> None:
            said, second_said = (each[...] for each in before)

            def hear(word: int, marked: jax.Array, step: Any, heard: _Heard) -> _Heard:
                for place in range(tiling.chunk):
                    place = step * tiling.chunk + place  # in its word
                    slot = word * MARKED + place
                    fault = faults[slot]
                    known = jnp.broadcast_to(fault < count, (tile,))
                    around = gpu.load(odds.at[fault, :], mask=known, other=ABSENT)
                    message = _message(said, second_said, marked, place)
                    heard = heard.and_of(slot, place, around, message)
                return heard

            none = jnp.zeros((tile,), jnp.int32)
            far = jnp.full((tile,), jnp.inf, jnp.float32)
            fired = syndrome[...].astype(jnp.int32)
            heard = _Heard(far, far, none, none, fired, fired)
            signs = []
            for word in range(words):
                steps = min(MARKED, slots - word * MARKED) // tiling.chunk
                turn = functools.partial(hear, word, marks[word, :])
                heard = _repeat(steps, turn, heard._replace(mark=none))
                signs.append(heard.mark)

            sign = jnp.where(heard.odd == 1, -1.0, 1.0)
            first[...], second[...] = (
                sign * jnp.minimum(scaling[0] * size, CLIP) for size in (heard.least, heard.second)
            )
            # Two equally sure: whichever of them counts as the least, both hear the same.
            word_of, place_of = (of(heard.where, MARKED) for of in (lax.div, lax.rem))
            for word, mark in enumerate(signs):
                here = jnp.where(word_of == word, 1 << (MARKED + place_of), 0)
                new[word, :] = mark | here
            unmet[...] = heard.flips.astype(jnp.int8)

    by_tile = pl.BlockSpec((None, tile), lambda m, j: (m, j))
    state_specs = [
        by_tile,
        by_tile,
        pl.BlockSpec((words, None, tile), lambda m, j: (0, m, j)),
        by_tile,
    ]
    *told, unmet = call(
        kernel,
        tiling,
        "detectors",
        # Detectors vary fastest: those that share faults run at the same time.
        grid=(detectors, batch // tile),
        in_specs=[
            *state_specs,
            pl.BlockSpec((count, tile), lambda m, j: (0, j)),
            by_tile,
            pl.BlockSpec((tile,), lambda m, j: (j,)),
            pl.BlockSpec((None, slots), lambda m, j: (m, 0)),
            whole(scaling),
        ],
        out_specs=state_specs,
        out_shape=[_like(each) for each in (*told, unmet)],
        input_output_aliases={0: 0, 1: 1, 2: 2, 3: 3},
    )(*told, unmet, odds, syndrome, still.astype(jnp.int32), tables.faults, scaling)
    return Told(*told), unmet


def update(
    tables: Tables,
    odds: jax.Array,
    told: Told,
    still: jax.Array,
    own: jax.Array,
    memory: jax.Array,
) -> jax.Array:
    """own + memory * odds + the messages to each fault; shots that are `still` keep their odds."""
    count, batch = odds.shape
    detectors = told.marks.shape[1]
    degree = len(tables.messages)
    tiling = TILINGS["faults"]
    tile, share = _rows(tiling, batch), math.gcd(count, tiling.chunk)

    def kernel(*refs: Any) -> None:
        odds, first, second, marks, still, messages, own, memory, out = refs

        @pl.when(jnp.min(still[...]) == 0)
        def walk() -> None:
            keep = still[...] != 0

            def message(number: jax.Array) -> jax.Array:
                """0 for a missing one: a masked load reads nothing."""
                known = jnp.broadcast_to(number >= 0, (tile,))
                detector, slot = number >> tables.bits, number & ((1 << tables.bits) - 1)
                word, place = (of(slot, jnp.int32(MARKED)) for of in (lax.div, lax.rem))
                rows = first.at[detector, :], second.at[detector, :], marks.at[word, detector, :]
                said, second_said, mark = (gpu.load(row, mask=known, other=0) for row in rows)
                return _message(said, second_said, mark, place)

            def finish(fault: Any, done: tuple) -> tuple:
                heard = functools.reduce(
                    jnp.add, [message(messages[i, fault]) for i in range(degree)]
                )
                before = odds[fault, :]
                kept = _rounded_product(jnp.broadcast_to(memory[0], (tile,)), before)
                out[fault, :] = jnp.where(keep, before, (own[fault] + kept) + heard)
                return done

            _repeat(share, finish, ())

    by_tile = pl.BlockSpec((share, tile), lambda i, j: (i, j))
    of_detectors = pl.BlockSpec((detectors, tile), lambda i, j: (0, j))
    return call(
        kernel,
        tiling,
        "faults",
        grid=(count // share, batch // tile),
        in_specs=[
            by_tile,
            of_detectors,
            of_detectors,
            pl.BlockSpec((len(told.marks), detectors, tile), lambda i, j: (0, 0, j)),
            pl.BlockSpec((tile,), lambda i, j: (j,)),
            pl.BlockSpec((degree, share), lambda i, j: (0, i)),
            pl.BlockSpec((share,), lambda i, j: (i,)),
            whole(memory),
        ],
        out_specs=by_tile,
        out_shape=_like(odds),
        input_output_aliases={0: 0},
    )(odds, *told, still.astype(jnp.int32), tables.messages, own, memory)


class _Heard(NamedTuple):
    """Of the slots up to one, by a detector."""

    least: jax.Array  # magnitude
    second: jax.Array
    where: jax.Array  # the slot of the least
    mark: jax.Array  # a bit for each negative one, in this word of marks
    odd: jax.Array  # parity of the negative ones and the syndrome
    flips: jax.Array  # of the likeliest errors and the syndrome

    def and_of(self, slot: Any, place: Any, odds: jax.Array, message: jax.Array) -> "_Heard":
        """With one slot more, given its odds and what the detector told it last."""
        heard = odds - message
        size, negative = jnp.abs(heard), (heard < 0).astype(jnp.int32)
        return _Heard(
            jnp.minimum(self.least, size),
            jnp.minimum(self.second, jnp.maximum(self.least, size)),
            jnp.where(size < self.least, slot, self.where),
            self.mark | (negative << place),
            self.odd ^ negative,
            self.flips ^ (odds < 0).astype(jnp.int32),
        )


def _message(first: jax.Array, second: jax.Array, mark: jax.Array, place: Any) -> jax.Array:
    """What a detector says to the slot at this place of the word `mark`."""
    size = jnp.where((mark >> (place + MARKED)) & 1 == 1, second, first)
    return jnp.where((mark >> place) & 1 == 1, -size, size)


def _rounded_product(a: jax.Array, b: jax.Array) -> jax.Array:
    """Rounded before anything is added to it, as `memory_bp` does, not fused."""
    if products.INTERPRETED:
        return a * b
    (product,) = gpu.elementwise_inline_asm(
        "mul.rn.f32 $0, $1, $2;",
        args=[a, b],
        constraints="=f,f,f",
        pack=1,
        result_shape_dtypes=[_like(a)],
    )
    return product


def _repeat(count: int, turn: Callable, state: Any) -> Any:
    return turn(0, state) if count == 1 else lax.fori_loop(0, count, turn, state)


def _rows(tiling: Tiling, batch: int) -> int:
    """Of a tile: the largest power of two that divides the batch, at most what is set."""
    return math.gcd(tiling.rows, batch)


def _like(array: jax.Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape, array.dtype)
