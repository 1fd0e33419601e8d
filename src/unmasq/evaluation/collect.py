"""Decodes numbered shots with several decoders, until each has enough, and keeps the counts.

Shots are counted in order of their numbers, from 0 on, whoever decodes them and however they are
grouped. A point is done after exactly `max_shots` shots, or at the first multiple of `BLOCK_SHOTS`
at which `max_errors` failures are reached. So a run that was killed and resumed any number of
times, on any number of cores, counts the same shots as one that was not, and two decoders have the
shots below the smaller of their counts in common. Only `minutes` makes a result depend on speed.
"""

import collections
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from pathlib import Path

import numpy as np

from unmasq.evaluation.contenders import Contender
from unmasq.evaluation.counts import Counts
from unmasq.evaluation.failures import Flags
from unmasq.evaluation.jobs import Bench, Decoded, Job
from unmasq.evaluation.stats_file import StatsFile
from unmasq.evaluation.workers import ProcessPool, ThisProcess, Workers
from unmasq.problems.problem import DecodingProblem

BLOCK_SHOTS = 64
FIRST_PIECE = 16  # shots, before the speed of a decoder is known
PIECE_SECONDS = 8.0  # of work in a piece
CPU_BATCH = 64  # shots: larger batches are no faster, and less is saved at a time
ACCELERATOR_BATCH = 8192
MAX_PIECE = 1024  # shots: a piece stays inside a chunk, which its worker draws whole
MAX_RETRIES = 3  # of a piece whose worker died

Watch = Callable[[Counts, "Limits", bool], None]  # counts so far, limits, whether done


@dataclasses.dataclass(frozen=True)
class Limits:
    """When a point has enough: by shots, by failures, whichever comes first."""

    max_shots: int
    max_errors: int | None = None

    def __post_init__(self) -> None:
        if self.max_shots < 1:
            raise ValueError(f"max_shots must be at least 1: got {self.max_shots}.")
        if self.max_errors is not None and self.max_errors < 1:
            raise ValueError(f"max_errors must be at least 1: got {self.max_errors}.")

    def reached(self, shots: int, errors: int) -> bool:
        """Whether `errors` failures in the first `shots` shots are enough."""
        enough = self.max_errors is not None and errors >= self.max_errors
        return shots >= self.max_shots or (enough and shots % BLOCK_SHOTS == 0)

    def cut(self, shots: int, errors: int, failed: np.ndarray) -> int:
        """How many of the next shots still count, behind `shots` shots with `errors` failures."""
        length = min(len(failed), self.max_shots - shots)
        if self.max_errors is None:
            return length
        totals = errors + np.cumsum(failed[:length])
        at_block_end = (shots + np.arange(1, length + 1)) % BLOCK_SHOTS == 0
        enough = np.flatnonzero(at_block_end & (totals >= self.max_errors))
        return int(enough[0]) + 1 if enough.size else length


def collect(
    contenders: Sequence[Contender],
    problem: DecodingProblem,
    error_rates: Sequence[float],
    limits: Limits | Mapping[str, Limits],
    *,
    minutes: float | None = None,
    save: str | Path | None = None,
    seed: int = 0,
    workers: int | Callable[[Sequence[Job]], Workers] | None = None,
    batch_shots: int | None = None,
    write_seconds: float = 2.0,
    watch: Watch | None = None,
) -> list[Counts]:
    """Counts of every contender at every p, p by p, on common shots.

    `limits` may differ by contender, by its name. `minutes` is for the whole run: each point gets
    an equal share of what is left when its turn comes. `save` resumes the CSV it names, and
    appends a row for a point every `write_seconds` or so. Where p is so low that most syndromes
    repeat, equal ones are decoded once: the same counts, and no times. `workers` is a number of
    processes (all cores by default; 1 is this process), or makes other ones. `batch_shots` is for
    contenders that run alone: 64 shots on a CPU, 8192 on an accelerator.

    A script that uses several processes needs the usual `if __name__ == "__main__":`.
    """
    jobs = [Job(c, problem.at(p), seed) for p in error_rates for c in contenders]
    _require_different(jobs)
    file = StatsFile(save) if save is not None else None
    try:
        tasks = [_Task(job, _limits_of(job, limits), file, write_seconds, watch) for job in jobs]
        _Run(tasks, minutes, workers, batch_shots).run()
        return [task.counts for task in tasks]
    finally:
        if file is not None:
            file.close()


class _Task:
    """A point on its way: what is counted, what is decoded but not yet in order, what is next."""

    def __init__(
        self,
        job: Job,
        limits: Limits,
        file: StatsFile | None,
        write_seconds: float,
        watch: Watch | None,
    ) -> None:
        self.job = job
        self.limits = limits
        self.counts = file.counts(job.point) if file is not None else Counts(job.point)
        self.next_shot = self.counts.next_shot  # the first that nobody works on
        self.deadline: float | None = None
        self._waiting: dict[int, Decoded] = {}  # by first shot
        self._speed: float | None = None  # seconds for a shot
        self._file = file
        self._watch = watch
        self._write_seconds = write_seconds
        self._written_at = time.monotonic()
        self._unwritten: list[Decoded] = []
        self._out_of_time = False
        self._report()

    @property
    def done(self) -> bool:
        return self._out_of_time or self.limits.reached(self.counts.shots, self.counts.errors)

    @property
    def wants_more(self) -> bool:
        return not self.done and not self.late and self.next_shot < self.limits.max_shots

    @property
    def late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def take_piece(self) -> tuple[int, int]:
        """The next shots for a worker: about `PIECE_SECONDS` of work, less when time is short."""
        size = FIRST_PIECE
        if self._speed is not None:
            seconds = PIECE_SECONDS
            if self.deadline is not None:
                seconds = min(seconds, (self.deadline - time.monotonic()) / 4)
            wanted = max(seconds / max(self._speed, 1e-9), 8)
            size = min(MAX_PIECE, 2 ** int(np.log2(wanted)))
        return self.take(min(size, MAX_PIECE - self.next_shot % MAX_PIECE))

    def take(self, size: int) -> tuple[int, int]:
        first = self.next_shot
        self.next_shot = min(first + size, self.limits.max_shots)
        return first, self.next_shot

    def add(self, decoded: Decoded) -> None:
        """Counts the shots as soon as all before them are counted."""
        self._speed = decoded.seconds / len(decoded.wrong)
        self._waiting[decoded.first_shot] = decoded
        while not self.done and self.counts.shots in self._waiting:
            self._count(self._waiting.pop(self.counts.shots))
        if self.done or time.monotonic() - self._written_at >= self._write_seconds:
            self.write()
        self._report()

    def give_up(self) -> None:
        """Ends a point whose time is up and whose last piece is in."""
        self._out_of_time = True
        self.write()
        self._report()

    def write(self) -> None:
        """Appends what was counted since the last row."""
        self._written_at = time.monotonic()
        if not self._unwritten or self._file is None:
            return
        pieces, self._unwritten = self._unwritten, []
        wrong = np.concatenate([piece.wrong for piece in pieces])
        discarded = np.concatenate([piece.discarded for piece in pieces])
        seconds = sum(piece.seconds for piece in pieces)
        counts = Counts.of(self.job.point, pieces[0].first_shot, wrong, discarded, seconds)
        self._file.append(counts, Flags(wrong.any(axis=1) & ~discarded, discarded))

    def _count(self, decoded: Decoded) -> None:
        failed = decoded.wrong.any(axis=1) & ~decoded.discarded
        length = self.limits.cut(self.counts.shots, self.counts.errors, failed)
        decoded = decoded._replace(
            wrong=decoded.wrong[:length], discarded=decoded.discarded[:length]
        )
        if self._file is not None:
            self._unwritten.append(decoded)
        self.counts += Counts.of(
            self.job.point, decoded.first_shot, decoded.wrong, decoded.discarded, decoded.seconds
        )

    def _report(self) -> None:
        if self._watch is not None:
            self._watch(self.counts, self.limits, self.done)


class _Run:
    """Keeps the workers busy with the tasks of the pool, and runs the others here."""

    def __init__(
        self,
        tasks: Sequence[_Task],
        minutes: float | None,
        workers: int | Callable[[Sequence[Job]], Workers] | None,
        batch_shots: int | None,
    ) -> None:
        everywhere = callable(workers)  # a cluster decodes for all contenders
        self._tasks = tasks
        self._alone = [t for t in tasks if t.job.contender.alone and not everywhere]
        self._pooled = [t for t in tasks if t not in self._alone]
        self._end = None if minutes is None else time.monotonic() + 60 * minutes
        self._make_workers = workers if callable(workers) else _pool_of(workers)
        self._workers: Workers | None = None
        self._running: dict[Future[Decoded], tuple[_Task, int, int]] = {}
        self._deaths: collections.Counter[tuple[str, int]] = collections.Counter()
        # On a CPU the network takes all cores: the pool waits until it is through.
        self._together = _has_accelerator() if self._alone else True
        self._batch_shots = batch_shots
        self._bench: tuple[_Task, Bench] | None = None

    def run(self) -> None:
        """Until all tasks are done. What is counted is written even if this is interrupted."""
        try:
            while not all(task.done for task in self._tasks):
                alone = next((task for task in self._alone if not task.done), None)
                if self._together or alone is None:
                    self._fill()
                if alone is not None:
                    self._decode_here(alone)
                self._gather(block=alone is None)
                self._end_late_ones()
        finally:
            for task in self._tasks:
                task.write()
            if self._workers is not None:
                self._workers.close()

    def _fill(self) -> None:
        """Gives every worker a piece, and two more to go on with."""
        for task in self._pooled:
            if task.done:
                continue
            self._set_deadline(task)
            while task.wants_more:
                if self._workers is None:
                    jobs = [t.job for t in self._pooled if not t.done]
                    self._workers = self._make_workers(jobs)
                if len(self._running) >= self._workers.size + 2:
                    return
                self._submit(task, *task.take_piece())
                if self._workers.size == 1:
                    return

    def _submit(self, task: _Task, first: int, stop: int) -> None:
        assert self._workers is not None
        future = self._workers.submit(task.job.point.strong_id, first, stop)
        self._running[future] = (task, first, stop)

    def _gather(self, *, block: bool) -> None:
        """Counts the pieces that are finished; decodes again those whose worker died."""
        if not self._running:
            return
        finished, _ = wait(self._running, 0.5 if block else 0.0, FIRST_COMPLETED)
        if not finished and self._workers is not None:
            self._workers.require_alive()
        for future in finished:
            task, first, stop = self._running.pop(future)
            error = future.exception()
            if error is not None:
                self._decode_again(task, first, stop, error)
                continue
            decoded = future.result()
            if decoded.strong_id != task.job.point.strong_id:
                raise ValueError(
                    f"worker must decode {task.job.point.strong_id[:8]}: "
                    f"got {decoded.strong_id[:8]}."
                )
            task.add(decoded)

    def _decode_again(self, task: _Task, first: int, stop: int, error: BaseException) -> None:
        """For a piece whose worker died; any other error ends the run."""
        if not isinstance(error, BrokenExecutor):
            raise error
        if task.done:
            return
        piece = (task.job.point.strong_id, first)
        self._deaths[piece] += 1
        if self._deaths[piece] > MAX_RETRIES:
            raise ValueError(
                f"workers must survive {task.job.contender.name} on shots {first}..{stop - 1}: "
                f"got {self._deaths[piece]} deaths. Is memory short? Use fewer workers."
            )
        self._submit(task, first, stop)

    def _decode_here(self, task: _Task) -> None:
        self._set_deadline(task)
        if task.late:
            return
        size = self._batch_shots or (ACCELERATOR_BATCH if _has_accelerator() else CPU_BATCH)
        if self._bench is None or self._bench[0] is not task:
            self._bench = (task, Bench(task.job))
            self._bench[1].warm_up(min(size, task.limits.max_shots))
        first, stop = task.take(size)
        task.add(self._bench[1].decode(first, stop))

    def _set_deadline(self, task: _Task) -> None:
        """An equal share of the time left, from the moment a task gets its turn."""
        if self._end is None or task.deadline is not None:
            return
        now = time.monotonic()
        lane = self._alone if task in self._alone else self._pooled
        others = lane if self._together else self._tasks
        waiting = sum(not other.done and other.deadline is None for other in others)
        task.deadline = now + max(self._end - now, 0.0) / max(waiting, 1)

    def _end_late_ones(self) -> None:
        busy = {id(task) for task, _, _ in self._running.values()}
        for task in self._tasks:
            if not task.done and task.late and id(task) not in busy:
                task.give_up()


def _pool_of(size: int | None) -> Callable[[Sequence[Job]], Workers]:
    if size is not None and size < 1:
        raise ValueError(f"workers must be at least 1: got {size}.")
    return lambda jobs: ThisProcess(jobs) if size == 1 else ProcessPool(jobs, size)


def _has_accelerator() -> bool:
    import jax

    return jax.default_backend() != "cpu"


def _limits_of(job: Job, limits: Limits | Mapping[str, Limits]) -> Limits:
    return limits if isinstance(limits, Limits) else limits[job.contender.name]


def _require_different(jobs: Sequence[Job]) -> None:
    seen: set[str] = set()
    for job in jobs:
        if job.point.strong_id in seen:
            raise ValueError(
                f"decoders and p must not repeat: got {job.contender.name} at p = "
                f"{job.problem.p} twice."
            )
        seen.add(job.point.strong_id)
