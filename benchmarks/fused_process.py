"""Sections of a benchmark as processes that start together and are timed in turn."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time

LONGEST_START = 120  # seconds, to start and to compile


class Child:
    """A section in a process of its own: `script` with `--job` and what the section is told.

    It prints READY when it has compiled what it may, waits for a line, measures and prints. A line
    that begins with BEST and goes on as JSON is kept.
    """

    def __init__(self, script: str, title: str, job: dict, **environment: str):
        self.title = title
        self.stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115 - read when the process has ended
        given = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "PYTHONWARNINGS": "ignore"}
        self.process = subprocess.Popen(
            [sys.executable, script, "--job", json.dumps(job)],
            env={**os.environ, **given, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            text=True,
        )
        self.ready, self.best = threading.Event(), {}
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line == "READY\n":
                self.ready.set()
            elif line.startswith("BEST "):
                self.best = json.loads(line[5:])
            else:
                print(line, end="", flush=True)
        self.ready.set()

    def finish(self, seconds: float) -> None:
        """Gives it its turn, and `seconds` at most."""
        print(f"\n{self.title}", flush=True)
        try:
            assert self.process.stdin is not None
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
            status = self.process.wait(seconds)
        except BrokenPipeError:  # it ended before its turn
            status = self.process.wait()
        except subprocess.TimeoutExpired:
            self.stop()
            status = f"no end after {seconds:.0f} s"
        self.listener.join(10)
        if status != 0:
            self.stderr.seek(0)
            last = [line.strip() for line in self.stderr if line.strip()][-2:]
            print(f"  ended with {status}: {' '.join(last)[-300:]}", flush=True)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def in_turn(children: list[Child], deadline: float) -> None:
    """Once all have compiled what they may: one after the other, none begun after `deadline`."""
    ready_by = min(deadline, time.monotonic() + LONGEST_START)
    for child in children:
        child.ready.wait(max(1.0, ready_by - time.monotonic()))
    for child in children:
        if time.monotonic() > deadline or not child.ready.is_set():
            why = "time is up" if time.monotonic() > deadline else "not ready in time"
            print(f"\n{child.title}\n  left out: {why}", flush=True)
            child.stop()
            continue
        child.finish(max(20.0, deadline + 40 - time.monotonic()))
