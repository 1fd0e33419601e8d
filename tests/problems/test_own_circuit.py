"""The users' first wish: from a circuit file of one's own to a decoder that sinter uses.

Everything goes through the real commands, as in the README; only the training is cut short.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sinter
import stim
from scipy.stats import hypergeom

from statistical import FALSE_ALARM

P = 0.01
SHOTS = 4000
SHORT = ("network.encoder_layers=1", "network.decoder_layers=1", "evaluate_shots=1024")
LEARNING = ("network.width=32", "network.feedforward=64", "network.message_width=16")
LEARNING += ("num_updates=400",)
TINY = ("network.width=16", "network.feedforward=16", "network.message_width=8", "num_updates=10")


def run(folder: Path, program: str, *words: object, **environment: str) -> str:
    result = subprocess.run(
        [Path(sys.executable).parent / program, *map(str, words)],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def trained(folder: Path, rounds: int, settings: tuple[str, ...], **environment: str) -> Path:
    """Where d3.stim became mine/problem.safetensors, and that a run in runs/."""
    circuit = stim.Circuit.generated(
        "surface_code:rotated_memory_z",
        distance=3,
        rounds=rounds,
        after_clifford_depolarization=P,
        before_round_data_depolarization=P,
        before_measure_flip_probability=P,
        after_reset_flip_probability=P,
    )
    circuit.to_file(folder / "d3.stim")
    run(folder, "unmasq", "problem", "--circuit", "d3.stim", "--out", "mine")
    chosen = [word for setting in (*SHORT, *settings) for word in ("--set", setting)]
    problem = ("--problem", "mine/problem.safetensors")
    words = ("--out", "runs/mine", "--compare-shots", 0)
    run(folder, "unmasq", "train", "own", *problem, *chosen, *words, **environment)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory, quick_compilation) -> Path:
    """Of one round: more of them are a stage more to compile."""
    return trained(tmp_path_factory.mktemp("own"), 1, TINY, **quick_compilation)


def collect(folder: Path, *decoders: str, circuit: str = "d3.stim") -> dict[str, sinter.TaskStats]:
    run(
        folder,
        *("sinter", "collect", "--quiet", "--circuits", circuit, "--decoders", *decoders),
        *("--custom_decoders_module_function", "unmasq:sinter_decoders"),
        *("--max_shots", SHOTS, "--max_batch_size", 256, "--processes", 1),
        *("--save_resume_filepath", "stats.csv"),
        UNMASQ_MODELS="runs",
    )
    stats = sinter.read_stats_from_csv_files(folder / "stats.csv")
    return {stat.decoder: stat for stat in stats}


@pytest.mark.slow
def test_a_decoder_trained_on_an_own_circuit_corrects_in_sinter(tmp_path, record_property):
    """A network no better than no correction passes with probability at most FALSE_ALARM."""
    folder = trained(tmp_path, 3, LEARNING)
    stats = collect(folder, "unmasq", "pymatching", "vacuous")
    errors = {name: stat.errors for name, stat in stats.items()}
    record_property("errors", errors)
    print(f"errors in {SHOTS} shots: {errors}")
    assert all(stat.shots == SHOTS for stat in stats.values())
    # Fisher's exact test: were both rates equal, the errors would fall on either side by chance.
    both = errors["unmasq"] + errors["vacuous"]
    assert hypergeom.cdf(errors["unmasq"], 2 * SHOTS, both, SHOTS) < FALSE_ALARM
    assert errors["unmasq"] < 0.7 * errors["vacuous"]


def test_the_trained_weights_are_known_by_their_name_and_card(folder):
    listed = json.loads(run(folder, "unmasq", "models", "--json", UNMASQ_MODELS="runs"))
    (mine,) = (record for record in listed if not record["shipped"])
    assert mine["name"] == "d3"  # after its circuit
    assert mine["problem"]["name"] == "d3"
    problem = json.loads(
        run(folder, "unmasq", "problem", "--circuit", "d3.stim", "--out", "again", "--json")
    )
    assert mine["structure_id"] == problem["structure_id"]
    card = json.loads((folder / "runs" / "mine" / "d3.json").read_text())
    assert card["model_hash"] == mine["model_hash"]
    assert [row["p"] for row in card["evaluation"]] == [P]


def test_another_circuit_is_refused_with_the_way_out(folder):
    stim.Circuit.generated(
        "surface_code:rotated_memory_x", distance=3, rounds=3, after_clifford_depolarization=P
    ).to_file(folder / "other.stim")
    with pytest.raises(AssertionError, match="unmasq problem --circuit FILE.stim"):
        collect(folder, "unmasq", circuit="other.stim")
