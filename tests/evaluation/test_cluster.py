"""A real Dask cluster on this machine: counts are exact even when a worker is killed."""

import dataclasses
import os
import signal

import pytest

from stub_decoders import MakeStub, stub
from unmasq.codes import get_code
from unmasq.evaluation.cluster import DaskWorkers, cluster_workers
from unmasq.evaluation.collect import collect
from unmasq.evaluation.contenders import Contender
from unmasq.evaluation.counts import Counts
from unmasq.evaluation.limits import Limits
from unmasq.evaluation.stats_file import read_counts
from unmasq.problems.building import problem_from_code

SHOTS = 3000


@pytest.fixture(scope="module")
def problem():
    return problem_from_code(get_code("bb18"), "code-capacity", 0.05)


def test_killing_a_worker_in_the_middle_leaves_the_counts_exact(problem, tmp_path):
    (expected,) = collect([stub()], problem, [0.05], Limits(SHOTS), workers=1)
    running: list[DaskWorkers] = []
    killed: list[int] = []

    def workers(jobs):
        running.append(cluster_workers("local:2")(jobs))
        return running[0]

    def kill_one(counts: Counts, limits: Limits, done: bool) -> None:
        if counts.shots >= SHOTS // 4 and not killed:
            pid = next(iter(running[0].client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    path = tmp_path / "stats.csv"
    slow = stub(seconds=0.002)
    (counts,) = collect(
        [slow], problem, [0.05], Limits(SHOTS), workers=workers, watch=kill_one, save=path
    )
    assert killed
    assert dataclasses.replace(counts, seconds=0.0) == dataclasses.replace(expected, seconds=0.0)
    assert read_counts(path)[0].shots == SHOTS


def test_workers_refuse_other_weights(problem):
    impostor = Contender("stub", MakeStub(model_hash="bbbb"), model_hash="aaaa")
    with pytest.raises(ValueError, match="must have model_hash aaaa .* got bbbb"):
        collect([impostor], problem, [0.05], Limits(10), workers=cluster_workers("local:1"))


def test_a_lost_scheduler_ends_the_run_and_keeps_what_was_counted(problem, tmp_path):
    running: list[DaskWorkers] = []

    def workers(jobs):
        running.append(cluster_workers("local:1")(jobs))
        return running[0]

    def lose(counts: Counts, limits: Limits, done: bool) -> None:
        if counts.shots:
            running[0].client.close()

    path = tmp_path / "stats.csv"
    with pytest.raises(ValueError, match="cluster must stay reachable"):
        collect(
            [stub(seconds=0.01)],
            problem,
            [0.05],
            Limits(SHOTS),
            workers=workers,
            watch=lose,
            save=path,
        )
    assert 0 < read_counts(path)[0].shots < SHOTS


@pytest.mark.parametrize("where", ["local:0", "local:two", "nonsense"])
def test_a_cluster_is_local_or_an_address(where):
    with pytest.raises(ValueError, match=f"cluster must be .* got '{where}'"):
        cluster_workers(where)


def test_no_scheduler_at_the_address_is_an_error(problem, monkeypatch):
    monkeypatch.setattr("unmasq.evaluation.cluster._PATIENCE", 0.5)
    with pytest.raises(ValueError, match="must have a scheduler and a worker at tcp://127"):
        collect(
            [stub()],
            problem,
            [0.05],
            Limits(10),
            workers=cluster_workers("tcp://127.0.0.1:1"),
        )
