"""Quaternary belief propagation on a CSS code's Tanner graph, batched over shots in JAX.

A qubit suffers I, X, Z or Y. Messages are scalars: an edge to a Z check carries the log-odds
log P(bit = 0) / P(bit = 1) of the qubit's X bit, an edge to an X check those of its Z bit
(X bit of X and Y is 1, Z bit of Z and Y is 1). The batch is the last axis: neighbours are then
gathered as whole rows.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Int, Shaped

from unmasq.models.shot_by_shot import shot_by_shot

# Beyond this, exp(-message) is below float32's resolution anyway; it keeps divergence finite.
_CLIP = 50.0

Messages = Float[Array, "checks degree B"]
# Of X checks, of Z checks.
Syndromes = tuple[Bool[Array, "checks_x B"], Bool[Array, "checks_z B"]]
BothMessages = tuple[Float[Array, "checks_x degree_x B"], Float[Array, "checks_z degree_z B"]]
CheckRule = Callable[[Messages, Bool[Array, "checks degree"], Bool[Array, "checks B"]], Messages]


class Neighbours(NamedTuple):
    """One check matrix as two padded neighbour lists.

    Edge (c, i), the i-th of check c, has number c * degree + i. Missing neighbours hold the number
    after the last one: n for a qubit, checks * degree for an edge.
    """

    qubits: Int[Array | np.ndarray, "checks degree"]  # of each check
    edges: Int[Array | np.ndarray, "n degree_n"]  # of each qubit


class QubitOdds(NamedTuple):
    """Log-odds of I against X, Z and Y; the channel's are one column for all shots."""

    x: Float[Array, "n B"]
    z: Float[Array, "n B"]
    y: Float[Array, "n B"]


class BpResult(NamedTuple):
    """Hard decision and the log-odds of each bit, at convergence or after the last iteration."""

    x_bits: Bool[Array, "n B"]
    z_bits: Bool[Array, "n B"]
    x_odds: Float[Array, "n B"]
    z_odds: Float[Array, "n B"]
    converged: Bool[Array, " B"]


Graphs = tuple[Neighbours, Neighbours]  # of X checks, of Z checks
State = tuple[BothMessages, BpResult]
Step = Callable[[State], State]


def neighbours_of(checks: np.ndarray) -> Neighbours:
    """The graph of a dense 0/1 check matrix (checks, n)."""
    num_qubits = checks.shape[1]
    qubits = _padded([np.flatnonzero(check).tolist() for check in checks], num_qubits)
    return neighbours_by_check(qubits, num_qubits)


def neighbours_by_check(qubits: np.ndarray, num_qubits: int) -> Neighbours:
    """The graph of checks whose qubits are given in any order; n where there are fewer."""
    edges: list[list[int]] = [[] for _ in range(num_qubits)]
    for edge, qubit in enumerate(qubits.ravel()):
        if qubit < num_qubits:
            edges[qubit].append(edge)
    return Neighbours(qubits.astype(np.int32), _padded(edges, qubits.size))


def _padded(rows: list[list[int]], filling: int) -> np.ndarray:
    width = max(1, max(map(len, rows), default=0))
    padded = [row + [filling] * (width - len(row)) for row in rows]
    return np.array(padded, np.int32).reshape(len(rows), width)


@functools.cache  # one function for each scaling: `run_bp4` is compiled for each function
def min_sum(scaling: float) -> CheckRule:
    """`min_sum_rule`, the same function for the same number."""
    return min_sum_rule(scaling)


def min_sum_rule(scaling: float | Float32[Array, ""]) -> CheckRule:
    """The min-sum rule: scaling * product of signs * least magnitude of the other edges.

    The product includes the check's syndrome. A message of exactly 0 counts as negative.
    """

    def rule(
        incoming: Messages,
        present: Bool[Array, "checks degree"],
        syndrome: Bool[Array, "checks B"],
    ) -> Messages:
        magnitude = jnp.where(present[:, :, None], jnp.abs(incoming), jnp.inf)
        position = jnp.arange(magnitude.shape[1])[None, :, None]
        is_least = position == jnp.argmin(magnitude, axis=1, keepdims=True)
        least = jnp.min(magnitude, axis=1, keepdims=True)
        second = jnp.min(jnp.where(is_least, jnp.inf, magnitude), axis=1, keepdims=True)
        negative = (incoming <= 0) & present[:, :, None]
        parity = jnp.sum(negative, axis=1, keepdims=True) % 2 == 1
        flipped = parity ^ negative ^ syndrome[:, None, :]
        others = jnp.where(is_least, second, least)
        return scaling * jnp.where(flipped, -others, others)

    return rule


@functools.partial(jax.jit, static_argnames="check_rule")
def run_bp4(
    graphs: Graphs,
    channel: QubitOdds,
    syndromes: Syndromes,
    *,
    num_iterations: int | Int[Array, ""],
    check_rule: CheckRule,
) -> BpResult:
    """Parallel (flooding) BP: all checks, then all qubits, `num_iterations` times at most.

    A shot is frozen once its hard decision has its syndrome; the loop ends early when all are.
    """

    start, step = _rounds(graphs, channel, syndromes, check_rule)
    return _until_converged(step, num_iterations, start)[1]


def bp4_on_the_way(
    graphs: Graphs,
    channel: QubitOdds,
    syndromes: Syndromes,
    *,
    iterations: Sequence[int | Int[Array, ""]],
    check_rule: CheckRule,
) -> list[BpResult]:
    """What `run_bp4` gives after so many iterations, for each of these increasing numbers."""

    def run(x: Bool[Array, "checks_x B"], z: Bool[Array, "checks_z B"]) -> list[BpResult]:
        state, step = _rounds(graphs, channel, (x, z), check_rule)
        found = []
        for done, wanted in itertools.pairwise((0, *iterations)):
            state = jax.lax.platform_dependent(
                state,
                cpu=functools.partial(_until_converged, step, wanted - done),
                # An accelerator would wait for the host to learn whether to go on.
                default=functools.partial(_every_time, step, wanted - done),
            )
            found.append(state[1])
        return found

    return shot_by_shot(run, *syndromes)


def _until_converged(step: Step, count: int | Int[Array, ""], state: State) -> State:
    """At most so many steps, none that changes nothing."""

    def unfinished(turn: tuple) -> Bool[Array, ""]:
        return (turn[0] < count) & ~jnp.all(turn[1][1].converged)

    return jax.lax.while_loop(unfinished, lambda turn: (turn[0] + 1, step(turn[1])), (0, state))[1]


def _every_time(step: Step, count: int | Int[Array, ""], state: State) -> State:
    return jax.lax.fori_loop(0, count, lambda _, state: step(state), state)


def _rounds(
    graphs: Graphs,
    channel: QubitOdds,
    syndromes: Syndromes,
    check_rule: CheckRule,
) -> tuple[State, Step]:
    """The state before the first iteration, and an iteration."""

    def step(state: State) -> State:
        messages, old = state
        messages = (
            # X checks see Z bits.
            _check_messages(graphs[0], old.z_odds, messages[0], syndromes[0], check_rule),
            _check_messages(graphs[1], old.x_odds, messages[1], syndromes[1], check_rule),
        )
        new = _decision(graphs, channel, syndromes, messages)
        return messages, jax.tree.map(lambda a, b: jnp.where(old.converged, a, b), old, new)

    batch = syndromes[0].shape[1]
    silent_x, silent_z = (jnp.zeros((*graph.qubits.shape, batch)) for graph in graphs)
    start = _decision(graphs, channel, syndromes, (silent_x, silent_z))
    # A silent syndrome goes through an iteration too.
    start = start._replace(converged=jnp.zeros_like(start.converged))
    return ((silent_x, silent_z), start), step


def _decision(
    graphs: Graphs,
    channel: QubitOdds,
    syndromes: Syndromes,
    messages: BothMessages,
) -> BpResult:
    """The likeliest Pauli of each qubit, and the odds of 0 against 1 for its X and its Z bit."""
    z_sum, x_sum = (_sum_at_qubits(g, m) for g, m in zip(graphs, messages, strict=True))
    odds = QubitOdds(channel.x + x_sum, channel.z + z_sum, channel.y + x_sum + z_sum)
    choice = jnp.argmin(jnp.stack([jnp.zeros_like(odds.x), odds.x, odds.z, odds.y]), axis=0)
    x_bits, z_bits = (choice == 1) | (choice == 3), choice >= 2
    x_odds = jnp.logaddexp(0.0, -odds.z) - jnp.logaddexp(-odds.x, -odds.y)
    z_odds = jnp.logaddexp(0.0, -odds.x) - jnp.logaddexp(-odds.z, -odds.y)
    met = jnp.all(syndrome_of(graphs[0], z_bits) == syndromes[0], axis=0)
    met &= jnp.all(syndrome_of(graphs[1], x_bits) == syndromes[1], axis=0)
    return BpResult(x_bits, z_bits, x_odds, z_odds, met)


def _check_messages(
    graph: Neighbours,
    odds: Float[Array, "n B"],
    last: Messages,
    syndrome: Bool[Array, "checks B"],
    check_rule: CheckRule,
) -> Messages:
    """From each check to its qubits, given the odds of the bit it sees and its last messages.

    A qubit's message to a check is the log-odds of its bit without what this check told it.
    For scalar messages that is a difference: the check's message multiplies both P(bit = 0)
    and P(bit = 1), whichever Pauli they come from.
    """
    n = odds.shape[0]
    incoming = jnp.take(odds, jnp.minimum(graph.qubits, n - 1), axis=0) - last
    return jnp.clip(check_rule(incoming, jnp.asarray(graph.qubits < n), syndrome), -_CLIP, _CLIP)


def _sum_at_qubits(graph: Neighbours, messages: Messages) -> Float[Array, "n B"]:
    flat = messages.reshape(-1, messages.shape[2])
    flat = jnp.concatenate([flat, jnp.zeros((1, flat.shape[1]))])
    return jnp.sum(jnp.take(flat, graph.edges, axis=0), axis=1)


def syndrome_of(graph: Neighbours, bits: Bool[Array, "n B"]) -> Bool[Array, "checks B"]:
    """The checks that these bits flip."""
    return jnp.sum(at_checks(graph, bits), axis=1) % 2 == 1


def at_checks(graph: Neighbours, values: Shaped[Array, "n B"]) -> Shaped[Array, "checks degree B"]:
    """The values of each check's qubits, 0 where one is missing."""
    padded = jnp.concatenate([values, jnp.zeros((1, values.shape[1]), values.dtype)])
    return jnp.take(padded, graph.qubits, axis=0)
