"""What a schedule says at a given update: learning rate and stage, and the rounds of its shots."""

import copy
import dataclasses
from collections.abc import Mapping
from typing import TypeVar

import jax.numpy as jnp
from jaxtyping import Array, Float32, Int

from unmasq.training.config import NoiseSchedule, OptimizerConfig, TrainConfig

Numbered = TypeVar("Numbered", OptimizerConfig, NoiseSchedule)


@dataclasses.dataclass(frozen=True)
class FrameRange:
    """Frames that carry a loss, from update `start` up to `stop`."""

    first: int
    last: int
    start: int
    stop: int
    rate: float = 1.0  # factor on the learning rates ...
    rate_start: int = 0  # ... since this update


def frame_ranges(config: TrainConfig, num_frames: int) -> list[FrameRange]:
    """The stages in updates; the rest of the run trains on the last frame alone."""
    ranges: list[FrameRange] = []
    share = 0.0
    start = 0
    rate, rate_start = 1.0, 0
    for stage in config.stages:
        share += stage.fraction
        stop = min(round(share * config.num_updates), config.num_updates)
        first, last = (_frame(number, num_frames) for number in (stage.first, stage.last))
        if first > last:
            raise ValueError(f"stage must have first <= last: got {stage.first} and {stage.last}.")
        if stage.rate != rate:
            rate, rate_start = stage.rate, start
        if stop > start:
            ranges.append(FrameRange(first, last, start, stop, rate, rate_start))
        start = stop
    if start < config.num_updates:
        end = num_frames - 1
        ranges.append(FrameRange(end, end, start, config.num_updates, rate, rate_start))
    return ranges


def rounds_at(config: TrainConfig, step: int, default: int) -> int:
    """The number of rounds of the shots from this update on, until the end of the call."""
    if not config.rounds:
        return default
    return config.rounds[step // config.updates_per_call % len(config.rounds)]


def _frame(number: int, num_frames: int) -> int:
    if not -num_frames <= number < num_frames:
        raise ValueError(f"stage frames must lie in 0..{num_frames - 1}: got {number}.")
    return number % num_frames


def numbers_of(settings: OptimizerConfig | NoiseSchedule) -> dict[str, Float32[Array, ""]]:
    """The plain numbers among the settings, for a compiled function to take."""
    return {k: jnp.float32(v) for k, v in vars(settings).items() if isinstance(v, float)}


def with_numbers(settings: Numbered, numbers: Mapping[str, Float32[Array, ""]]) -> Numbered:
    """The settings with these numbers, which may be traced: nothing checks them again."""
    found = copy.copy(settings)
    for name, number in numbers.items():
        object.__setattr__(found, name, number)
    return found


def learning_rate_factor(
    config: OptimizerConfig,
    step: Int[Array, ""],
    num_updates: Float32[Array, ""],
    rate_start: Float32[Array, ""],
) -> Float32[Array, ""]:
    """Linear from `first` to 1 after `rate_start`, flat, then a cosine to `last`."""
    now = jnp.asarray(step, jnp.float32)
    warming = (now - rate_start) / jnp.maximum(config.warm_up * num_updates, 1e-9)
    up = config.first + (1 - config.first) * jnp.minimum(warming, 1.0)
    up = jnp.where(jnp.asarray(config.warm_up) > 0, up, 1.0)
    length = jnp.maximum(config.fall_until - config.flat_until, 1e-9)
    falling = jnp.clip((now / num_updates - config.flat_until) / length, 0.0, 1.0)
    down = config.last + (1 - config.last) * 0.5 * (1 + jnp.cos(jnp.pi * falling))
    return up * down
