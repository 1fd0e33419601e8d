"""Malformed command lines, run inside this process; files they name stay unharmed."""

import contextlib
import io
import random

from hardening import mutations
from hardening.judging import REFUSED, TAKEN, Finding, Target
from hardening.sandbox import Sandbox
from unmasq.cli import main

LINES = [
    "codes",
    "models",
    "problem bb18 --noise code-capacity --p 0.05 --out scratch/out",
    "problem --circuit circuit.stim --out scratch/out",
    "problem --dem model.dem --out scratch/out --single-frame",
    "predict --decoder bposd-xz --problem problem.safetensors --dets shots.b8 --dets_format b8 "
    "--obs_out scratch/out --obs_out_format 01",
    "predict --model run --dets shots.01 --dets_format 01 --obs_out scratch/out "
    "--obs_out_format b8",
    "evaluate --problem problem.safetensors --decoders bposd-xz --max-shots 4 --workers 1 "
    "--save scratch/out.csv",
    "evaluate --model run --problem repetition.safetensors --max-shots x --minutes 0",
    "train tiny --problem repetition.safetensors --out scratch/out --set batch_size=0 --minutes 0",
    "train --resume nowhere --minutes 0",
    "figures --from nowhere --out scratch/out",
    "bench --problem problem.safetensors --decoders bposd-x --seconds -1",
]
SOME = (
    *[
        "--p",
        "--out",
        "--problem",
        "--model",
        "--steps",
        "--json",
        "--help",
        "-1",
        "0",
        "1e3",
        "nan",
        "x",
        "--",
        "--set",
        "a=b",
        "run",
        "bb18",
    ],
    *[
        "=",
        "problem.safetensors",
        "shots.b8",
        "circuit.stim",
        "--decoders",
        "unmasq",
        "stats.csv",
        "1e308",
    ],
    "",
    "\u00fc",
    "9" * 30,
)


def command_targets(sandbox: Sandbox) -> list[Target]:
    return [Target("command line", lambda rng: command_case(sandbox, rng), 0.5)]


def command_case(sandbox: Sandbox, rng: random.Random) -> str:
    """Exit code 2 and one line, or success; the files beside it stay as they are."""
    words = _mutated(rng, rng.choice(LINES).split())
    code, err = run_line(words)
    line = " ".join(words)
    if code == 2:
        if not err.startswith("error: ") and "\nerror: " not in err:
            raise Finding(f"`{line}` must say what is wrong: got {err[-300:]!r}")
        if err.splitlines()[-1].count("error: ") < 1:
            raise Finding(f"`{line}` must end in one line: got {err[-300:]!r}")
    elif code != 0:
        raise Finding(f"`{line}` must exit with 0 or 2: got {code}, {err[-300:]!r}")
    if sandbox.changed():
        raise Finding(f"`{line}` must leave {sandbox.changed()} alone")
    return REFUSED if code else TAKEN


def run_line(words: list[str]) -> tuple[int, str]:
    """Exit code and stderr of `unmasq WORDS`."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as ending:
            return ending.code if isinstance(ending.code, int) else 1, err.getvalue()
    raise Finding("main must exit")


def _mutated(rng: random.Random, words: list[str]) -> list[str]:
    for _ in range(rng.choice((1, 1, 2, 3))):
        i = rng.randrange(len(words)) if words else 0
        change = rng.randrange(5)
        if change == 0 and words:
            words.pop(i)
        elif change == 1:
            words.insert(i, rng.choice((*words, *SOME)))
        elif change == 2 and words:
            words[i] = rng.choice((*SOME, *mutations.NUMBERS))
        elif change == 3 and words:
            j = rng.randrange(len(words))
            words[i], words[j] = words[j], words[i]
        elif words:
            k = rng.randrange(len(words[i]) + 1)
            words[i] = words[i][:k] + rng.choice("xX1-=,.\x00") + words[i][k + rng.randrange(2) :]
    if "--resume" in words:  # of the valid run it would be a valid command, which writes to it
        words = ["nowhere" if word == "run" else word for word in words]
    return [_harmless(word) for word in words]


def _harmless(word: str) -> str:
    """Inside the sandbox, short, and without commands that take minutes by design."""
    return "x" if word.startswith(("/", "..", "demo")) or "../" in word else word
