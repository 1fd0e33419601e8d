"""The users' first wish: from a circuit file of one's own to a decoder that sinter uses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sinter
import stim

SHOTS = 10_000
SETTINGS = {
    "network.ties": "free",
    "network.width": 32,
    "network.feedforward": 64,
    "network.heads": 4,
    "network.encoder_layers": 1,
    "network.decoder_layers": 1,
    "noise.p": 0.01,
    "num_updates": 500,
    "batch_size": 256,
    "evaluate_p": "[0.01]",
}


def run(folder: Path, program: str, *arguments: str, **environment: str) -> None:
    result = subprocess.run(
        [Path(sys.executable).parent / program, *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.slow
def test_a_surface_code_circuit_becomes_a_decoder_that_sinter_uses(tmp_path, record_property):
    circuit = stim.Circuit.generated(
        "surface_code:rotated_memory_x",
        distance=3,
        rounds=3,
        after_clifford_depolarization=0.01,
        before_measure_flip_probability=0.01,
        after_reset_flip_probability=0.01,
    )
    circuit.to_file(tmp_path / "own.stim")
    run(tmp_path, "unmasq", "problem", "--circuit", "own.stim", "--out", "problem")
    settings = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
    problem = ["--problem", "problem/problem.safetensors"]
    run(tmp_path, "unmasq", "train", "bb18-circuit", *problem, *settings, "--out", "runs/own")
    run(
        tmp_path,
        *("sinter", "collect", "--quiet", "--circuits", "own.stim"),
        *("--decoders", "unmasq", "pymatching", "vacuous"),
        *("--custom_decoders_module_function", "unmasq:sinter_decoders"),
        *("--max_shots", str(SHOTS), "--processes", "2", "--save_resume_filepath", "stats.csv"),
        UNMASQ_MODELS="runs",
    )
    stats = sinter.read_stats_from_csv_files(tmp_path / "stats.csv")
    errors = {stat.decoder: stat.errors for stat in stats}
    record_property("errors in 10,000 shots", errors)
    print(f"errors in {SHOTS} shots: {errors}")
    assert all(stat.shots == SHOTS for stat in stats)
    assert errors["pymatching"] < errors["vacuous"]
    assert errors["unmasq"] < 0.7 * errors["vacuous"]
