"""From log-odds to logicals: reveal the most confident hidden bits, step by step.

Confidence is |logit| in float32: probabilities saturate and tie. A shown bit never changes.
The steps are a loop on the device, so that the denoiser compiles once, whatever their number.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int, Int32, UInt8

from unmasq.diffusion.masking import MASK

Denoise = Callable[[Int32[Array, "B K"]], Float32[Array, "B K"]]


class Unmasked(NamedTuple):
    """Predicted bits, each with the log-odds it was revealed by, and the steps taken."""

    logicals: UInt8[Array, "B K"]
    logits: Float32[Array, "B K"]
    steps: Int32[Array, " B"]

    def on(self, guess: UInt8[Array, "B K"] | None) -> "Unmasked":
        """The shots' own logicals, where these are what a first guess left of them."""
        if guess is None:
            return self
        signs = 1 - 2 * guess.astype(jnp.float32)
        return Unmasked(self.logicals ^ guess, signs * self.logits, self.steps)

    @property
    def log_likelihood(self) -> Float32[Array, " B"]:
        """Sum of log q(bit) over the revealed bits, on the device: what a view's vote weighs."""
        signs = 1 - 2 * self.logicals.astype(jnp.float32)
        return -jnp.sum(jax.nn.softplus(signs * self.logits), axis=1)


class Trail(NamedTuple):
    """What a network said at each step; a bit counts as shown from the step after its own."""

    tokens: Int32[Array, "T B K"]  # 0, 1 or MASK, before the step
    logits: Float32[Array, "T B K"]
    found: Unmasked

    def on(self, guess: UInt8[Array, "B K"] | None) -> "Trail":
        """Of the shots' own logicals, as in `Unmasked.on`."""
        if guess is None:
            return self
        flips = guess.astype(jnp.int32)[None]
        tokens = jnp.where(self.tokens == MASK, MASK, self.tokens ^ flips)
        signs = (1 - 2 * flips).astype(jnp.float32)
        return Trail(tokens, signs * self.logits, self.found.on(guess))


def unmask(denoise: Denoise, shots: int, num_logicals: int, num_steps: int) -> Unmasked:
    """T steps; each reveals ceil(remaining / steps left) bits, most confident first.

    >>> unmask(lambda tokens: jnp.array([[3.0, -1.0, 0.5]]), 1, 3, 2).logicals
    Array([[1, 0, 1]], dtype=uint8)
    """
    if not 1 <= num_steps <= num_logicals:
        raise ValueError(f"steps must lie in 1..{num_logicals}: got {num_steps}.")
    turns = reveal_counts(num_logicals, num_steps)
    return _unmask_in_turns(denoise, shots, num_logicals, turns, _most_confident)


def unmask_in_sight(denoise: Denoise, shots: int, num_logicals: int, num_steps: int) -> Trail:
    """`unmask`, with all that was said on the way: no faster path remembers it."""

    def step(state: tuple, turn: Int32[Array, ""]) -> tuple[tuple, tuple]:
        tokens, revealed_by = state
        logits = denoise(tokens)
        chosen = _most_confident(logits, tokens, turn)
        return _reveal(tokens, revealed_by, logits, chosen), (tokens, logits)

    turns = jnp.asarray(np.array(reveal_counts(num_logicals, num_steps)), jnp.int32)
    start = _start(shots, num_logicals)
    (last, revealed_by), (tokens, logits) = jax.lax.scan(step, start, turns)
    steps = jnp.full((shots,), num_steps, jnp.int32)
    return Trail(tokens, logits, Unmasked(last.astype(jnp.uint8), revealed_by, steps))


def reveal_counts(num_logicals: int, num_steps: int) -> list[int]:
    """How many bits each of T steps reveals.

    >>> reveal_counts(12, 5)
    [3, 3, 2, 2, 2]
    """
    least, more = divmod(num_logicals, num_steps)
    return [least + (step < more) for step in range(num_steps)]


def unmask_adaptively(
    denoise: Denoise, shots: int, num_logicals: int, threshold: float
) -> Unmasked:
    """Each step reveals every hidden bit with |logit| >= threshold, and at least one.

    Threshold 0 is one step, infinity is one bit a step. `steps` counts each shot's own; a batch
    takes as long as its slowest shot.

    >>> denoise = lambda tokens: jnp.array([[3.0, -1.0, 0.5]])
    >>> unmask_adaptively(denoise, 1, 3, threshold=2.0).steps
    Array([3], dtype=int32)
    >>> unmask_adaptively(denoise, 1, 3, threshold=0.7).steps
    Array([2], dtype=int32)
    """
    if not threshold >= 0:
        raise ValueError(f"threshold must be at least 0: got {threshold}.")

    def unfinished(state: tuple) -> Bool[Array, ""]:
        return jnp.any(state[0] == MASK)

    def step(state: tuple) -> tuple:
        tokens, revealed_by, steps = state
        hidden = tokens == MASK
        logits = denoise(tokens)
        sure = hidden & (jnp.abs(logits) >= threshold)
        chosen = sure | _most_confident(logits, tokens, 1)
        tokens, revealed_by = _reveal(tokens, revealed_by, logits, chosen)
        return tokens, revealed_by, steps + jnp.any(hidden, axis=1).astype(jnp.int32)

    start = (*_start(shots, num_logicals), jnp.zeros((shots,), jnp.int32))
    tokens, revealed_by, steps = jax.lax.while_loop(unfinished, step, start)
    return Unmasked(tokens.astype(jnp.uint8), revealed_by, steps)


def unmask_in_order(denoise: Denoise, shots: int, num_logicals: int) -> Unmasked:
    """The autoregressive decoder: bit after bit, first to last."""

    def only(logits: Array, tokens: Int32[Array, "B K"], k: Int32[Array, ""]) -> Bool[Array, "B K"]:
        return jnp.broadcast_to(jnp.arange(num_logicals)[None, :] == k, tokens.shape)

    return _unmask_in_turns(denoise, shots, num_logicals, range(num_logicals), only)


def _unmask_in_turns(
    denoise: Denoise, shots: int, num_logicals: int, turns: Sequence[int], choose: Callable
) -> Unmasked:
    """One step for each turn, which reveals the bits that `choose(logits, tokens, turn)` says."""

    def step(state: tuple, turn: Int32[Array, ""]) -> tuple[tuple, None]:
        tokens, revealed_by = state
        logits = denoise(tokens)
        return _reveal(tokens, revealed_by, logits, choose(logits, tokens, turn)), None

    each = jnp.asarray(np.array(turns), jnp.int32)
    (tokens, revealed_by), _ = jax.lax.scan(step, _start(shots, num_logicals), each)
    steps = jnp.full((shots,), len(turns), jnp.int32)
    return Unmasked(tokens.astype(jnp.uint8), revealed_by, steps)


def _start(shots: int, num_logicals: int) -> tuple[Int32[Array, "B K"], Float32[Array, "B K"]]:
    tokens = jnp.full((shots, num_logicals), MASK, jnp.int32)
    return tokens, jnp.zeros((shots, num_logicals), jnp.float32)


def _most_confident(
    logits: Float32[Array, "B K"], tokens: Int32[Array, "B K"], count: int | Int[Array, ""]
) -> Bool[Array, "B K"]:
    """The `count` hidden bits of each shot with the largest |logit|; ties to the first."""
    # A NaN would sort behind the shown bits, and its own bit would never be revealed.
    confidence = jnp.nan_to_num(jnp.abs(logits), nan=0.0, posinf=jnp.inf)
    confidence = jnp.where(tokens == MASK, confidence, -1.0)
    order = jnp.argsort(-confidence, axis=1, stable=True)
    rank = jnp.argsort(order, axis=1)
    return (rank < count) & (tokens == MASK)


def _reveal(
    tokens: Int32[Array, "B K"],
    revealed_by: Float32[Array, "B K"],
    logits: Float32[Array, "B K"],
    chosen: Bool[Array, "B K"],
) -> tuple[Int32[Array, "B K"], Float32[Array, "B K"]]:
    bits = (logits > 0).astype(jnp.int32)
    return jnp.where(chosen, bits, tokens), jnp.where(chosen, logits, revealed_by)
