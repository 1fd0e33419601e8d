"""The training loop: set up, update, and once in a while report and save."""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import PyTree

from unmasq.checkpoint import named_arrays
from unmasq.models import Geometry, build_network, initial_code_weights
from unmasq.problem import DecodingProblem
from unmasq.sampling import ShotSampler
from unmasq.training.config import TrainConfig
from unmasq.training.curriculum import FrameRange, frame_ranges, training_p
from unmasq.training.export import export_weights, with_weights
from unmasq.training.measure import error_counts
from unmasq.training.run_folder import RunFolder, load_average, mirror_run
from unmasq.training.update import Trainer, TrainState

MAX_ROLLBACKS = 5


@dataclasses.dataclass(frozen=True)
class Progress:
    """What the display shows after each call to the device."""

    step: int
    num_updates: int
    loss: float
    samples_per_second: float
    p: float
    stage: str
    seconds: float
    failures: str = ""


@dataclasses.dataclass(frozen=True)
class Limits:
    """When to stop, save and how long the run should be."""

    minutes: float | None = None  # stop here; --resume goes on
    fit_minutes: float | None = None  # set num_updates from the measured rate
    save_seconds: float = 120.0


def train(
    config: TrainConfig,
    problem: DecodingProblem,
    run: RunFolder,
    *,
    resume: bool = False,
    init: str | Path | None = None,
    mirror: str | Path | None = None,
    limits: Limits | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
    say: Callable[[str], None] = lambda message: None,
) -> dict[str, Any]:
    """Trains until the recipe ends or the clock says stop; returns the final record."""
    started = time.monotonic()
    limits = limits or Limits()
    trainer = make_trainer(config, problem, init)
    state = trainer.start()
    spent = 0.0
    if resume:
        state, spent, warnings = run.restore(state)
        state = trainer.place(state)
        for warning in warnings:
            say(warning)
    else:
        if limits.fit_minutes is not None:
            trainer, state = _fit(trainer, state, limits.fit_minutes, started, say)
            config = trainer.config
        run.create(config, problem)

    last_save = time.monotonic()
    finished = False
    while not finished:
        step = int(state.step)
        frames = _current(frame_ranges(config, problem.layout.num_frames), step)
        if frames is None:
            break
        begun = time.monotonic()
        updates = min(config.updates_per_call, frames.stop - step)
        state, losses = trainer.advance(state, frames, updates)
        loss = float(np.mean(np.asarray(losses)))
        now = time.monotonic()
        if not np.isfinite(loss):
            state = _roll_back(run, trainer, state, step, say)
            continue
        record: dict[str, Any] = {
            "step": step + updates,
            "loss": loss,
            "samples": (step + updates) * config.batch_size,
            "samples_per_second": updates * config.batch_size / (now - begun),
            "p": float(training_p(config.noise, state.step, jnp.float32(config.num_updates))),
            "frames": [frames.first, frames.last],
            "seconds": round(spent + now - started, 2),
        }
        run.log(record)
        report(
            Progress(
                step + updates,
                config.num_updates,
                loss,
                record["samples_per_second"],
                record["p"],
                f"frames {frames.first}-{frames.last}",
                record["seconds"],
            )
        )
        out_of_time = limits.minutes is not None and now - started > 60 * limits.minutes
        finished = step + updates >= config.num_updates or out_of_time
        if finished or now - last_save > limits.save_seconds:
            run.save(state, spent + time.monotonic() - started)
            if mirror is not None:
                mirror_run(mirror, state, config, run)
            last_save = time.monotonic()

    return _finish(config, problem, trainer, state, run, mirror, spent + time.monotonic() - started)


def make_trainer(
    config: TrainConfig, problem: DecodingProblem, init: str | Path | None = None
) -> Trainer:
    """Network, sampler and device mesh for a recipe; `init` names weights to start from."""
    devices = jax.device_count()
    if config.batch_size % devices:
        raise ValueError(
            f"batch_size must divide over {devices} devices: got {config.batch_size}. "
            f"Try --set batch_size={config.batch_size // devices * devices or devices}."
        )
    geometry = Geometry.of(problem)
    weights = initial_code_weights(problem) if config.network.encoder_layers else None
    network = build_network(config.network, geometry, weights, key=jr.key(config.seed))
    if init is not None:
        network = with_weights(network, load_average(init))
    mesh = jax.make_mesh((devices,), ("shots",), axis_types=(jax.sharding.AxisType.Auto,))

    def sampler(intermediate: bool) -> ShotSampler:
        return ShotSampler(problem, intermediate=intermediate)

    return Trainer(config, network, geometry, sampler, mesh)


def _current(ranges: list[FrameRange], step: int) -> FrameRange | None:
    return next((frames for frames in ranges if frames.start <= step < frames.stop), None)


def _roll_back(
    run: RunFolder, trainer: Trainer, state: TrainState, step: int, say: Callable[[str], None]
) -> TrainState:
    """The last good state, with other random numbers ahead of it."""
    count = int(state.rollbacks) + 1
    if count > MAX_ROLLBACKS:
        raise FloatingPointError(
            f"the loss turned NaN {count} times, last at update {step}. Lower the learning rate: "
            "--set optimizer.learning_rate=..."
        )
    good, _, _ = run.restore(trainer.start())
    say(f"loss is not finite near update {step}: back to update {int(good.step)} (no. {count})")
    return trainer.place(good._replace(rollbacks=jnp.asarray(count, jnp.int32)))


def _fit(
    trainer: Trainer,
    state: TrainState,
    minutes: float,
    started: float,
    say: Callable[[str], None],
) -> tuple[Trainer, TrainState]:
    """Measures the rate of the last stage on throwaway updates and sets `num_updates` by it."""
    config = trainer.config
    ranges = frame_ranges(config, trainer.geometry.layout.num_frames)
    for frames in ranges:  # compile every stage before the clock is read
        state, losses = trainer.advance(state, frames, config.updates_per_call)
        jax.block_until_ready(losses)
    begun = time.monotonic()
    for _ in range(3):
        state, losses = trainer.advance(state, ranges[-1], config.updates_per_call)
        jax.block_until_ready(losses)
    seconds = (time.monotonic() - begun) / (3 * config.updates_per_call)
    left = 60 * minutes - (time.monotonic() - started)
    updates = max(int(left / seconds), config.updates_per_call)
    say(
        f"{config.batch_size / seconds:,.0f} samples/s measured: {updates} updates "
        f"fill the {left:.0f} s left of {minutes} minutes"
    )
    trainer.config = dataclasses.replace(config, num_updates=updates)
    return trainer, trainer.start()


def _finish(
    config: TrainConfig,
    problem: DecodingProblem,
    trainer: Trainer,
    state: TrainState,
    run: RunFolder,
    mirror: str | Path | None,
    seconds: float,
) -> dict[str, Any]:
    record: dict[str, Any] = {
        "step": int(state.step),
        "samples": int(state.step) * config.batch_size,
        "seconds": round(seconds, 2),
        "finished": int(state.step) >= config.num_updates,
    }
    if run.writes and config.evaluate_shots:
        local: PyTree = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)), state.average)
        record["evaluation"] = error_counts(
            trainer.network(local),
            problem,
            config.evaluate_p or (config.noise.p,),
            config.evaluate_shots,
            in_order=config.objective == "autoregressive",
            dtype=config.compute_dtype,
        )
    run.log(record)
    if run.writes:
        facts = {
            "samples": record["samples"],
            "updates": record["step"],
            "seconds": record["seconds"],
            "evaluation": record.get("evaluation", []),
            **{key: run.manifest()[key] for key in ("device", "commit")},
        }
        folders = [run.path] if mirror is None else [run.path, mirror]
        for folder in folders:
            export_weights(folder, config, problem, named_arrays(state.average), facts)
    if mirror is not None:
        mirror_run(mirror, state, config, run)
    return record
