"""`import unmasq` and `unmasq --help` answer at once: jax and stim load when needed."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT = 0.5  # seconds
UNMASQ = str(Path(sys.executable).parent / "unmasq")


def run(command: list[str]) -> str:
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def seconds(command: list[str]) -> float:
    """Processor time of one run: what the clock shows on a machine with nothing else to do."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize(
    "command",
    [[sys.executable, "-c", "import unmasq"], [UNMASQ, "--help"]],
    ids=["import", "help"],
)
def test_starts_within_the_limit(command):
    best = min(seconds(command) for _ in range(3))
    assert best < LIMIT, f"{best:.2f} s of processor time"


@pytest.mark.parametrize("module", ["unmasq", "unmasq.cli"])
def test_importing_loads_no_heavy_package(module):
    program = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    loaded = set(json.loads(run([sys.executable, "-c", program])))
    assert module in loaded
    assert not loaded & {"jax", "equinox", "stim", "sinter", "ldpc", "matplotlib"}
