"""Several masks for each encoded shot, each on a translate of it: what the objectives then hide.

The encoder of a tied network runs once for a shot; its translates are other sums of the same
logicals over the moved hidden state (`models.views`), so every mask may be on another one.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, UInt8

from unmasq.models import MaskedDenoiser
from unmasq.models.beliefs import BpOutcome
from unmasq.models.views import Views, repeated
from unmasq.shots.endings import EndedShots
from unmasq.shots.sampling import Shots
from unmasq.training.curriculum import FrameRange
from unmasq.training.loss_draws import Draws


def masked_views(
    network: MaskedDenoiser,
    shots: Shots,
    draws: Draws,
    frames: FrameRange,
    views: Views | None,
    outcome: BpOutcome | None = None,
) -> tuple[Array, UInt8[Array, "S K"]]:
    """What the denoiser reads and the logicals to predict, each shot once for each of its masks."""
    if draws.elements is None:
        memory, targets, _ = _targets(network, shots, draws, frames, None, outcome)
        return repeated(memory, targets, draws.times.shape[2])
    assert views is not None
    memory, own, syndrome = _targets(network, shots, draws, frames, views, outcome)
    return memory, views(own, views.flips(syndrome), draws.elements)


def ended_views(
    network: MaskedDenoiser,
    shots: EndedShots,
    draws: Draws,
    rounds: Sequence[int],
    views: Views | None,
) -> tuple[Array, UInt8[Array, "S K"]]:
    """The same of experiments that end after each of these `rounds`, endings outermost."""
    encoded = network.encoder.endings(shots.frames, shots.last, rounds)
    targets = _endings_outermost(shots.logicals)
    if draws.elements is None:
        return repeated(network.recall(encoded), targets, draws.times.shape[2])
    assert views is not None
    memory = network.recall(encoded, views.sources[draws.elements])
    flips = _endings_outermost(shots.flips).astype(jnp.float32)
    return memory, views(targets, flips, draws.elements)


def _endings_outermost(bits: UInt8[Array, "B E n"]) -> UInt8[Array, "S n"]:
    return bits.swapaxes(0, 1).reshape(-1, bits.shape[2])


def _targets(
    network: MaskedDenoiser,
    shots: Shots,
    draws: Draws,
    frames: FrameRange,
    views: Views | None,
    outcome: BpOutcome | None,
) -> tuple[Array, UInt8[Array, "S K"], UInt8[Array, "B M"]]:
    """What the denoiser reads, logicals to predict, frames folded into shots; their syndrome.

    A guess that the network begins with is taken off logicals and syndrome. Views are of the last
    frame.
    """
    syndrome, logicals = shots
    if logicals.ndim == 2:
        sources = None if views is None else views.sources[draws.elements]
        memory, residual, guess = network.begin(syndrome, sources, outcome)
        return memory, logicals if guess is None else logicals ^ guess, residual
    if draws.frame is not None:
        chosen = jnp.take_along_axis(logicals, draws.frame[:, None, None], axis=1)[:, 0]
        return network.recall(network.encode(syndrome, draws.frame)), chosen, syndrome
    states = network.encoder.all_frames(syndrome, frames.last + 1)[frames.first :]
    memory = network.recall(jnp.concatenate(list(states), axis=1))
    used = logicals[:, frames.first : frames.last + 1]
    return memory, jnp.concatenate([used[:, i] for i in range(used.shape[1])]), syndrome
