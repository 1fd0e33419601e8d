"""Workers on a Dask cluster: one started here (`local:N`), or a scheduler that runs elsewhere.

A site brings its own Dask deployment (Slurm, Kubernetes, SSH) and gives the scheduler's address.
Pieces are independent: Dask decodes those of a worker that died on another one, and the run counts
each piece once. A worker learns the jobs when it joins, and refuses other weights than they name.
Workers need unmasq of the same version, and models under the same names or paths.
"""

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future
from importlib.metadata import version
from typing import Any

try:
    import distributed
except ImportError as error:
    raise ImportError(
        f"cluster must have Dask installed: got {error}. Run pip install 'unmasq[cluster]'."
    ) from error

from unmasq.evaluation.jobs import Decoded, Job, decode_piece, set_up_worker
from unmasq.evaluation.workers import ONE_CORE, Workers

_PATIENCE = 30  # seconds to find a scheduler, and its first worker


def cluster_workers(where: str) -> Callable[[Sequence[Job]], Workers]:
    """For `collect(workers=...)`: 'local:4', or an address such as 'tcp://host:8786'."""
    if where.startswith("local:"):
        count = where.removeprefix("local:")
        if not count.isdigit() or int(count) < 1:
            raise ValueError(f"cluster must be local:N with N at least 1: got '{where}'.")
    elif ":" not in where:
        raise ValueError(
            f"cluster must be local:N or a scheduler's address, host:port: got '{where}'."
        )
    return functools.partial(DaskWorkers, where=where)


class DaskWorkers:
    """Decodes pieces on all workers of a cluster, including those that join later."""

    def __init__(self, jobs: Sequence[Job], where: str) -> None:
        self._cluster = None
        address: Any = where
        if where.startswith("local:"):
            self._cluster = address = distributed.LocalCluster(
                n_workers=int(where.removeprefix("local:")),
                threads_per_worker=1,
                dashboard_address=":0",
                env=ONE_CORE,
            )
        try:
            self.client = distributed.Client(address, timeout=_PATIENCE)
            self.client.wait_for_workers(1, timeout=_PATIENCE)
        except (TimeoutError, OSError) as error:
            raise ValueError(
                f"cluster must have a scheduler and a worker at {where}: found none within "
                f"{_PATIENCE} seconds. Is the address right?"
            ) from error
        self._name = f"unmasq-{id(self)}"
        self.client.register_plugin(JobsPlugin(jobs), name=self._name)
        self._executor = self.client.get_executor(pure=False)

    @property
    def size(self) -> int:
        """Threads of all workers that are there now."""
        self.require_alive()
        return max(sum(self.client.nthreads().values()), 1)

    def submit(self, strong_id: str, first: int, stop: int) -> "Future[Decoded]":
        self.require_alive()
        future: Future[Decoded] = Future()
        future.set_running_or_notify_cancel()

        def hand_over(finished: "Future[Decoded]") -> None:
            try:
                future.set_result(finished.result())
            except (distributed.KilledWorker, CancelledError) as error:
                future.set_exception(BrokenExecutor(str(error)))
            except Exception as error:
                future.set_exception(error)

        self._executor.submit(decode_piece, strong_id, first, stop).add_done_callback(hand_over)
        return future

    def require_alive(self) -> None:
        """A lost scheduler loses the pieces under way; Dask tries to reconnect for a while."""
        if self.client.status == "closed":
            raise ValueError(
                "cluster must stay reachable: its scheduler was lost. What was counted is saved; "
                "run the same command again to go on."
            )

    def close(self) -> None:
        if self.client.status == "running":
            self._executor.shutdown(wait=False)
            self.client.unregister_worker_plugin(self._name)
        self.client.close()
        if self._cluster is not None:
            self._cluster.close()


class JobsPlugin(distributed.WorkerPlugin):
    """Tells a worker its jobs, when the run begins or when the worker joins."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = tuple(jobs)
        self.version = version("unmasq")

    def setup(self, worker: Any) -> None:
        """Runs in the worker."""
        if version("unmasq") != self.version:
            raise ValueError(f"workers must have unmasq {self.version}: got {version('unmasq')}.")
        set_up_worker(self.jobs)
