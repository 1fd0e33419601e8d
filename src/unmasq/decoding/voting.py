"""The translates of a shot decoded side by side, and a vote among their answers.

The logicals of a translate are other sums of the same ones, so each view reveals other parities in
another order, over the same hidden state. Of a perfect network all views would agree. Each view's
answer counts with the probability that the view itself gives it: the sum over all views, divided
by their number, is the mixture's probability of the answer (or less, as each view tells only one).
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float32, Int32, UInt8

from unmasq.decoding.rules import Unmasking
from unmasq.models.views import Views
from unmasq.problems.translates import Translates


class Voted(NamedTuple):
    """The answer with most support, and how the views' votes are spread."""

    logicals: UInt8[Array, "B K"]
    probabilities: Float32[Array, "B K"]  # share of the votes for 1
    log_likelihood: Float32[Array, " B"]  # log of the answer's support
    steps: Int32[Array, " B"]  # of the slowest view


class Voters(eqx.Module):
    """A network and the views of a shot that it is asked for."""

    network: Any
    views: Views
    back: Float32[Array, "G K K"]  # M^-1

    def __init__(self, network: Any, translates: Translates):
        self.network = network
        self.views = Views(translates)
        self.back = jnp.asarray(translates.inverse_maps(), jnp.float32)

    def vote(self, rule: Unmasking, num_logicals: int, syndrome: UInt8[Array, "B M"]) -> Voted:
        """Encodes once, decodes every view, and carries the answers back before they vote."""
        shots, count = syndrome.shape[0], self.views.order
        elements = jnp.arange(count, dtype=jnp.int32)
        memory, syndrome, guess = self.network.begin(syndrome, self.views.sources)
        found = rule.reveal(self.network, num_logicals, memory)
        moved = found.logicals.reshape(shots, count, -1).astype(jnp.float32)
        parity = jnp.mod(moved + self.views.offsets(self.views.flips(syndrome), elements), 2)
        answers = jnp.mod(jnp.einsum("ekl,bel->bek", self.back, parity), 2).astype(jnp.uint8)
        if guess is not None:
            answers = answers ^ guess[:, None]
        weights = jnp.exp(found.log_likelihood).reshape(shots, count)
        steps = jnp.max(found.steps.reshape(shots, count), axis=1)
        return Voted(*count_votes(answers, weights), steps)


def count_votes(
    answers: UInt8[Array, "B V K"], weights: Float32[Array, "B V"]
) -> tuple[UInt8[Array, "B K"], Float32[Array, "B K"], Float32[Array, " B"]]:
    """The answer of most weight, the share of 1 in each logical, the log of its mean support.

    >>> answers = jnp.array([[[0, 1], [1, 1], [0, 1]]], jnp.uint8)
    >>> count_votes(answers, jnp.array([[0.2, 0.5, 0.4]]))[0]
    Array([[0, 1]], dtype=uint8)
    """
    alike = jnp.all(answers[:, :, None] == answers[:, None], axis=-1)
    support = jnp.einsum("bvw,bw->bv", alike.astype(jnp.float32), weights)
    best = jnp.argmax(support, axis=1)[:, None]
    chosen = jnp.take_along_axis(answers, best[:, :, None], axis=1)[:, 0]
    most = jnp.take_along_axis(support, best, axis=1)[:, 0]
    ones = jnp.einsum("bvk,bv->bk", answers.astype(jnp.float32), weights)
    share = ones / jnp.sum(weights, axis=1, keepdims=True)
    return chosen, share, jnp.log(most) - jnp.log(answers.shape[1])
