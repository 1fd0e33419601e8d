"""Decodes numbered shots with several decoders, until each has enough, and keeps the counts.

Shots are counted in order of their numbers, from 0 on, whoever decodes them and however they are
grouped. A point is done after exactly `max_shots` shots, or at the first multiple of `BLOCK_SHOTS`
at which `max_errors` failures are reached. So a run that was killed and resumed any number of
times, on any number of cores, counts the same shots as one that was not, and two decoders have the
shots below the smaller of their counts in common. Only `minutes` makes a result depend on speed.
"""

import collections
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from pathlib import Path

from unmasq.evaluation.contenders import Contender
from unmasq.evaluation.counts import Counts
from unmasq.evaluation.jobs import Bench, Decoded, Job
from unmasq.evaluation.limits import Limits
from unmasq.evaluation.stats_file import StatsFile
from unmasq.evaluation.tally import Tally, Watch
from unmasq.evaluation.workers import ProcessPool, ThisProcess, Workers
from unmasq.problems.problem import DecodingProblem

CPU_BATCH = 64  # shots: larger batches are no faster, and less is saved at a time
ACCELERATOR_BATCH = 8192
MAX_RETRIES = 3  # of a piece whose worker died


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
    with contextlib.nullcontext() if save is None else StatsFile(save) as file:
        tallies = [Tally(job, _limits_of(job, limits), file, write_seconds, watch) for job in jobs]
        _Run(tallies, minutes, workers, batch_shots).run()
        return [tally.counts for tally in tallies]


class _Run:
    """Keeps the workers busy with the tallies of the pool, and runs the others here."""

    def __init__(
        self,
        tallies: Sequence[Tally],
        minutes: float | None,
        workers: int | Callable[[Sequence[Job]], Workers] | None,
        batch_shots: int | None,
    ) -> None:
        everywhere = callable(workers)  # a cluster decodes for all contenders
        self._tallies = tallies
        self._alone = [t for t in tallies if t.job.contender.alone and not everywhere]
        self._pooled = [t for t in tallies if t not in self._alone]
        self._end = None if minutes is None else time.monotonic() + 60 * minutes
        self._make_workers = workers if callable(workers) else _pool_of(workers)
        self._workers: Workers | None = None
        self._running: dict[Future[Decoded], tuple[Tally, int, int]] = {}
        self._deaths: collections.Counter[tuple[str, int]] = collections.Counter()
        # On a CPU the network takes all cores: the pool waits until it is through.
        self._together = _has_accelerator() if self._alone else True
        self._batch_shots = batch_shots
        self._bench: tuple[Tally, Bench] | None = None

    def run(self) -> None:
        """Until all tallies are done. What is counted is written even if this is interrupted."""
        try:
            while not all(tally.done for tally in self._tallies):
                alone = next((tally for tally in self._alone if not tally.done), None)
                if self._together or alone is None:
                    self._fill()
                if alone is not None:
                    self._decode_here(alone)
                self._gather(block=alone is None)
                self._end_late_ones()
        finally:
            for tally in self._tallies:
                tally.write()
            if self._workers is not None:
                self._workers.close()

    def _fill(self) -> None:
        """Gives every worker a piece, and two more to go on with."""
        for tally in self._pooled:
            if tally.done:
                continue
            self._set_deadline(tally)
            while tally.wants_more:
                if self._workers is None:
                    jobs = [t.job for t in self._pooled if not t.done]
                    self._workers = self._make_workers(jobs)
                if len(self._running) >= self._workers.size + 2:
                    return
                self._submit(tally, *tally.take_piece())
                if self._workers.size == 1:
                    return

    def _submit(self, tally: Tally, first: int, stop: int) -> None:
        assert self._workers is not None
        future = self._workers.submit(tally.job.point.strong_id, first, stop)
        self._running[future] = (tally, first, stop)

    def _gather(self, *, block: bool) -> None:
        """Counts the pieces that are finished; decodes again those whose worker died."""
        if not self._running:
            return
        finished, _ = wait(self._running, 0.5 if block else 0.0, FIRST_COMPLETED)
        if not finished and self._workers is not None:
            self._workers.require_alive()
        for future in finished:
            tally, first, stop = self._running.pop(future)
            error = future.exception()
            if error is not None:
                self._decode_again(tally, first, stop, error)
                continue
            decoded = future.result()
            if decoded.strong_id != tally.job.point.strong_id:
                raise ValueError(
                    f"worker must decode {tally.job.point.strong_id[:8]}: "
                    f"got {decoded.strong_id[:8]}."
                )
            tally.add(decoded)

    def _decode_again(self, tally: Tally, first: int, stop: int, error: BaseException) -> None:
        """For a piece whose worker died; any other error ends the run."""
        if not isinstance(error, BrokenExecutor):
            raise error
        if tally.done:
            return
        piece = (tally.job.point.strong_id, first)
        self._deaths[piece] += 1
        if self._deaths[piece] > MAX_RETRIES:
            raise ValueError(
                f"workers must survive {tally.job.contender.name} on shots {first}..{stop - 1}: "
                f"got {self._deaths[piece]} deaths. Is memory short? Use fewer workers."
            )
        self._submit(tally, first, stop)

    def _decode_here(self, tally: Tally) -> None:
        self._set_deadline(tally)
        if tally.late:
            return
        size = self._batch_shots or (ACCELERATOR_BATCH if _has_accelerator() else CPU_BATCH)
        if self._bench is None or self._bench[0] is not tally:
            self._bench = (tally, Bench(tally.job))
            self._bench[1].warm_up(min(size, tally.limits.max_shots))
        first, stop = tally.take(size)
        tally.add(self._bench[1].decode(first, stop))

    def _set_deadline(self, tally: Tally) -> None:
        """An equal share of the time left, from the moment a point gets its turn."""
        if self._end is None or tally.deadline is not None:
            return
        now = time.monotonic()
        lane = self._alone if tally in self._alone else self._pooled
        others = lane if self._together else self._tallies
        waiting = sum(not other.done and other.deadline is None for other in others)
        tally.deadline = now + max(self._end - now, 0.0) / max(waiting, 1)

    def _end_late_ones(self) -> None:
        busy = {id(tally) for tally, _, _ in self._running.values()}
        for tally in self._tallies:
            if not tally.done and tally.late and id(tally) not in busy:
                tally.give_up()


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
