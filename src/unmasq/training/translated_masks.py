"""Several masks for each encoded shot, each on a translate of it: what the objectives then hide.

The encoder of a tied network runs once for a shot; its translates are other sums of the same
logicals over the moved hidden state (`models.views`), so every mask may be on another one.
"""

from collections.abc import Sequence

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Int32, PRNGKeyArray, UInt8

from unmasq.models import MaskedDenoiser
from unmasq.models.beliefs import BpOutcome
from unmasq.models.views import Views, repeated
from unmasq.shots.sampling import Shots
from unmasq.training.config import TrainConfig
from unmasq.training.curriculum import FrameRange


def masked_views(
    network: MaskedDenoiser,
    shots: Shots,
    frames: FrameRange,
    views: Views | None,
    config: TrainConfig,
    num_steps: int,
    outcome: BpOutcome | None = None,
    *,
    keys: Sequence[PRNGKeyArray],
) -> tuple[Array, UInt8[Array, "S K"], int]:
    """What the denoiser reads and the logicals to predict, and how many masks each shot has.

    Masks lie on translates where the network has them and all flips of a shot are known; `keys`
    draw the frames and the translates.
    """
    frame_key, view_key = keys
    masks = config.masks_per_shot
    if views is None or shots.logicals.ndim == 3:
        masks = min(masks, num_steps)  # with T = 1 all are alike
        memory, targets, _ = _targets(
            network, *shots, frames, config.frames, frame_key, None, outcome
        )
        return *repeated(memory, targets, masks), masks
    elements = jr.randint(view_key, (masks,), 0, views.order)
    sources = views.sources[elements]
    memory, own, syndrome = _targets(
        network, *shots, frames, config.frames, frame_key, sources, outcome
    )
    return memory, views(own, syndrome, elements), masks


def _targets(
    network: MaskedDenoiser,
    syndrome: UInt8[Array, "B M"],
    logicals: UInt8[Array, "B *frames K"],
    frames: FrameRange,
    which: str,
    key: PRNGKeyArray,
    sources: Int32[Array, "E n"] | None = None,
    outcome: BpOutcome | None = None,
) -> tuple[Array, UInt8[Array, "S K"], UInt8[Array, "B M"]]:
    """What the denoiser reads, logicals to predict, frames folded into shots; their syndrome.

    A guess that the network begins with is taken off logicals and syndrome. Views, by their
    `sources`, are of the last frame.
    """
    if logicals.ndim == 2:
        memory, residual, guess = network.begin(syndrome, sources, outcome)
        return memory, logicals if guess is None else logicals ^ guess, residual
    if which == "random":
        frame = jr.randint(key, (syndrome.shape[0],), frames.first, frames.last + 1)
        chosen = jnp.take_along_axis(logicals, frame[:, None, None], axis=1)[:, 0]
        return network.recall(network.encode(syndrome, frame)), chosen, syndrome
    states = network.encoder.all_frames(syndrome, frames.last + 1)[frames.first :]
    memory = network.recall(jnp.concatenate(list(states), axis=1))
    used = logicals[:, frames.first : frames.last + 1]
    return memory, jnp.concatenate([used[:, i] for i in range(used.shape[1])]), syndrome
