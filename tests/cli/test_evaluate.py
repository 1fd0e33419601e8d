"""`unmasq evaluate` from the command line to the CSV, through crashes and bad input."""

import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sinter

from command_line import refusal, run
from tiny_network import write_tiny_network
from unmasq.codes import get_code
from unmasq.evaluation.failures import read_flags
from unmasq.evaluation.stats_file import StatsFile, read_counts
from unmasq.problems.building import problem_from_code
from unmasq.problems.problem_file import save_problem

UNMASQ = Path(sys.executable).parent / "unmasq"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A problem file of code capacity on bb18, and two untrained networks for it."""
    folder = tmp_path_factory.mktemp("evaluate")
    problem = problem_from_code(get_code("bb18"), "code-capacity", 0.05)
    save_problem(problem, folder / "problem")
    write_tiny_network(folder / "tiny.safetensors", problem)
    write_tiny_network(folder / "other.safetensors", problem, seed=1)
    return folder


def test_network_and_baseline_end_in_one_csv_and_one_table(folder, tmp_path, capsys):
    save = tmp_path / "stats.csv"
    code, out, err = run(
        capsys, "evaluate", "--model", folder / "tiny.safetensors", "--p", 0.02, 0.05, "--decoders",
        "unmasq", "bposd-xz", "--max-shots", 200, "bposd-xz=100", "--workers", 1, "--save", save,
        "--figure", tmp_path / "rates.png",
    )  # fmt: skip
    assert code == 0, err
    assert "[[18,4,4]], code-capacity noise, bases X and Z" in out
    assert "bposd-xz" in out
    assert "only A fails" in out
    assert (tmp_path / "rates.png").stat().st_size > 10_000
    counts = read_counts(save)
    assert [(c.point.p, c.point.decoder[:7], c.shots) for c in counts] == [
        (0.02, "unmasq-", 200),
        (0.05, "unmasq-", 200),
        (0.02, "bposd-x", 100),
        (0.05, "bposd-x", 100),
    ]
    assert counts[0].point.dtype == "float32"
    assert counts[0].point.num_steps == 8
    assert {s.shots for s in sinter.read_stats_from_csv_files(save)} == {100, 200}


def test_a_csv_of_other_shots_is_said_to_be_useless(folder, tmp_path, capsys):
    words = ("evaluate", "--problem", folder / "problem", "--decoders", "bposd-xz", "--workers", 1)
    shots = ("--max-shots", 64)
    other = tmp_path / "other.csv"
    assert run(capsys, *words, *shots, "--seed", 5, "--save", other)[0] == 0
    code, _, err = run(capsys, *words, *shots, "--compare", other)
    assert code == 0
    assert f"{other} has no counts of these shots: nothing to compare." in err


def test_json_holds_counts_rates_and_comparisons(folder, capsys):
    code, out, err = run(
        capsys, "evaluate", "--problem", folder / "problem", "--model", folder / "tiny.safetensors",
        "--decoders", "unmasq", "bposd-xz", "--max-shots", 64, "--workers", 1, "--json",
    )  # fmt: skip
    assert code == 0, err
    record = json.loads(out)
    assert record["made_by"].startswith("unmasq ")
    network, baseline = record["counts"]
    assert network["decoder"] == f"unmasq-{network['model_hash'][:8]}"
    assert baseline["p"] == 0.05
    assert baseline["rate"]["low"] < baseline["errors"] / 64 < baseline["rate"]["high"]
    assert baseline["rate_per_round"] is None
    (comparison,) = record["comparisons"]
    assert comparison["both"] + comparison["second_only"] == baseline["errors"]


def test_one_row_for_every_number_of_steps(folder, capsys):
    code, out, err = run(
        capsys, "evaluate", "--model", folder / "tiny.safetensors", "--p", 0.05, "--steps", 1, 4, 8,
        "--max-shots", 64, "--json",
    )  # fmt: skip
    assert code == 0, err
    names = [counts["decoder"].partition(",")[2] for counts in json.loads(out)["counts"]]
    assert names == ["T=1", "T=4", ""]


def test_counts_of_another_machine_enter_the_comparison(folder, tmp_path, capsys):
    common = ("--problem", folder / "problem", "--max-shots", 128, "--workers", 1)
    run(capsys, "evaluate", *common, "--decoders", "bposd-xz", "--save", tmp_path / "cpu.csv")
    code, out, err = run(
        capsys, "evaluate", *common, "--model", folder / "tiny.safetensors", "--save",
        tmp_path / "gpu.csv", "--compare", tmp_path / "cpu.csv", "--json",
    )  # fmt: skip
    assert code == 0, err
    (comparison,) = json.loads(out)["comparisons"]
    assert comparison["second"] == "bposd-xz"
    assert comparison["shots"] == 128


def test_two_models_never_mix_in_one_csv(folder, tmp_path, capsys):
    save = tmp_path / "stats.csv"
    for model in ("tiny", "other", "tiny"):
        code, _, err = run(
            capsys, "evaluate", "--model", folder / f"{model}.safetensors", "--p", 0.05,
            "--max-shots", 64, "--save", save,
        )  # fmt: skip
        assert code == 0, err
    counts = read_counts(save)
    assert [c.shots for c in counts] == [64, 64]
    assert counts[0].point.model_hash != counts[1].point.model_hash


def test_discards_are_counted_and_drawn(folder, tmp_path, capsys):
    code, out, err = run(
        capsys, "evaluate", "--model", folder / "tiny.safetensors", "--p", 0.05, "--max-shots", 256,
        "--discard-below", 0.5, "--discard-curve", tmp_path / "curve.png", "--json",
    )  # fmt: skip
    assert code == 0, err
    (counts,) = json.loads(out)["counts"]
    assert counts["discard_below"] == 0.5
    assert counts["discards"] > 0
    assert (tmp_path / "curve.png").stat().st_size > 10_000


def test_bad_input_is_one_line(folder, tmp_path, capsys):
    problem = ("--problem", folder / "problem")
    model = ("--model", folder / "tiny.safetensors")
    cases = [
        ((), "--model or --problem must be given"),
        (model, "--p must be given with --model alone"),
        (("--model", "bb72-circiut", "--p", 0.1), "model must be a weight file or a known name"),
        (("--problem", "missing"), "missing: No such file"),
        ((*problem, "--decoders", "unmasq"), "--model must be given to decode with unmasq"),
        ((*problem, "--decoders", "bpsod-xz"), "got 'bpsod-xz'. Did you mean bposd-xz?"),
        ((*problem, "--decoders", "bposd-xz", "--p", 0.7), "must"),
        ((*problem, "--decoders", "bposd-xz", "--max-shots", "many"), "whole number"),
        (
            (*problem, "--decoders", "bposd-xz", "--max-shots", "bposd-x=5"),
            "must name decoders that take part: got 'bposd-x'. Did you mean bposd-xz?",
        ),
        ((*problem, "--decoders", "bposd-xz", "--max-shots", 0), "max_shots must be at least 1"),
        ((*problem, "--decoders", "bposd-xz", "bposd-xz"), "must not repeat"),
        ((*problem, "--decoders", "bposd-x"), "Use the '-xz' decoder"),
        ((*problem, *model, "--steps", 9), "steps must lie in 1..8: got 9"),
        ((*problem, *model, "--steps", 2, "--threshold", 1), "must not be given together"),
        ((*problem, *model, "--dtype", "int8"), "dtype must be float32 or bfloat16"),
        ((*problem, *model, "--views", 4), "views must be 1 for this model"),
        ((*problem, *model, "--threshold", -1), "threshold must be at least 0: got -1"),
        ((*problem, "--decoders", "bposd-xz", "--cluster", "here"), "cluster must be local:N"),
        ((*problem, *model, "--cluster", "local:2", "--workers", 2), "choose one"),
    ]
    for words, message in cases:
        here = () if "--cluster" in words else ("--workers", 1)
        assert message in refusal(capsys, "evaluate", *words, *here), words


@pytest.mark.parametrize("words", [
    ("--steps", 3), ("--threshold", 4), ("--views", 4), ("--every-shot",), ("--discard-below", 0.9),
    ("--discard-curve", "curve.png"), ("--dtype", "float32"), ("--batch", 64), ("--model", "tiny"),
])  # fmt: skip
def test_options_of_the_network_are_refused_where_it_takes_no_part(folder, capsys, words):
    problem = ("--problem", folder / "problem", "--decoders", "bposd-xz")
    expected = f"{words[0]} must be given with decoder unmasq: got bposd-xz"
    assert expected in refusal(capsys, "evaluate", *problem, *words)


def test_a_model_of_another_problem_is_refused(folder, tmp_path, capsys):
    save_problem(problem_from_code(get_code("bb18"), "circuit", 0.003), tmp_path / "circuit")
    said = refusal(
        capsys, "evaluate", "--problem", tmp_path / "circuit", "--model",
        folder / "tiny.safetensors",
    )  # fmt: skip
    assert "problem must be one that a model was trained for: got structure" in said


def test_a_csv_in_use_and_a_file_of_another_kind_are_refused(folder, tmp_path, capsys):
    words = ("--problem", folder / "problem", "--decoders", "bposd-xz", "--workers", 1, "--save")
    with StatsFile(tmp_path / "stats.csv"):
        said = refusal(capsys, "evaluate", *words, tmp_path / "stats.csv")
    assert "must have one writer" in said
    (tmp_path / "notes.txt").write_text("my notes")
    assert "must be a CSV of sinter" in refusal(capsys, "evaluate", *words, tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "my notes"


def test_a_network_alone_needs_neither_stim_nor_sinter(folder, tmp_path):
    program = """
import sys
absent = ("stim", "sinter", "ldpc", "dask", "distributed", "matplotlib", "relay_bp")
sys.modules.update({name: None for name in absent})
from unmasq.cli import main
main(sys.argv[1:])
"""
    words = ["evaluate", "--model", folder / "tiny.safetensors", "--problem", folder / "problem",
             "--max-shots", 100, "--save", tmp_path / "stats.csv"]  # fmt: skip
    arguments = [sys.executable, "-c", program, *map(str, words)]
    result = subprocess.run(arguments, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert read_counts(tmp_path / "stats.csv")[0].shots == 100


def kill_and_resume(folder: Path, kills: int, max_shots: int, seed: int, capsys) -> None:
    """Starts `unmasq evaluate` again and again, killing it; compares with one whole run.

    The whole run is of this process: one process more or less changes no count.
    """
    rng = random.Random(seed)
    save = folder / "stats.csv"
    words = [
        "evaluate", "--problem", str(folder / "problem"), "--decoders", "bposd-x", "bplsd-x",
        "--max-errors", "bplsd-x=60", "--save-seconds", "0.2", "--max-shots", str(max_shots),
    ]  # fmt: skip
    command = [str(UNMASQ), *words, "--workers", "2", "--save", str(save)]
    for _ in range(kills):
        child = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        if rng.random() < 0.7:  # once it has counted something more
            before, limit = shots_in(save), time.monotonic() + 60
            while shots_in(save) == before and child.poll() is None and time.monotonic() < limit:
                time.sleep(0.02)
        time.sleep(rng.random() * 1.5)
        child.kill()
        child.wait()
        assert not members_left(child.pid), "workers outlived the run"
        if not save.exists():
            continue
        for counts in read_counts(save):
            assert counts.ranges[0][0] == 0
            read_flags(save, counts)
        StatsFile(save).close()
        sinter.read_stats_from_csv_files(save)
    subprocess.run(command, check=True, capture_output=True)
    whole = folder / "whole.csv"
    assert run(capsys, *words, "--workers", 1, "--save", whole)[0] == 0
    resumed, uninterrupted = (
        sorted((dataclasses.replace(c, seconds=0.0) for c in read_counts(path)), key=str)
        for path in (save, whole)
    )
    assert resumed == uninterrupted
    assert len(resumed) == 2
    for counts in read_counts(save):
        ours, theirs = read_flags(save, counts), read_flags(whole, counts)
        assert (ours.failed == theirs.failed).all()


def shots_in(path: Path) -> int:
    return sum(c.shots for c in read_counts(path)) if path.exists() else 0


def members_left(group: int) -> bool:
    """Whether a process of the group is still there after a while."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    os.killpg(group, signal.SIGKILL)
    return True


def test_killed_twice_it_counts_what_one_run_counts(tmp_path, capsys):
    save_problem(problem_from_code(get_code("bb18"), "circuit", 0.004), tmp_path / "problem")
    kill_and_resume(tmp_path, kills=2, max_shots=1000, seed=0, capsys=capsys)


@pytest.mark.slow
def test_killed_twenty_times_it_counts_what_one_run_counts(tmp_path, capsys):
    save_problem(problem_from_code(get_code("bb18"), "circuit", 0.004), tmp_path / "problem")
    kill_and_resume(tmp_path, kills=20, max_shots=20_000, seed=1, capsys=capsys)
