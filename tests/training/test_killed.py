"""`kill -9` at random moments: every resume goes on, and the end is that of an unhurt run."""

import dataclasses
import random
import signal
import subprocess
import time

import pytest

from tiny_runs import TINY, repetition_problem, train_command
from unmasq.problems.problem_file import save_problem
from unmasq.training.checkpoint import load_checkpoint
from unmasq.training.run_folder import RunFolder

UPDATES, PER_CALL = 400, 4
CONFIG = dataclasses.replace(
    TINY, num_updates=UPDATES, updates_per_call=PER_CALL, evaluate_every=100
)


def metrics_of(folder):
    times = ("seconds", "samples_per_second")
    return [{k: v for k, v in r.items() if k not in times} for r in RunFolder(folder).metrics()]


class Runs:
    """Starts the command line and kills it."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.problem = folder / "problem.safetensors"
        save_problem(repetition_problem(), self.problem)
        self._environment = environment

    def start(self, out):
        """A new run, or the same run on."""
        words = ["tiny", "--problem", self.problem, "--out", out]
        if (out / "config.json").exists():
            words = ["--resume", out]
        return subprocess.Popen(
            train_command(CONFIG, *words, "--save-seconds=0"),
            env=self._environment,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, out):
        process = self.start(out)
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said


def last_step(out):
    return max((r["step"] for r in RunFolder(out).metrics()), default=0)


def kill_later(process, out, updates, seconds):
    """Kills when so many more updates are in the metrics, and so much more time has passed."""
    target = last_step(out) + updates
    while process.poll() is None and last_step(out) < target:
        time.sleep(0.001)
    time.sleep(seconds)
    process.kill()
    _, said = process.communicate()
    assert process.returncode == -signal.SIGKILL, said


@pytest.fixture(scope="module")
def runs(tmp_path_factory, quick_compilation):
    return Runs(tmp_path_factory.mktemp("runs"), quick_compilation)


@pytest.fixture(scope="module")
def unhurt(runs):
    # By the same command: this process may have compiled the update with other settings.
    out = runs.folder / "unhurt"
    runs.finish(out)
    return out


def assert_same(out, unhurt):
    assert metrics_of(out) == metrics_of(unhurt)
    steps = [r["step"] for r in metrics_of(out) if "loss" in r]
    assert steps == list(range(PER_CALL, UPDATES + 1, PER_CALL))
    first, second = (load_checkpoint(RunFolder(path).checkpoints()[0])[0] for path in (out, unhurt))
    assert first.keys() == second.keys()
    assert all(first[name].tobytes() == second[name].tobytes() for name in first)
    weights = [(path / "tiny.safetensors").read_bytes() for path in (out, unhurt)]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_kills_while_it_trains_change_nothing(runs, unhurt, kills):
    out = runs.folder / f"killed-{kills}"
    moments = random.Random(kills)
    for _ in range(kills):
        updates = moments.randrange(1, UPDATES // (kills + 1))
        kill_later(runs.start(out), out, updates, seconds=moments.uniform(0, 0.02))
    runs.finish(out)
    assert_same(out, unhurt)


@pytest.mark.slow
def test_kills_before_the_first_update_change_nothing(runs, unhurt):
    """Some fall before the folder is a run: then it begins again."""
    out = runs.folder / "early"
    for seconds in (0.5, 1.0, 1.3, 1.5, 1.7, 1.9, 2.1, 2.3, 2.5, 3.0, 4.0, 5.0):
        process = runs.start(out)
        time.sleep(seconds)
        process.kill()
        process.communicate()
    runs.finish(out)
    assert_same(out, unhurt)
