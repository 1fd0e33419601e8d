"""Where pieces of shots are decoded: in this process, or in one process for each core.

The Dask cluster of `unmasq.evaluation.cluster` is a third place with the same interface.
"""

import concurrent.futures
import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from multiprocessing.connection import Connection
from typing import Protocol

from unmasq.evaluation.jobs import Decoded, Job, decode_piece, set_up_worker

# For processes that share the cores among them: one thread each, and no hand on the accelerator.
ONE_CORE = {
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


class Workers(Protocol):
    """Decodes pieces, as many at a time as `size`.

    The piece of a worker that died raises `BrokenExecutor`, and may be submitted again.
    """

    @property
    def size(self) -> int: ...

    def submit(self, strong_id: str, first: int, stop: int) -> "Future[Decoded]":
        """Starts on shots first <= i < stop of a job."""
        ...

    def require_alive(self) -> None:
        """Refuses to wait for pieces that can no longer come back."""
        ...

    def close(self) -> None:
        """Stops all work."""
        ...


class ThisProcess:
    """Decodes at once, in the calling process."""

    size = 1

    def __init__(self, jobs: Sequence[Job]) -> None:
        set_up_worker(jobs)

    def submit(self, strong_id: str, first: int, stop: int) -> "Future[Decoded]":
        future: Future[Decoded] = Future()
        try:
            future.set_result(decode_piece(strong_id, first, stop))
        except Exception as error:
            future.set_exception(error)
        return future

    def require_alive(self) -> None:
        """Nothing is ever under way."""

    def close(self) -> None:
        """Nothing runs on."""


class ProcessPool:
    """Spawned processes of one thread each; every one builds its decoder once.

    They hold the reading end of a pipe that only this process can write to: when it closes, by
    `close` or because this process was killed, they end at once, whatever they are doing.
    """

    def __init__(self, jobs: Sequence[Job], size: int | None = None) -> None:
        self.size = size or available_cores()
        self._jobs = tuple(jobs)
        self._start()

    def submit(self, strong_id: str, first: int, stop: int) -> "Future[Decoded]":
        with environment(ONE_CORE):  # processes start here
            try:
                return self._pool.submit(decode_piece, strong_id, first, stop)
            except BrokenExecutor:
                # One process that dies takes the pool with it.
                self.close()
                self._start()
                return self._pool.submit(decode_piece, strong_id, first, stop)

    def require_alive(self) -> None:
        """Every piece comes back, with an error if need be."""

    def close(self) -> None:
        self._lifeline.close()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        reader, self._lifeline = context.Pipe(duplex=False)
        self._pool = concurrent.futures.ProcessPoolExecutor(
            self.size, context, initializer=_begin, initargs=(self._jobs, reader)
        )


def available_cores() -> int:
    """The cores this process may use, which may be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def environment(settings: dict[str, str]) -> Iterator[None]:
    """Sets variables for processes that start inside; numerical libraries read them on import."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _begin(jobs: Sequence[Job], lifeline: Connection) -> None:
    """First thing in a worker: lives and dies with the run, which alone hears Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    set_up_worker(jobs)


def _end_with(lifeline: Connection) -> None:
    lifeline.poll(None)  # returns when the other end closes: nothing is ever sent
    os._exit(1)
