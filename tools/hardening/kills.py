"""`kill -9` at random moments over train, evaluate, problem and predict.

Each command runs in a forked process that is killed after a random part of the time it takes. After
every kill its files must be what a whole run left at some moment: nothing half-written under its
own name, nothing counted twice, nothing lost that was there before. A command that ended is
compared with one that was never killed.
"""

import json
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from hardening.judging import Tally
from hardening.sandbox import Sandbox
from hardening.zygote import Order, Zygote
from unmasq.evaluation.failures import read_flags
from unmasq.evaluation.stats_file import read_counts
from unmasq.problems.problem_file import load_problem
from unmasq.training.checkpoint import load_checkpoint
from unmasq.training.run_folder import RunFolder, newest_whole

SHOTS = 3000


class Victim:
    """A command, its files, and what must be true of them after a kill and at the end."""

    def __init__(self, sandbox: Sandbox, name: str):
        self.folder = sandbox.root / "kills" / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.sandbox = sandbox
        self.log = self.folder / "log"

    def words(self) -> list[str]:
        raise NotImplementedError

    def check(self) -> None:
        """After a kill."""

    def finish(self) -> None:
        """After an end with exit code 0: checked, then begun anew."""


class Train(Victim):
    """Resumed until it ends: weights and metrics of an unhurt run."""

    def __init__(self, sandbox: Sandbox):
        super().__init__(sandbox, "train")
        self.run = self.folder / "run"
        self.steps = 0
        reference = sandbox.root / "run"
        self.weights = (reference / "tiny.safetensors").read_bytes()
        self.losses = _losses(reference)

    def words(self) -> list[str]:
        if (self.run / "config.json").exists():
            return ["train", "--resume", str(self.run), "--save-seconds", "0"]
        problem = str(self.sandbox.root / "repetition.safetensors")
        return ["train", "tiny", "--problem", problem, "--out", str(self.run), "--save-seconds=0"]

    def check(self) -> None:
        if not (self.run / "config.json").exists():
            return
        run = RunFolder(self.run)
        run.open()
        _, header, broken = newest_whole(run.checkpoints(), self.run)
        assert not broken, f"a checkpoint is broken: {broken}"
        assert header["step"] >= self.steps, f"update {self.steps} was lost: {header['step']}"
        self.steps = header["step"]
        for manifest in run.checkpoints():
            load_checkpoint(manifest)

    def finish(self) -> None:
        assert (self.run / "tiny.safetensors").read_bytes() == self.weights, "other weights"
        assert _losses(self.run) == self.losses, "other metrics"
        json.loads((self.run / "tiny.json").read_text())
        left = [path.name for path in self.run.glob(".*")]
        shutil.rmtree(self.run)
        self.steps = 0
        assert not left, f"temporary files are left: {left}"


def _losses(run: Path) -> list[tuple[int, float]]:
    return [(r["step"], r["loss"]) for r in RunFolder(run).metrics() if "loss" in r]


class Evaluate(Victim):
    """Counts never fall, never double, and end where those of an unhurt run do."""

    def __init__(self, sandbox: Sandbox):
        super().__init__(sandbox, "evaluate")
        self.csv = self.folder / "stats.csv"
        self.seen = 0
        self.errors: int | None = None

    def words(self) -> list[str]:
        problem = str(self.sandbox.root / "problem.safetensors")
        words = ["evaluate", "--problem", problem, "--decoders", "bposd-xz", "--workers", "1"]
        return [*words, "--max-shots", str(SHOTS), "--save", str(self.csv), "--save-seconds", "0"]

    def check(self) -> None:
        counts = read_counts(self.csv) if self.csv.exists() else []
        shots = sum(c.shots for c in counts)
        assert shots >= self.seen, f"{self.seen} shots were counted, {shots} are left"
        assert len(counts) < 2, "one point became two"
        for found in counts:
            assert found.ranges == ((0, shots),), f"shots are counted twice or lost: {found.ranges}"
            if shots:
                read_flags(self.csv, found)
        self.seen = shots

    def finish(self) -> None:
        self.check()
        (found,) = read_counts(self.csv)
        assert found.shots == SHOTS, f"{found.shots} shots instead of {SHOTS}"
        assert self.errors in (None, found.errors), f"{found.errors} errors, not {self.errors}"
        self.errors = found.errors
        for path in self.folder.glob("stats*"):
            path.unlink()
        self.seen = 0


class Replaced(Victim):
    """A command that replaces files: after a kill each is the old or the new one, whole."""

    def __init__(
        self,
        sandbox: Sandbox,
        zygote: Zygote,
        name: str,
        lines: list[list[str]],
        files: list[str],
    ):
        super().__init__(sandbox, name)
        self.lines = lines
        self.turn = 0
        self.files = [self.folder / file for file in files]
        self.versions: dict[Path, list[bytes]] = {file: [] for file in self.files}
        for _ in lines:
            assert zygote.run(Order(self.words(), self.log)) == [0], self.log.read_text()
            for file in self.files:
                self.versions[file].append(file.read_bytes())
            self.turn += 1

    def words(self) -> list[str]:
        return self.lines[self.turn % len(self.lines)]

    def check(self) -> None:
        for file in self.files:
            assert file.read_bytes() in self.versions[file], f"{file.name} is half-written"
        self.turn += 1

    def finish(self) -> None:
        for file in self.files:
            expected = self.versions[file][self.turn % len(self.lines)]
            assert file.read_bytes() == expected, f"{file.name} is not what was written"
        self.turn += 1


def victims(sandbox: Sandbox, zygote: Zygote) -> dict[str, Callable[[], Victim]]:
    root = sandbox.root

    def problem() -> Victim:
        out = str(root / "kills" / "problem" / "out")
        lines = [["problem", "bb18", "--p", p, "--rounds", "1", "--out", out]
                 for p in ("0.01", "0.02")]  # fmt: skip
        files = ["out/problem.safetensors", "out/circuit.stim", "out/model.dem"]
        victim = Replaced(sandbox, zygote, "problem", lines, files)
        load_problem(victim.files[0])
        return victim

    def predict() -> Victim:
        out = str(root / "kills" / "predict" / "obs")
        words = ["predict", "--decoder", "bposd-xz", "--problem", str(root / "problem.safetensors")]
        words += ["--dets", str(root / "shots.b8"), "--dets_format", "b8", "--obs_out", out]
        lines = [[*words, "--obs_out_format", name] for name in ("01", "dets")]
        return Replaced(sandbox, zygote, "predict", lines, ["obs"])

    return {
        "train": lambda: Train(sandbox),
        "evaluate": lambda: Evaluate(sandbox),
        "problem": problem,
        "predict": predict,
    }


def run_kills(
    sandbox: Sandbox, zygote: Zygote, count: int, seed: int, tally: Tally, only: str | None = None
) -> None:
    """`count` kills, as many for each command; ends in between are counted too."""
    made = victims(sandbox, zygote)
    names = [only] if only else list(made)
    for name in names:
        rng = random.Random(f"{seed} {name}")
        _kill(name, made[name](), zygote, -(-count // len(names)), rng, tally)
        print(f"{name}: {tally.counts[name, 'killed']} kills", file=sys.stderr, flush=True)


def _kill(
    name: str, victim: Victim, zygote: Zygote, count: int, rng: random.Random, tally: Tally
) -> None:
    typical = 2.0  # seconds; then what the last whole run took
    while tally.counts[name, "killed"] < count:
        begun = time.monotonic()
        # One in eight ends by itself, so that runs come to their end now and then.
        seconds = None if rng.random() < 0.125 else rng.uniform(0, typical)
        (code,) = zygote.run(Order(victim.words(), victim.log, seconds))
        tally.record(name, "killed" if code is None else "ended")
        if code == 0 and seconds is None:
            typical = max(time.monotonic() - begun, 0.05)
        try:
            assert code in (None, 0), f"exit code {code}: {victim.log.read_text()[-500:]}"
            victim.check() if code is None else victim.finish()
        except Exception as error:
            tally.find(f"{name}, kill {tally.counts[name, 'killed']}: {error!r}")
            if len(tally.findings) > 20:
                return
