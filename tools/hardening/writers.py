"""Two and four writers on one CSV, files that may not grow, and folders without rights."""

import os
import shutil
import sys

from hardening.judging import Tally
from hardening.sandbox import Sandbox
from hardening.zygote import Order, Zygote
from unmasq.evaluation.stats_file import read_counts

NOBODY = 65534
SHOTS = 400


def _evaluate(sandbox: Sandbox, csv: object, shots: int = SHOTS) -> list[str]:
    problem = str(sandbox.root / "problem.safetensors")
    words = ["evaluate", "--problem", problem, "--decoders", "bposd-xz", "--workers", "1"]
    return [*words, "--max-shots", str(shots), "--save", str(csv), "--save-seconds", "0"]


def run_writers(sandbox: Sandbox, zygote: Zygote, count: int, tally: Tally) -> None:
    """So many times each: one of them writes, the others are refused, and no shot counts twice."""
    folder = sandbox.root / "writers"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for number in (2, 4):
        errors = set()
        for attempt in range(count):
            csv = folder / f"{number}-{attempt}.csv"
            words = _evaluate(sandbox, csv)
            logs = [folder / f"{number}-{attempt}-{i}.log" for i in range(number)]
            codes = zygote.run(*(Order(words, log) for log in logs))
            refused = [log for log, code in zip(logs, codes, strict=True) if code == 2]
            what = f"{number} writers, attempt {attempt}"
            if set(codes) - {0, 2} or 0 not in codes:
                tally.find(f"{what}: exit codes {codes}: {logs[0].read_text()[-300:]}")
            for log in refused:
                if "must have one writer" not in log.read_text():
                    tally.find(f"{what}: {log.read_text()[-300:]}")
            (counts,) = read_counts(csv)
            errors.add(counts.errors)
            if counts.ranges != ((0, SHOTS),) or len(errors) != 1:
                tally.find(f"{what}: {counts.shots} shots, {counts.ranges}, errors {errors}")
            tally.record(f"{number} writers", f"{len(refused)} refused")
    print("writers: done", file=sys.stderr, flush=True)


def run_disks(sandbox: Sandbox, zygote: Zygote, count: int, tally: Tally) -> None:
    """A limit on the size of files, and a user without rights: one line, and the old files stay."""
    folder = sandbox.root / "disks"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    root = sandbox.root
    csv, obs, out, run = (folder / name for name in ("stats.csv", "obs", "out", "run"))
    lines = {
        "evaluate": _evaluate(sandbox, csv),
        "problem": ["problem", "bb18", "--p", "0.01", "--rounds", "1", "--out", str(out)],
        "train": ["train", "tiny", "--problem", str(root / "repetition.safetensors"), "--out",
                  str(run), "--save-seconds", "0"],
        "predict": ["predict", "--decoder", "bposd-xz", "--problem",
                    str(root / "problem.safetensors"), "--dets", str(root / "shots.b8"),
                    "--dets_format", "b8", "--obs_out", str(obs), "--obs_out_format", "01"],
    }  # fmt: skip
    log = sandbox.scratch / "log"
    for name, words in lines.items():
        for attempt in range(count):
            size = attempt * 8192 // max(count, 1)
            before = _whole(folder)
            (code,) = zygote.run(Order(words, log, file_bytes=size))
            said = log.read_text()
            if code not in (0, 2) or "Traceback" in said:
                tally.find(f"{name}, files of {size} bytes: exit code {code}, {said[-400:]}")
            lost = [path for path, data in before.items() if not _kept(path, data)]
            if lost:
                tally.find(f"{name}, files of {size} bytes: {lost} changed")
            tally.record(f"{name}, full disk", "refused" if code else "ended")
        if os.geteuid() == 0:
            _without_rights(sandbox, zygote, name, words, tally)
    print("disks: done", file=sys.stderr, flush=True)


def _without_rights(
    sandbox: Sandbox, zygote: Zygote, name: str, words: list[str], tally: Tally
) -> None:
    folder = sandbox.root / "disks"
    log = sandbox.scratch / "log"
    shutil.rmtree(folder)
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    (code,) = zygote.run(Order(words, log, powerless=True))
    said = log.read_text()
    os.chown(folder, 0, 0)
    last = said.splitlines()[-1] if said else ""
    if code != 2 or "ermission denied" not in last or not last.startswith("error: "):
        tally.find(f"{name}, no rights: exit code {code}, {said[-400:]}")
    tally.record(f"{name}, no rights", "refused")


def _whole(folder) -> dict:
    return {path: path.read_bytes() for path in folder.rglob("*.safetensors")}


def _kept(path, data: bytes) -> bool:
    return path.exists() and path.read_bytes() == data
