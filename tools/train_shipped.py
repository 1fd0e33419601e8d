"""Trains networks like the shipped ones from scratch, with the settings in their cards.

    python tools/train_shipped.py runs/weights                 # all: 110 minutes of one H200
    python tools/train_shipped.py runs/weights bb72-capacity   # one of them: 3 minutes

Where a network has several runs, each goes on from the weights of the one before; a network that
is lifted from another begins with those, which are trained first. Killed, it goes on where it was.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import jax

UNMASQ = (sys.executable, "-c", "from unmasq.cli import main; main()")
ONE_MASK = ("masks_per_shot=1", "translate_masks=false")
TUNE = (
    "stages=[]",
    "noise.ramp=0",
    "optimizer.muon_learning_rate=0.004",
    "optimizer.learning_rate=0.0004",
    "optimizer.flat_until=0.02",
    "optimizer.last=0.005",
)
ON = ("noise.ramp=0", "optimizer.learning_rate=0.0005", "optimizer.flat_until=0.06")
TWO_ENDINGS = ("endings=[6,12]", "batch_size=1024")
RUNS: dict[str, tuple[tuple[str, ...], ...]] = {  # settings of each run, by recipe
    "bb72-circuit": (
        ("num_updates=10677", *ONE_MASK),
        ("num_updates=4500", *ONE_MASK, *TUNE),
        ("num_updates=4398", *TUNE),
    ),
    "bb72-capacity": (("num_updates=3439",),),
    "bb144-capacity": (("num_updates=10568",),),
    "bb72-messages": (
        ("num_updates=6277", "seed=21"),
        ("num_updates=4551", "seed=31", *ON, "optimizer.muon_learning_rate=0.005"),
        (
            *("num_updates=6032", "seed=32", *ON, "optimizer.muon_learning_rate=0.0035"),
            "optimizer.learning_rate=0.00035",
        ),
        (
            *("num_updates=6831", "seed=33", *ON, "optimizer.muon_learning_rate=0.0035"),
            *("optimizer.learning_rate=0.00035", *TWO_ENDINGS),
        ),
        (
            *("num_updates=5964", "seed=35", *ON, "optimizer.muon_learning_rate=0.001"),
            *("optimizer.learning_rate=0.0001", *TWO_ENDINGS),
        ),
    ),
    "bb144-circuit": (
        ("num_updates=2444", "seed=22", "network.bp_iterations=40", "pool_iterations=null"),
        (
            *("num_updates=1800", "seed=23", *ON, "optimizer.muon_learning_rate=0.0025"),
            "optimizer.learning_rate=0.0004",
        ),
    ),
    "bb144-circuit-z": (("num_updates=1512", "seed=41"),),
    "bb72-messages-z": (("num_updates=14180", "seed=42"),),
}
LIFTED_FROM = {  # which network, after how many of its runs
    "bb144-circuit": ("bb72-messages", 1),
    "bb144-circuit-z": ("bb144-circuit", 2),
    "bb72-messages-z": ("bb72-messages", 5),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="for the runs")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(RUNS)}")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(RUNS):
        sys.exit(f"error: NAME must be one of {', '.join(RUNS)}: got {', '.join(sorted(unknown))}.")
    if jax.default_backend() == "cpu":
        sys.exit("error: JAX must see a GPU: got the CPU alone. On a CPU this takes weeks.")
    for name in arguments.names or RUNS:
        train(name, arguments.folder / name)


def train(name: str, folder: Path, runs: int | None = None) -> Path:
    """All runs of a network, or the first, that are not done yet; returns the last one's folder."""
    before: Path | None = None
    if name in LIFTED_FROM:
        other, enough = LIFTED_FROM[name]
        before = train(other, folder.with_name(other), enough)
    for number, settings in enumerate(RUNS[name][:runs], 1):
        run = folder / str(number)
        if not (run / f"{name}.safetensors").exists():
            subprocess.run([*UNMASQ, *words(name, run, before, settings)], check=True)
        before = run
    assert before is not None
    return before


def words(name: str, run: Path, before: Path | None, settings: tuple[str, ...]) -> list[str]:
    """What to ask of `unmasq`: to begin the run, or to go on with it."""
    if run.exists():
        return ["train", "--resume", str(run)]
    start = [] if before is None else ["--init", str(before)]
    return ["train", name, "--out", str(run), *start, "--set", *settings]


if __name__ == "__main__":
    main()
