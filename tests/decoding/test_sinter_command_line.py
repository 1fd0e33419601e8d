"""The real `sinter collect` with worker processes, on weights named in UNMASQ_MODELS."""

import os
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import pytest
import sinter

from statistical import assert_rate
from tiny_network import write_tiny_network
from unmasq.building import circuit_from_code, problem_from_code
from unmasq.checkpoint import load_weights, save_weights
from unmasq.codes import get_code
from unmasq.decoding.diffusion_decoder import load

SHOTS = 2000


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """Folder, decoder and counts by name after one run of the command."""
    folder = tmp_path_factory.mktemp("collect")
    code = get_code("bb18")
    circuit_from_code(code, "code-capacity", 0.02).to_file(folder / "p=0.02.stim")
    path = folder / "tiny.safetensors"
    write_tiny_network(path, problem_from_code(code, "code-capacity", 0.02))
    make_cautious(path)
    decoder = load(path)
    names = ["unmasq", f"{decoder.name}-discard", f"{decoder.name}-sampler"]
    collect(folder, names)
    stats = sinter.read_stats_from_csv_files(folder / "stats.csv")
    return folder, decoder, {stat.decoder: stat for stat in stats}


def make_cautious(path: Path) -> None:
    """Moves the log-odds down and apart: the random network is often right, and sometimes sure."""
    weights = load_weights(path)
    head = weights.network.head
    network = eqx.tree_at(
        lambda tree: (tree.head.weight, tree.head.bias),
        weights.network,
        (20 * head.weight, jnp.full(1, -50.0)),
    )
    save_weights(path, network, weights.config, weights.geometry, weights.header)


def collect(folder: Path, names: list[str]) -> None:
    command = [Path(sys.executable).parent / "sinter", "collect", "--quiet"]
    command += ["--circuits", "p=0.02.stim", "--metadata_func", "auto", "--decoders", *names]
    command += ["--custom_decoders_module_function", "unmasq:sinter_decoders"]
    command += ["--max_shots", str(SHOTS), "--processes", "2"]
    command += ["--save_resume_filepath", "stats.csv"]
    result = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "UNMASQ_MODELS": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_name_collects_all_its_shots(collected):
    _, decoder, stats = collected
    assert set(stats) == {"unmasq", f"{decoder.name}-discard", f"{decoder.name}-sampler"}
    for stat in stats.values():
        assert stat.shots == SHOTS
        assert stat.json_metadata == {"p": 0.02}


def test_the_error_rate_is_that_of_the_network(collected):
    folder, decoder, stats = collected
    circuit = circuit_from_code(get_code("bb18"), "code-capacity", 0.02)
    dets, actual = circuit.compile_detector_sampler(seed=3).sample(
        20_000, separate_observables=True
    )
    soft = decoder.decode_soft(dets)
    wrong = (soft.logicals != actual).any(axis=1)
    assert 0.1 < wrong.mean() < 0.9
    assert soft.logicals.any()
    for name in ("unmasq", f"{decoder.name}-sampler"):
        assert_rate(stats[name].errors, SHOTS, wrong.mean())
        assert stats[name].discards == 0
    kept = ~soft.discarded(0.9)
    assert 0.1 < kept.mean() < 0.9
    discarding = stats[f"{decoder.name}-discard"]
    assert_rate(discarding.discards, SHOTS, 1 - kept.mean())
    assert_rate(discarding.errors, SHOTS, (wrong & kept).mean())


def test_a_second_run_finds_nothing_left_to_do(collected):
    folder, decoder, stats = collected
    before = (folder / "stats.csv").read_text()
    collect(folder, ["unmasq"])
    assert (folder / "stats.csv").read_text() == before
