"""The training loop: set up, update, and once in a while evaluate and save."""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from unmasq.files.model_card import history_of
from unmasq.models.weights import STORED_DTYPE, named_arrays
from unmasq.problems.problem import DecodingProblem
from unmasq.shots.sampling import CHUNK_SHOTS
from unmasq.training.config import TrainConfig
from unmasq.training.curriculum import FrameRange, frame_ranges
from unmasq.training.final_weights import write_final_weights
from unmasq.training.fitting import fitted
from unmasq.training.make_trainer import make_trainer
from unmasq.training.measure import error_counts
from unmasq.training.processes import agreed
from unmasq.training.run_folder import RunFolder, mirror_run
from unmasq.training.shot_error_rate import largest_p
from unmasq.training.start import init_path
from unmasq.training.update import Trainer, TrainState

MAX_ROLLBACKS = 5


class TrainingDivergedError(ValueError):
    """The loss turned NaN again and again."""


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
    seconds_left: float
    failures: str = ""  # of the last evaluation


@dataclasses.dataclass(frozen=True)
class RunTimes:
    """When to stop, save and how long the run should be."""

    minutes: float | None = None  # stop here; --resume goes on
    fit_minutes: float | None = None  # set num_updates from the measured rate
    save_seconds: float = 120.0

    def __post_init__(self) -> None:
        for name in ("minutes", "fit_minutes", "save_seconds"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise ValueError(f"{name} must be at least 0: got {value}.")
        if self.fit_minutes == 0:
            raise ValueError("fit_minutes must be above 0: got 0. Nothing would be learnt.")


def train(
    config: TrainConfig,
    problem: DecodingProblem,
    run: RunFolder,
    *,
    resume: bool = False,
    init: str | Path | None = None,
    mirror: str | Path | None = None,
    times: RunTimes | None = None,
    stop: Callable[[], bool] = lambda: False,
    report: Callable[[Progress], None] = lambda progress: None,
    say: Callable[[str], None] = lambda message: None,
) -> dict[str, Any]:
    """Trains until the recipe ends or the clock says stop; returns the final record.

    `stop`, asked between calls to the device, ends it with a checkpoint and nothing more.
    """
    started = time.monotonic()
    times = times or RunTimes()
    if not resume:
        run.require_new()
    if init is not None:
        init = init_path(init)
    history = [] if init is None else history_of(init)
    rates = _known_rates(config, problem)
    trainer = make_trainer(config, problem, init, run.stream() if resume else None, say)
    state = trainer.start()
    spent = 0.0
    if resume:
        state, spent, warnings = run.restore(state)
        state = trainer.place(state)
        for warning in warnings:
            say(warning)
    elif times.fit_minutes is not None:
        trainer.config = config = fitted(trainer, state, times.fit_minutes, started, say)
        state = trainer.start()
    if rates != (config.evaluate_p or (config.noise.p,)):
        say(f"the priors of '{problem.name}' are known at p = {problem.p} alone: evaluating at it")
    say(f"{config.name}: compiling, then on from update {int(state.step)} of {config.num_updates}")

    ranges = frame_ranges(config, problem.layout.num_frames)
    if not resume:
        trainer.compiled(state, ranges[0])  # a run that does not fit in memory never begins
        run.create(config, problem, state, history, trainer.stream)
    last_save = time.monotonic()
    failures = ""
    stopped = interrupted = False
    while not stopped and (frames := _current(ranges, int(state.step))) is not None:
        step = int(state.step)
        updates = min(config.updates_per_call, frames.stop - step)
        begun = time.monotonic()
        state, losses = trainer.advance(state, frames, updates)
        loss = float(np.mean(np.asarray(losses)))
        now = time.monotonic()
        if not np.isfinite(loss):
            state = _roll_back(run, trainer, state, step, say)
            continue
        step += updates
        record: dict[str, Any] = {
            "step": step,
            "loss": loss,
            "samples": step * config.batch_size,
            "samples_per_second": updates * config.batch_size / (now - begun),
            "p": float(largest_p(config.noise, jnp.int32(step), jnp.float32(config.num_updates))),
            "frames": [frames.first, frames.last],
            "seconds": round(spent + now - started, 2),
        }
        every = config.evaluate_every
        if run.writes and every is not None and step // every > (step - updates) // every:
            network = trainer.averaged(state)
            p = config.noise.p if problem.channels is not None else problem.p
            rows = error_counts(network, problem, config, [p], CHUNK_SHOTS)
            record["evaluation"] = rows
            failures = f"{rows[0]['failures']}/{rows[0]['shots']} fail at p {p}"
        run.log(record)
        left = (config.num_updates - step) * (now - begun) / updates
        if times.minutes is not None:
            left = max(min(left, 60 * times.minutes - (now - started)), 0.0)
            stopped = bool(agreed(now - started > 60 * times.minutes))
        report(
            Progress(
                step,
                config.num_updates,
                loss,
                record["samples_per_second"],
                record["p"],
                _where_losses_are(config, frames),
                record["seconds"],
                left,
                failures,
            )
        )
        interrupted = bool(agreed(stop()))
        stopped = stopped or interrupted
        last = stopped or step == config.num_updates
        if last or now - last_save > times.save_seconds:
            run.save(state, spent + time.monotonic() - started)
            if mirror is not None:
                mirror_run(mirror, state, config, run)
            last_save = time.monotonic()

    seconds = spent + time.monotonic() - started
    if interrupted:
        return _record(config, int(state.step), seconds, finished=False)
    return _finish(config, problem, trainer, state, run, mirror, seconds)


def _known_rates(config: TrainConfig, problem: DecodingProblem) -> tuple[float, ...]:
    """Where to evaluate: training may scale priors that have no formula, a measurement may not."""
    asked = config.evaluate_p or (config.noise.p,)
    return asked if problem.channels is not None else (problem.p,)


def _where_losses_are(config: TrainConfig, frames: FrameRange) -> str:
    """Where the losses of this update are, in words."""
    if config.endings:
        return f"rounds {', '.join(map(str, config.endings))}"
    return f"frames {frames.first}-{frames.last}"


def _current(ranges: list[FrameRange], step: int) -> FrameRange | None:
    return next((frames for frames in ranges if frames.start <= step < frames.stop), None)


def _roll_back(
    run: RunFolder, trainer: Trainer, state: TrainState, step: int, say: Callable[[str], None]
) -> TrainState:
    """The last good state, with other random numbers ahead of it."""
    count = int(state.rollbacks) + 1
    if count > MAX_ROLLBACKS:
        raise TrainingDivergedError(
            f"loss must stay finite: it turned NaN {count} times, last after update {step}. Lower "
            "the learning rate (--set optimizer.learning_rate=...) and start anew."
        )
    good, _, warnings = run.restore(state)
    for warning in warnings:
        say(warning)
    say(
        f"loss is not finite after update {step}: back to update {int(good.step)}, on with other "
        f"random numbers (no. {count} of at most {MAX_ROLLBACKS})"
    )
    return trainer.place(good._replace(rollbacks=jnp.asarray(count, jnp.int32)))


def _record(config: TrainConfig, step: int, seconds: float, *, finished: bool) -> dict[str, Any]:
    return {
        "step": step,
        "samples": step * config.batch_size,
        "seconds": round(seconds, 2),
        "finished": finished,
    }


def _finish(
    config: TrainConfig,
    problem: DecodingProblem,
    trainer: Trainer,
    state: TrainState,
    run: RunFolder,
    mirror: str | Path | None,
    seconds: float,
) -> dict[str, Any]:
    """Evaluates, logs and exports the averaged weights."""
    step = int(state.step)
    record = _record(config, step, seconds, finished=step >= config.num_updates)
    if not run.writes:
        return record
    if config.evaluate_shots:
        stored = trainer.averaged(state, STORED_DTYPE)  # counted is what will be used
        rates = _known_rates(config, problem)
        record["evaluation"] = error_counts(stored, problem, config, rates, config.evaluate_shots)
    run.log(record)
    facts = {
        "samples": record["samples"],
        "updates": record["step"],
        "seconds": record["seconds"],
        "stream": trainer.stream,
        "evaluation": record.get("evaluation", []),
        "evaluated": {"weights": np.dtype(STORED_DTYPE).name, "dtype": config.compute_dtype},
        **{key: run.manifest().get(key) for key in ("device", "commit", "history")},
    }
    for folder in [run.path] if mirror is None else [run.path, mirror]:
        write_final_weights(folder, config, problem, named_arrays(state.average), facts)
    if mirror is not None:
        mirror_run(mirror, state, config, run)
    return record
