"""What is random in the loss of an update, beside its shots.

Drawn for the whole batch with one key, before devices share the batch: the loss of each device is
then a plain function of its part, and a run draws the same numbers on any number of devices.
"""

from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.sharding import PartitionSpec
from jaxtyping import Array, Float, Int32, PRNGKeyArray

from unmasq.diffusion.gaussian import time_probabilities
from unmasq.diffusion.masking import draw_times
from unmasq.models.views import Views
from unmasq.shots.endings import EndedShots
from unmasq.shots.sampling import Shots
from unmasq.training.config import TrainConfig
from unmasq.training.curriculum import FrameRange


class Draws(NamedTuple):
    """Of each shot, for each of the E masks that it carries at each of F frames or endings."""

    frame: Int32[Array, " B"] | None  # where a stage's loss is on one frame of it
    elements: Int32[Array, " E"] | None  # the translates that carry the masks, alike for all shots
    times: Int32[Array, "F B E"]  # t of each mask; autoregressive: the bits it hides
    noise: Float[Array, "F B E K"] | None  # whose order hides bits; or of the continuous process


_OF_FRAMES = PartitionSpec(None, "shots")
BY_SHOT = Draws._make((PartitionSpec("shots"), PartitionSpec(), _OF_FRAMES, _OF_FRAMES))


def draw(
    config: TrainConfig,
    num_steps: int,
    shots: Shots | EndedShots,
    frames: FrameRange,
    views: Views | None,
    *,
    key: PRNGKeyArray,
) -> Draws:
    """Masks lie on translates where the network has views and all flips of a shot are known."""
    batch, num_logicals = len(shots.logicals), shots.logicals.shape[-1]
    if config.objective == "continuous":
        return _continuous(num_steps, batch, num_logicals, key=key)
    frame_key, view_key, loss_key = jr.split(key, 3)
    ended = isinstance(shots, EndedShots)
    frame = elements = None
    count, masks = 1, config.masks_per_shot
    if views is not None and (ended or shots.logicals.ndim == 2):
        elements = jr.randint(view_key, (masks,), 0, views.order)
    else:
        masks = min(masks, num_steps)  # with T = 1 all are alike
    if not ended and shots.logicals.ndim == 3 and config.frames == "random":
        frame = jr.randint(frame_key, (batch,), frames.first, frames.last + 1)
    elif shots.logicals.ndim == 3:
        count = shots.logicals.shape[1] if ended else frames.last - frames.first + 1
    shape = (count, batch, masks)
    if config.objective == "autoregressive":
        hidden = draw_times(count * batch, num_logicals, masks, key=loss_key)
        return Draws(frame, elements, hidden.reshape(shape), None)
    time_key, hide_key = jr.split(loss_key)
    times = draw_times(count * batch, num_steps, masks, key=time_key)
    noise = jr.uniform(hide_key, (count * batch * masks, num_logicals))
    return Draws(frame, elements, times.reshape(shape), noise.reshape(*shape, num_logicals))


def _continuous(num_steps: int, batch: int, num_logicals: int, *, key: PRNGKeyArray) -> Draws:
    """t from p(t), and Gaussian noise."""
    time_key, noise_key = jr.split(key)
    probabilities = jnp.asarray(np.asarray(time_probabilities(num_steps), np.float32))
    t = 1 + jr.choice(time_key, num_steps, (batch,), p=probabilities)
    noise = jr.normal(noise_key, (batch, num_logicals))
    return Draws(None, None, t[None, :, None], noise[None, :, None])
