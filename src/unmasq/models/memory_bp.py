"""Binary belief propagation with memory on a graph of faults, batched over shots in JAX.

Min-sum, all detectors and then all faults at a time. A fault remembers: its prior is mixed with
what was believed of it before, L(t) = (1 - gamma) L(0) + gamma M(t - 1), which damps the
oscillations that degenerate faults cause. The batch is the last axis: neighbours are then gathered
as whole rows.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int32

from unmasq.models.kernels import serve_beliefs
from unmasq.models.shot_by_shot import shot_by_shot

CLIP = 50.0  # of messages: keeps divergence finite
ABSENT = 1e9  # odds of a missing neighbour: it never flips and is never the least
REMEMBERED = 0.9  # of the running mean of the odds, each iteration

Messages = Float[Array, "slots detectors B"]
Syndrome = Bool[Array, "detectors B"]


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
    messages: Messages
    odds: Float[Array, "N B"]
    # gamma * odds. Not multiplied where it is added: that is rounded once or twice, as the compiler
    # likes, and what becomes of a shot must not depend on how many there are.
    kept: Float[Array, "N B"]
    mean: Float[Array, "N B"]
    solved: Bool[Array, " B"]  # by the errors of this iteration's beginning


class _Heard(NamedTuple):
    """What a detector hears of its faults, and all that the answers need of it."""

    messages: Messages
    least: Float[Array, "detectors B"]  # magnitude
    second: Float[Array, "detectors B"]  # the least of the others
    negative: Bool[Array, "detectors B"]  # the product of the signs, the syndrome's among them
    unmet: Bool[Array, "detectors B"]  # where the likeliest errors flip something else


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
    syndrome: Syndrome,
    *,
    iterations: int | Int32[Array, ""],
    scaling: float | Float[Array, ""],
    memory: float | Float[Array, ""],
) -> Found:
    """At most so many iterations; a shot that is solved stays as it is, whatever others do."""
    run = functools.partial(
        _believe, graph, prior, iterations=iterations, scaling=scaling, memory=memory
    )
    return shot_by_shot(run, syndrome)


def _believe(
    graph: Neighbours,
    prior: Float[Array, " N"],
    syndrome: Syndrome,
    *,
    iterations: int | Int32[Array, ""],
    scaling: float | Float[Array, ""],
    memory: float | Float[Array, ""],
) -> Found:
    """All shots together, until the last one is solved."""
    run: Callable[..., tuple[Array, Array]] = _odds_and_mean
    if serve_beliefs(syndrome.shape[1], prior):
        from unmasq.models.kernels import min_sum  # Pallas, which few need

        run = min_sum.odds_and_mean
    odds, mean = run(graph, prior, syndrome, iterations=iterations, scaling=scaling, memory=memory)
    errors = odds < 0
    flips = _parity(_at_detectors(graph, errors, False))
    return Found(errors, odds, mean, jnp.all(flips == syndrome, axis=0))


def _odds_and_mean(
    graph: Neighbours,
    prior: Float[Array, " N"],
    syndrome: Syndrome,
    *,
    iterations: int | Int32[Array, ""],
    scaling: float | Float[Array, ""],
    memory: float | Float[Array, ""],
) -> tuple[Float[Array, "N B"], Float[Array, "N B"]]:
    """By XLA."""
    batch = syndrome.shape[1]
    start = jnp.broadcast_to(prior[:, None], (len(prior), batch))

    def step(state: _State) -> _State:
        heard = _heard(graph, state, syndrome)
        # The prior itself may have the syndrome: even so it goes through an iteration.
        solved = ~jnp.any(heard.unmet, axis=0) & (state.iteration > 0)
        messages = _answers(heard, scaling)
        odds = (1 - memory) * prior[:, None] + state.kept + _at_faults(graph, messages)
        mean = REMEMBERED * state.mean + (1 - REMEMBERED) * odds
        odds, mean = jnp.where(solved, state.odds, odds), jnp.where(solved, state.mean, mean)
        return _State(state.iteration + 1, messages, odds, memory * odds, mean, solved)

    def unfinished(state: _State) -> Bool[Array, ""]:
        return (state.iteration < iterations) & ~jnp.all(state.solved)

    silent = jnp.zeros((*graph.faults.shape, batch))
    first = _State(jnp.int32(0), silent, start, memory * start, start, jnp.zeros(batch, bool))
    last = jax.lax.while_loop(unfinished, step, first)
    return last.odds, last.mean


def _heard(graph: Neighbours, state: _State, syndrome: Syndrome) -> _Heard:
    around = _at_detectors(graph, state.odds, ABSENT)
    return jax.lax.platform_dependent(
        around, state.messages, syndrome, cpu=_slot_by_slot, default=_all_slots
    )


def _all_slots(around: Messages, messages: Messages, syndrome: Syndrome) -> _Heard:
    """What each detector hears, given the odds around it and its last messages."""
    heard = around - messages

    def merged(one: tuple, other: tuple) -> tuple:
        (least, second, odd), (least_too, second_too, odd_too) = one, other
        between = jnp.maximum(least, least_too)
        smaller = jnp.minimum(jnp.minimum(second, second_too), between)
        return jnp.minimum(least, least_too), smaller, odd ^ odd_too

    far = jnp.full_like(heard, jnp.inf)
    none = (jnp.float32(jnp.inf), jnp.float32(jnp.inf), jnp.bool_(False))
    least, second, odd = jax.lax.reduce((jnp.abs(heard), far, heard < 0), none, merged, (0,))
    return _Heard(heard, least, second, odd ^ syndrome, _parity(around < 0) ^ syndrome)


def _slot_by_slot(around: Messages, messages: Messages, syndrome: Syndrome) -> _Heard:
    """The same on a CPU, which would take the reduction above element by element."""

    def step(state: tuple, slot: tuple) -> tuple:
        least, second, negative, unmet = state
        odds, message = slot
        heard = odds - message
        size = jnp.abs(heard)
        second = jnp.minimum(second, jnp.maximum(least, size))
        state = jnp.minimum(least, size), second, negative ^ (heard < 0), unmet ^ (odds < 0)
        return state, heard

    far = jnp.full(syndrome.shape, jnp.inf, jnp.float32)
    heard: Messages
    found, heard = jax.lax.scan(step, (far, far, syndrome, syndrome), (around, messages))
    return _Heard(heard, *found)


def _answers(heard: _Heard, scaling: float | Float[Array, ""]) -> Messages:
    """scaling * product of signs, the syndrome's among them, * least magnitude, of the others."""
    sign = jnp.where(heard.negative, -1.0, 1.0)
    # Detector by detector: of each message nothing remains but to choose one and its sign.
    least, second = (
        sign * jnp.minimum(scaling * size, CLIP) for size in (heard.least, heard.second)
    )
    is_least = jnp.abs(heard.messages) == heard.least[None]
    own_sign = jnp.where(heard.messages < 0, -1.0, 1.0)
    return jnp.where(is_least, second[None], least[None]) * own_sign


def _parity(values: Bool[Array, "slots detectors B"]) -> Bool[Array, "detectors B"]:
    return jnp.sum(values, axis=0, dtype=jnp.int32) % 2 == 1


def _at_detectors(graph: Neighbours, values: Array, missing: float | bool) -> Array:
    """The values of the faults in each slot of each detector."""
    return _rows(values, graph.faults, missing)


def at_detectors(graph: Neighbours, values: Float[Array, "N B"]) -> Float[Array, "slots M B"]:
    """The values of the faults around each detector, 0 where one is missing."""
    return _at_detectors(graph, values, 0.0)


def _at_faults(graph: Neighbours, messages: Messages) -> Float[Array, "N B"]:
    """The sum of the messages to each fault."""
    flat = messages.reshape(-1, messages.shape[2])
    # Added up one by one: a CPU makes one fast loop of it, not of a sum over an axis.
    return functools.reduce(jnp.add, [_rows(flat, each, 0.0) for each in graph.messages])


def _rows(values: Array, numbers: Int[Array | np.ndarray, "..."], missing: float | bool) -> Array:
    """Rows of `values`; `missing` for the number after the last one."""
    index = jnp.asarray(numbers)
    rows = values.at[jnp.minimum(index, len(values) - 1)]
    found = rows.get(mode="promise_in_bounds")
    return jnp.where((index < len(values))[..., None], found, jnp.asarray(missing, values.dtype))
