"""Binary belief propagation with memory on a graph of faults, batched over shots in JAX.

Min-sum, all detectors and then all faults at a time. A fault remembers: its prior is mixed with
what was believed of it before, L(t) = (1 - gamma) L(0) + gamma M(t - 1), which damps the
oscillations that degenerate faults cause. The batch is the last axis: neighbours are then gathered
as whole rows.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int32

_CLIP = 50.0  # of messages: keeps divergence finite
_ABSENT = 1e9  # odds of a missing neighbour: it never flips and is never the least
_REMEMBERED = 0.9  # of the running mean of the odds, each iteration


class Neighbours(NamedTuple):
    """The faults of each detector, and where a fault finds the messages to it.

    Slot i of detector m has number i * detectors + m. Missing neighbours hold the number after the
    last one.
    """

    faults: Int[Array | np.ndarray, "slots detectors"]
    messages: Int[Array | np.ndarray, "degree N"]


class Found(NamedTuple):
    """What is believed of each fault when its shot was solved, or after the last iteration."""

    errors: Bool[Array, "N B"]  # the likeliest, fault by fault
    odds: Float[Array, "N B"]  # log P(absent) / P(present)
    mean: Float[Array, "N B"]  # of the odds, over the last ten iterations or so
    solved: Bool[Array, " B"]  # the errors have the syndrome


class _State(NamedTuple):
    iteration: Int32[Array, ""]
    messages: Float[Array, "slots detectors B"]
    mean: Float[Array, "N B"]
    odds: Float[Array, "N B"]
    found: Found


def neighbours_of(around: np.ndarray, num_faults: int) -> Neighbours:
    """From the faults around each detector, (detectors, slots), -1 for none."""
    slots = around.T
    where = np.flatnonzero(slots.ravel() >= 0)
    faults = slots.ravel()[where]
    order = np.argsort(faults, kind="stable")
    count = np.bincount(faults, minlength=num_faults)
    messages = np.full((max(1, int(count.max(initial=0))), num_faults), slots.size, np.int32)
    place = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    messages[place, faults[order]] = where[order]
    return Neighbours(np.where(slots < 0, num_faults, slots).astype(np.int32), messages)


def believe(
    graph: Neighbours,
    prior: Float[Array, " N"],
    syndrome: Bool[Array, "detectors B"],
    *,
    iterations: int,
    scaling: float,
    memory: float,
) -> Found:
    """At most so many iterations; a shot that is solved stays as it is."""
    start = jnp.broadcast_to(prior[:, None], (len(prior), syndrome.shape[1]))

    def step(state: _State) -> _State:
        own = (1 - memory) * prior[:, None] + memory * state.odds
        heard = _at_detectors(graph, state.odds, _ABSENT) - state.messages
        messages = _min_sum(heard, syndrome, scaling)
        odds = own + _at_faults(graph, messages)
        mean = _REMEMBERED * state.mean + (1 - _REMEMBERED) * odds
        errors = odds < 0
        flips = jnp.sum(_at_detectors(graph, errors, False), axis=0, dtype=jnp.int32)
        solved = jnp.all((flips % 2 == 1) == syndrome, axis=0)
        new, old = Found(errors, odds, mean, solved), state.found
        found = Found(*(jnp.where(old.solved, a, b) for a, b in zip(old, new, strict=True)))
        return _State(state.iteration + 1, messages, mean, odds, found)

    def unfinished(state: _State) -> Bool[Array, ""]:
        return (state.iteration < iterations) & ~jnp.all(state.found.solved)

    silent = jnp.zeros((*graph.faults.shape, syndrome.shape[1]))
    nothing = Found(start < 0, start, start, jnp.zeros(syndrome.shape[1], bool))
    first = _State(jnp.int32(0), silent, start, start, nothing)
    return jax.lax.while_loop(unfinished, step, first).found


def _min_sum(
    heard: Float[Array, "slots detectors B"], syndrome: Bool[Array, "detectors B"], scaling: float
) -> Float[Array, "slots detectors B"]:
    """scaling * product of signs, the syndrome's among them, * least magnitude, of the others."""
    size = jnp.abs(heard)
    negative = heard < 0

    def merged(one: tuple, other: tuple) -> tuple:
        (least, second, odd), (least_too, second_too, odd_too) = one, other
        between = jnp.maximum(least, least_too)
        smaller = jnp.minimum(jnp.minimum(second, second_too), between)
        return jnp.minimum(least, least_too), smaller, odd ^ odd_too

    far = jnp.full_like(size, jnp.inf)
    none = (jnp.float32(jnp.inf), jnp.float32(jnp.inf), jnp.bool_(False))
    least, second, odd = jax.lax.reduce((size, far, negative), none, merged, (0,))
    others = jnp.where(size == least[None], second[None], least[None])
    flipped = negative ^ (odd ^ syndrome)[None]
    return jnp.clip(scaling * jnp.where(flipped, -others, others), -_CLIP, _CLIP)


def _at_detectors(graph: Neighbours, values: Array, missing: float | bool) -> Array:
    """The values of the faults in each slot of each detector."""
    return _rows(values, graph.faults, missing)


def at_detectors(graph: Neighbours, values: Float[Array, "N B"]) -> Float[Array, "slots M B"]:
    """The values of the faults around each detector, 0 where one is missing."""
    return _at_detectors(graph, values, 0.0)


def _at_faults(
    graph: Neighbours, messages: Float[Array, "slots detectors B"]
) -> Float[Array, "N B"]:
    """The sum of the messages to each fault."""
    return jnp.sum(_rows(messages.reshape(-1, messages.shape[2]), graph.messages, 0.0), axis=0)


def _rows(values: Array, numbers: Int[Array | np.ndarray, "..."], missing: float | bool) -> Array:
    """Rows of `values`; `missing` for the number after the last one."""
    index = jnp.asarray(numbers)
    found = jnp.take(values, jnp.minimum(index, len(values) - 1), axis=0)
    return jnp.where((index < len(values))[..., None], found, jnp.asarray(missing, values.dtype))
