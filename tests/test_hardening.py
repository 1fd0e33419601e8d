"""A slice of `tools/harden.py`: some malformed inputs of every kind, and some kills."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HARDEN = Path(__file__).parents[1] / "tools" / "harden.py"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("inputs", "--count", 72, "--seed", 0), id="inputs"),
        pytest.param(
            ("kills", "--count", 6, "--only", "evaluate"), id="kills", marks=pytest.mark.slow
        ),
    ],
)
def test_nothing_is_found(words, tmp_path, quick_compilation):
    result = subprocess.run(
        [sys.executable, HARDEN, *map(str, words), "--folder", tmp_path],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        env={**quick_compilation, "OMP_NUM_THREADS": "1"},
    )
    assert result.returncode == 0, result.stderr[-3000:]
    record = json.loads(result.stdout)
    assert record["findings"] == 0
    assert sum(record["counts"].values()) >= words[2]
