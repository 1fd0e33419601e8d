"""`unmasq bench` names what it timed, and its numbers are consistent."""

import json

import pytest

from command_line import refusal, run
from tiny_network import write_tiny_network
from unmasq.codes import get_code
from unmasq.problems.building import problem_from_code
from unmasq.problems.problem_file import save_problem


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    problem = problem_from_code(get_code("bb18"), "code-capacity", 0.05)
    save_problem(problem, folder / "problem")
    write_tiny_network(folder / "tiny.safetensors", problem)
    return folder


def test_records_name_device_dtype_and_batch(folder, tmp_path, capsys):
    code, out, err = run(
        capsys, "bench", "--model", folder / "tiny.safetensors", "--problem", folder / "problem",
        "--decoders", "unmasq", "bposd-xz", "bp4-osd10", "--steps", 1, 8, "--threshold", 0.1,
        "--batches", 4, 16, "--seconds", 0.02, "--figure", tmp_path / "latency.png", "--json",
        "--samples",
    )  # fmt: skip
    assert code == 0, err
    record = json.loads(out)
    assert record["problem"] == "bb18"
    assert record["p"] == 0.05
    one, eight, adaptive, bposd, bp4 = record["timings"]
    assert one["decoder"].endswith(",T=1")
    assert (one["mean_steps"], eight["mean_steps"]) == (1, 8)
    assert 1 <= adaptive["mean_steps"] <= 8
    assert adaptive["decoder"].endswith(",tau=0.1")
    assert bposd["decoder"] == "bposd-xz"
    assert bposd["mean_steps"] is None
    assert one["dtype"] == "float32"
    assert "core" in one["device"]
    assert bposd["device"].endswith(", 1 core")
    assert [t["batch"] for t in one["throughput"]] == [4, 16]
    # Shot by shot on one core; side by side, on what the network runs on.
    assert [t["batch"] for t in bposd["throughput"]] == [64]
    assert [t["batch"] for t in bp4["throughput"]] == [4, 16]
    assert bp4["device"] == one["device"]
    for timing in record["timings"]:
        assert timing["compilation_included"] is False
        latency = timing["latency_batch_1"]
        assert 0 < latency["p50_ms"] <= latency["p99_ms"] <= latency["max_ms"]
        assert latency["calls"] >= 20
        kept = latency["microseconds"]
        assert len(kept) == latency["calls"]
        assert 1e-3 * sum(kept) / len(kept) == pytest.approx(latency["mean_ms"], rel=1e-2)
        assert 1e-3 * max(kept) == pytest.approx(latency["max_ms"], rel=1e-2)
    ratios = record["ratios"]
    assert ratios["reference"] == "bposd-xz"
    assert ratios["decoders"]["bposd-xz"] == {"single": 1, "batched": 1}
    means = [t["latency_batch_1"]["mean_ms"] for t in (one, bposd)]
    assert ratios["decoders"][one["decoder"]]["single"] == pytest.approx(means[1] / means[0])
    assert (tmp_path / "latency.png").stat().st_size > 10_000


def test_the_table_says_that_compilation_is_out(folder, capsys):
    code, out, err = run(
        capsys, "bench", "--model", folder / "tiny.safetensors", "--batches", 4,
        "--seconds", 0.01,
    )  # fmt: skip
    assert code == 0, err
    assert "bases X and Z, p = 0.05: batch 1 in ms; compilation and warm-up are not" in out
    assert out.count("unmasq-") == 3  # T = 1, 4 and 8


def test_bad_input_is_one_line(folder, tmp_path, capsys):
    save_problem(problem_from_code(get_code("bb18"), "circuit", 0.003), tmp_path / "circuit")
    model = ("--model", folder / "tiny.safetensors")
    cases = [
        ((), "--model or --problem must be given"),
        ((*model, "--decoders", "bposd"), "Did you mean bposd-x"),
        (
            (*model, "--problem", tmp_path / "circuit"),
            "problem must be one that a model was trained for: got structure",
        ),
        (
            ("--problem", folder / "problem", "--decoders", "bposd-xz", "--batches", 64),
            "--batches must be given with decoder unmasq: got bposd-xz",
        ),
        ((*model, "--p", 0.05, "--batches", 0, "--seconds", 0.01), "--batches must be at least 1"),
    ]
    for words, message in cases:
        assert message in refusal(capsys, "bench", *words), words
