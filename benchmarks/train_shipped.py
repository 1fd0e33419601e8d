"""Trains a network like the shipped `bb72-circuit` from scratch: 32 minutes of one H200.

    python benchmarks/train_shipped.py runs/weights

Three runs, each on from the weights of the one before; their settings are in the model's card.
Killed, it goes on where it was.
"""

import subprocess
import sys
from pathlib import Path

import jax

UNMASQ = (sys.executable, "-c", "from unmasq.cli import main; main()")
RECIPE = "bb72-circuit"
ONE_MASK = ("masks_per_shot=1", "translate_masks=false")
TUNE = (
    "stages=[]",
    "noise.ramp=0",
    "optimizer.muon_learning_rate=0.004",
    "optimizer.learning_rate=0.0004",
    "optimizer.flat_until=0.02",
    "optimizer.last=0.005",
)
RUNS = (
    ("num_updates=10677", *ONE_MASK),
    ("num_updates=4500", *ONE_MASK, *TUNE),
    ("num_updates=4398", *TUNE),
)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("error: give one folder for the runs.")
    if jax.default_backend() == "cpu":
        sys.exit("error: JAX must see a GPU: got the CPU alone. On a CPU this takes weeks.")
    before: Path | None = None
    for number, settings in enumerate(RUNS, 1):
        run = Path(sys.argv[1]) / str(number)
        if not (run / f"{RECIPE}.safetensors").exists():
            subprocess.run([*UNMASQ, *words(run, before, settings)], check=True)
        before = run


def words(run: Path, before: Path | None, settings: tuple[str, ...]) -> list[str]:
    """What to ask of `unmasq`: to begin the run, or to go on with it."""
    if run.exists():
        return ["train", "--resume", str(run)]
    start = [] if before is None else ["--init", str(before)]
    return ["train", RECIPE, "--out", str(run), *start, "--set", *settings]


if __name__ == "__main__":
    main()
