"""The real `sinter collect` with worker processes, on weights named in UNMASQ_MODELS."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import numpy as np
import pytest
import sinter

from statistical import assert_rate
from tiny_network import write_tiny_network
from unmasq.codes import get_code
from unmasq.decoding.diffusion_decoder import DiffusionDecoder, load
from unmasq.models.weights import load_weights, save_weights
from unmasq.problems.building import circuit_from_code, problem_from_code

SHOTS = 2000
CIRCUIT = circuit_from_code(get_code("bb18"), "code-capacity", 0.02)


@dataclasses.dataclass(frozen=True)
class Collected:
    """What one run of the command left behind."""

    folder: Path
    decoder: DiffusionDecoder
    below: float  # confidence under which shots are discarded
    stats: dict[str, sinter.TaskStats]


@pytest.fixture(scope="module")
def collected(tmp_path_factory, quick_compilation) -> Collected:
    folder = tmp_path_factory.mktemp("collect")
    CIRCUIT.to_file(folder / "p=0.02.stim")
    path = folder / "tiny.safetensors"
    write_tiny_network(path, problem_from_code(get_code("bb18"), "code-capacity", 0.02))
    make_cautious(path)
    decoder = load(path)
    dets = CIRCUIT.compile_detector_sampler(seed=1).sample(500)
    below = middle_gap(decoder.decode_soft(dets).confidence)
    (folder / "own_choice.py").write_text(
        "import unmasq\n\n\n"
        f"def decoders():\n    return unmasq.sinter_decoders(discard_below={below!r})\n"
    )
    names = ["unmasq", discarding(decoder, below), f"{decoder.name}-sampler"]
    collect(folder, names, quick_compilation)
    stats = sinter.read_stats_from_csv_files(folder / "stats.csv")
    return Collected(folder, decoder, below, {stat.decoder: stat for stat in stats})


def make_cautious(path: Path) -> None:
    """Lowers all log-odds: a random network that mostly predicts no flips is often right."""
    weights = load_weights(path)
    bias = weights.network.head.bias - 6
    network = eqx.tree_at(lambda tree: tree.head.bias, weights.network, bias)
    save_weights(path, network, weights.config, weights.geometry, weights.header)


def middle_gap(values: np.ndarray) -> float:
    """A number with about as many values below as above, and none near it."""
    levels = np.unique(values.round(5))
    gaps = (levels[:-1] + levels[1:]) / 2
    return float(gaps[np.abs((values[None, :] < gaps[:, None]).mean(axis=1) - 0.5).argmin()])


def discarding(decoder: DiffusionDecoder, below: float) -> str:
    return f"{decoder.name}-discard{below:g}"


def collect(folder: Path, names: list[str], environment: dict[str, str]) -> None:
    command = [Path(sys.executable).parent / "sinter", "collect", "--quiet"]
    command += ["--circuits", "p=0.02.stim", "--metadata_func", "auto", "--decoders", *names]
    command += ["--custom_decoders_module_function", "unmasq:sinter_decoders"]
    command += ["own_choice:decoders", "--max_shots", str(SHOTS), "--processes", "2"]
    command += ["--save_resume_filepath", "stats.csv"]
    result = subprocess.run(
        command,
        cwd=folder,
        env={
            **environment,
            "UNMASQ_MODELS": str(folder),
            "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_name_collects_all_its_shots(collected):
    name = collected.decoder.name
    names = {"unmasq", discarding(collected.decoder, collected.below), f"{name}-sampler"}
    assert set(collected.stats) == names
    for stat in collected.stats.values():
        assert stat.shots == SHOTS
        assert stat.json_metadata == {"p": 0.02}


def test_the_error_rate_is_that_of_the_network(collected):
    stats, decoder = collected.stats, collected.decoder
    dets, actual = CIRCUIT.compile_detector_sampler(seed=3).sample(
        20_000, separate_observables=True
    )
    soft = decoder.decode_soft(dets)
    wrong = (soft.logicals != actual).any(axis=1)
    assert 0.1 < wrong.mean() < 0.9
    for name in ("unmasq", f"{decoder.name}-sampler"):
        assert_rate(stats[name].errors, SHOTS, wrong.mean())
        assert stats[name].discards == 0
    kept = ~soft.discarded(collected.below)
    assert 0.1 < kept.mean() < 0.9
    unsure = stats[discarding(decoder, collected.below)]
    assert_rate(unsure.discards, SHOTS, 1 - kept.mean())
    assert_rate(unsure.errors, SHOTS, (wrong & kept).mean())


def test_a_second_run_finds_nothing_left_to_do(collected, quick_compilation):
    before = (collected.folder / "stats.csv").read_text()
    collect(collected.folder, ["unmasq"], quick_compilation)
    assert (collected.folder / "stats.csv").read_text() == before
