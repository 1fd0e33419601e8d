"""How far greedy unmasking is from the maximum: beam search, and exact enumeration for few bits.

Greedy decoding follows one chain of reveals. Two maxima can be meant by "the best one":

- over all orders pi and values l, the largest sum_k log q(l_pi(k) | l_pi(1..k-1), s): what
  `beam_search` looks for, bit by bit, as greedy decoding with T = K does;
- over all values l in one fixed order, the largest log q(l | s) of that order's chain, which is a
  normalised distribution: `chain_log_probabilities` lists it in full.

A perfect denoiser gives every order the same sum, log p(l | s); a trained one does not. Beam search
costs the denoiser W times over, enumeration 2^K times. `beam.py` compares them on real shots.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int32, UInt32

from unmasq.decoding.unmasking import Unmasked
from unmasq.diffusion.masking import MASK

# Log-odds of several partly shown strings for each shot.
DenoiseMany = Callable[[Int32[Array, "B W K"]], Float32[Array, "B W K"]]

MAX_ENUMERATED = 16  # logicals
_TOKENS_PER_WORD = 16  # two bits each


def denoise_many(network: Any, memory: Array) -> DenoiseMany:
    """The denoiser for several strings of each encoded shot; `memory` is (tokens, shots, width)."""

    def denoise(tokens: Int32[Array, "B W K"]) -> Float32[Array, "B W K"]:
        shots, strings, size = tokens.shape
        rows = jnp.repeat(memory, strings, axis=1, total_repeat_length=shots * strings)
        return network.denoise(rows, tokens.reshape(-1, size)).reshape(tokens.shape)

    return denoise


def beam_search(denoise: DenoiseMany, shots: int, num_logicals: int, width: int) -> Unmasked:
    """Keeps the `width` best partly revealed strings; every step reveals one bit in each.

    A string's score is the sum of log q of its reveals, each given those before it. Strings that
    were reached in several orders count once, with their best score. The first place always
    belongs to the strings of the greedy chain, so the result never scores below it; width 1 is
    greedy decoding with T = K.
    """
    if width < 1:
        raise ValueError(f"width must be at least 1: got {width}.")
    tokens = jnp.full((shots, width, num_logicals), MASK, jnp.int32)
    revealed_by = jnp.zeros(tokens.shape, jnp.float32)
    score = jnp.where(jnp.arange(width)[None, :] == 0, 0.0, -jnp.inf)
    score = jnp.broadcast_to(score, (shots, width)).astype(jnp.float32)

    def step(state: tuple, _: None) -> tuple[tuple, None]:
        tokens, revealed_by, score = state
        logits = denoise(tokens)
        chosen, score = _best_reveals(tokens, logits, score)
        parent, place, value = _read_index(chosen, num_logicals)
        tokens = jnp.take_along_axis(tokens, parent[:, :, None], axis=1)
        revealed_by = jnp.take_along_axis(revealed_by, parent[:, :, None], axis=1)
        logits = jnp.take_along_axis(logits, parent[:, :, None], axis=1)
        here = jnp.arange(num_logicals)[None, None, :] == place[:, :, None]
        tokens = jnp.where(here, value[:, :, None], tokens)
        return (tokens, jnp.where(here, logits, revealed_by), score), None

    state, _ = jax.lax.scan(step, (tokens, revealed_by, score), None, length=num_logicals)
    tokens, revealed_by, score = state
    best = jnp.argmax(score, axis=1)[:, None, None]
    return Unmasked(
        jnp.take_along_axis(tokens, best, axis=1)[:, 0].astype(jnp.uint8),
        jnp.take_along_axis(revealed_by, best, axis=1)[:, 0],
        jnp.full((shots,), num_logicals, jnp.int32),
    )


def chain_log_probabilities(
    denoise: DenoiseMany, shots: int, num_logicals: int, order: Sequence[int] | None = None
) -> Float32[Array, "B strings"]:
    """log q(l | s) of all 2^K strings, from the chain that reveals the bits in `order`.

    Column i holds the string whose logical k is bit k of i. By default the order is 0, 1, ...
    The denoiser sees each of the 2^K - 1 prefixes once.
    """
    if num_logicals > MAX_ENUMERATED:
        raise ValueError(
            f"logicals must be at most {MAX_ENUMERATED} to list every string: got {num_logicals}. "
            "Use beam search."
        )
    order = range(num_logicals) if order is None else order
    if sorted(order) != list(range(num_logicals)):
        raise ValueError(
            f"order must name each of the {num_logicals} logicals once: got {list(order)}."
        )
    numbers = np.zeros(1, np.int64)  # of the strings that start with each prefix, hidden bits 0
    tokens = jnp.full((shots, 1, num_logicals), MASK, jnp.int32)
    total = jnp.zeros((shots, 1), jnp.float32)
    for place in order:
        logit = denoise(tokens)[:, :, place]
        total = jnp.concatenate([total + _log_q(logit, 0), total + _log_q(logit, 1)], axis=1)
        tokens = jnp.concatenate([tokens.at[:, :, place].set(bit) for bit in (0, 1)], axis=1)
        numbers = np.concatenate([numbers, numbers | 1 << place])
    return total[:, np.argsort(numbers)]


def strings_of(numbers: np.ndarray, num_logicals: int) -> np.ndarray:
    """The bits (B, K) of column numbers of `chain_log_probabilities`.

    >>> strings_of(np.array([6]), 3)
    array([[0, 1, 1]], dtype=uint8)
    """
    return ((numbers[:, None] >> np.arange(num_logicals)) & 1).astype(np.uint8)


def _best_reveals(
    tokens: Int32[Array, "B W K"], logits: Float32[Array, "B W K"], score: Float32[Array, "B W"]
) -> tuple[Int32[Array, "B W"], Float32[Array, "B W"]]:
    """W distinct next strings, as numbers (parent, place, value), with their scores.

    A number whose score is -inf stands for no string.
    """
    shots, width, size = tokens.shape
    hidden = tokens == MASK
    finite = jnp.nan_to_num(logits, nan=0.0, posinf=jnp.inf, neginf=-jnp.inf)
    gains = jnp.stack([_log_q(finite, 0), _log_q(finite, 1)], axis=-1)
    scores = jnp.where(hidden[..., None], score[:, :, None, None] + gains, -jnp.inf)
    scores = scores.reshape(shots, -1)
    names = _names_after(tokens).reshape(shots, width * size * 2, -1)
    # By |logit|, as greedy decoding ranks: log q may tie where |logit| does not.
    place = jnp.argmax(jnp.where(hidden[:, 0], jnp.abs(finite[:, 0]), -1.0), axis=1)
    bit = jnp.take_along_axis(finite[:, 0], place[:, None], axis=1)[:, 0] > 0
    greedy = 2 * place.astype(jnp.int32) + bit.astype(jnp.int32)

    def same_string(index: Int32[Array, " B"]) -> Bool[Array, "B C"]:
        name = jnp.take_along_axis(names, index[:, None, None], axis=1)
        return jnp.all(names == name, axis=2)

    def take(left: Float32[Array, "B C"], number: Int32[Array, ""]) -> tuple[Array, tuple]:
        allowed = jnp.where(number == 0, same_string(greedy), True)
        index = jnp.argmax(jnp.where(allowed, left, -jnp.inf), axis=1).astype(jnp.int32)
        value = jnp.take_along_axis(left, index[:, None], axis=1)[:, 0]
        return jnp.where(same_string(index), -jnp.inf, left), (index, value)

    _, (index, value) = jax.lax.scan(take, scores, jnp.arange(width, dtype=jnp.int32))
    return index.T, value.T


def _names_after(tokens: Int32[Array, "B W K"]) -> UInt32[Array, "B W K 2 words"]:
    """The name of each partly shown string with one more bit shown: its tokens in base 4.

    Only the names after revealing a hidden bit mean anything.
    """
    size = tokens.shape[2]
    place = np.arange(size)
    word = jnp.asarray(place // _TOKENS_PER_WORD)
    shift = jnp.asarray(2 * (place % _TOKENS_PER_WORD), jnp.uint32)
    words = jnp.arange(-(-size // _TOKENS_PER_WORD))
    inside = word[:, None] == words[None, :]  # (K, words)
    digits = tokens.astype(jnp.uint32) << shift[None, None, :]
    name = jnp.sum(jnp.where(inside[None, None], digits[..., None], jnp.uint32(0)), axis=2)
    falls = jnp.uint32(MASK) - jnp.arange(2, dtype=jnp.uint32)  # from MASK to 0 and to 1
    change = jnp.where(
        inside[:, None, :], (falls[None, :] << shift[:, None])[:, :, None], jnp.uint32(0)
    )
    return name[:, :, None, None, :] - change[None, None]


def _read_index(
    index: Int32[Array, "B W"], size: int
) -> tuple[Int32[Array, "B W"], Int32[Array, "B W"], Int32[Array, "B W"]]:
    """(parent, place, value) of a number among W * K * 2."""
    return index // (2 * size), (index // 2) % size, index % 2


def _log_q(logits: Float32[Array, "*batch"], bit: int) -> Float32[Array, "*batch"]:
    """log of the probability that the bit has this value, for log-odds of a one."""
    return -jax.nn.softplus(-logits if bit else logits)
