"""`unmasq train`: what it shows and writes, and every bad input in one line with exit code 2."""

import dataclasses
import errno
import json
import os
import re
import signal

import jax
import pytest

from command_line import refusal, run
from tiny_runs import TINY, repetition_problem
from unmasq.cli.progress import TrainingDisplay, _clock
from unmasq.cli.train import _new_run
from unmasq.problems.problem_file import save_problem
from unmasq.recipes import RECIPES
from unmasq.training import ProblemConfig, memory, to_json
from unmasq.training.loop import Progress
from unmasq.training.run_folder import RunFolder
from unmasq.training.update import Trainer

QUICK = dataclasses.replace(TINY, num_updates=12, evaluate_every=4, problem=ProblemConfig("bb18"))


@pytest.fixture(autouse=True)
def tiny_recipe(monkeypatch):
    monkeypatch.setitem(RECIPES, "tiny", QUICK)


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    path = tmp_path_factory.mktemp("problem") / "problem.safetensors"
    save_problem(repetition_problem(), path)
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory, problem):
    """A run folder, and a second one that waits at update 4."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(RECIPES, "tiny", QUICK)
        from unmasq.cli import main

        for name, words in (("whole", []), ("waiting", ["--minutes", "0"])):
            with pytest.raises(SystemExit) as ending:
                main(
                    [
                        "train",
                        "tiny",
                        "--problem",
                        str(problem),
                        "--out",
                        str(folder / name),
                        *words,
                    ]
                )
            assert ending.value.code == 0
    return folder


def test_it_trains_evaluates_and_says_so(capsys, tmp_path, problem):
    words = ("tiny", "--problem", problem, "--out", tmp_path / "run")
    settings = ("--set", "seed=3", "ema=0.9", "batch_size=1.6e1", "--mirror", tmp_path / "slim")
    code, out, err = run(capsys, "train", *words, *settings)
    assert (code, out) == (0, "")
    lines = err.splitlines()
    assert lines[0] == "tiny: compiling, then on from update 0 of 12"
    assert "update 4/12  loss " in lines[1]
    assert "samples/s  p 0.2000  frames 0-0" in lines[1]
    assert lines[1].endswith(" left")
    assert lines[-2].startswith("finished after 12 updates, 192 samples, ")
    assert lines[-1].startswith("p = 0.2: ")
    assert "failures in 1024 shots" in lines[-1]
    files = {file.name for file in (tmp_path / "run").iterdir()}
    assert {"config.json", "manifest.json", "metrics.jsonl", "problem.safetensors"} <= files
    assert {"tiny.safetensors", "tiny.json", "tiny.md"} <= files
    assert (tmp_path / "slim" / "slim.json").exists()
    config = RunFolder(tmp_path / "run").open()[0]
    assert (config.seed, config.ema) == (3, 0.9)


def test_a_stopped_run_goes_on_and_prints_json(capsys, finished):
    code, out, err = run(capsys, "train", "--resume", finished / "waiting", "--json")
    assert code == 0
    record = json.loads(out)
    assert (record["step"], record["finished"]) == (12, True)
    assert "tiny: compiling, then on from update 4 of 12" in err
    records = [r for r in RunFolder(finished / "waiting").metrics() if "loss" in r]
    unhurt = [r for r in RunFolder(finished / "whole").metrics() if "loss" in r]
    assert [r["loss"] for r in records] == [r["loss"] for r in unhurt]


def test_the_display_shows_all_there_is_to_know(capsys):
    with TrainingDisplay(QUICK) as display:
        display.report(
            Progress(5, 12, 1.25, 3210.0, 0.006, "frames 0-2", 61.0, 3725.0, "7/1024 fail at p 0.1")
        )
        display.report(Progress(6, 12, 1.0, 1.0, 0.1, "frames 0-2", 62.0, 1.0))  # too soon
    line = (
        "     61 s  update 5/12  loss 1.2500  3,210 samples/s  p 0.0060  frames 0-2  "
        "7/1024 fail at p 0.1  1:02:05 left\n"
    )
    assert capsys.readouterr().err == line


def test_other_processes_show_nothing(capsys):
    with TrainingDisplay(QUICK, quiet=True) as display:
        display.report(Progress(5, 12, 1.25, 3210.0, 0.006, "frames 0-2", 61.0, 3725.0))
        display.say("something")
    assert capsys.readouterr() == ("", "")


def test_clocks_read_hours_minutes_and_seconds():
    assert [_clock(s) for s in (0.4, 59.6, 3600.0, 360000.0)] == [
        "0:00:00",
        "0:01:00",
        "1:00:00",
        "100:00:00",
    ]


# Bad input


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bb18-circiut"], "recipe must be one of .* Did you mean bb18-circuit"),
        ([], "recipe must be one of bb18-circuit, .*: got none."),
        (["tiny", "--set", "network.widht=4"], "'network.widht'. Did you mean network.width"),
        (["tiny", "--set", "network.width=wide"], "network.width must be a whole number"),
        (["tiny", "--set", "network.width"], "--set must have the form key=value"),
        (["tiny", "--set", "num_steps=2"], "num_steps must divide the 1 logicals: got 2."),
        (["tiny", "--set", "stages=[[0,1,1]]"], "stage frames must lie in 0..0: got 1."),
        (["tiny", "--set", "network.ties=tied"], "ties must be 'free'"),
        (["tiny", "--minutes", "-1"], "minutes must be at least 0: got -1.0."),
        (["tiny", "--set", "batch_size=0"], "batch_size must be at least 1: got 0."),
        (["tiny", "--set", "batch_size=1.5"], "batch_size must be a whole number: got 1.5."),
        (["tiny", "--set", "name=problem"], "name must not be that of a file that every run has"),
        (["tiny", "--set", "name=Step-1"], "name must not be that of a file that every run has"),
        (["tiny", "--save-seconds", "nan"], "save_seconds must be at least 0: got nan."),
        (["tiny", "--init", "/nowhere"], "/nowhere does not exist"),
        (["tiny", "--process-id", "0"], "must come together, with --distributed"),
        (["tiny", "--coordinator", "localhost:1", "--distributed"], "must come together"),
        (["tiny", "--speed", "9"], "No such option: --speed"),
    ],
)
def test_bad_words_are_refused(capsys, tmp_path, problem, words, message):
    out = tmp_path / "run"
    said = refusal(capsys, "train", *words, "--problem", problem, "--out", out)
    assert re.search(message, said), said
    assert not out.exists()


def test_a_recipe_for_any_problem_must_be_given_one(capsys, tmp_path):
    said = refusal(capsys, "train", "own", "--out", tmp_path / "run")
    assert said.startswith("recipe own must be given a problem file: got no --problem. Make one")


def test_a_recipe_for_any_problem_trains_at_its_rate(monkeypatch, problem):
    monkeypatch.setitem(RECIPES, "any", dataclasses.replace(QUICK, problem=ProblemConfig()))
    found = {}
    for recipe, words in (("any", []), ("any", ["--set", "noise.p=0.1"]), ("tiny", [])):
        config, _ = _new_run(recipe, words[1:], problem)
        found[recipe, len(words)] = config.noise.p
    assert found == {("any", 0): 0.2, ("any", 2): 0.1, ("tiny", 0): QUICK.noise.p}


def test_one_folder_must_be_named(capsys, tmp_path):
    expected = "give either --out for a new run or --resume for an existing one."
    assert refusal(capsys, "train", "tiny") == expected
    assert refusal(capsys, "train", "--out", tmp_path, "--resume", tmp_path) == expected


@pytest.mark.parametrize("words", [["tiny"], ["--set", "seed=1"], ["--fit-minutes", "1"]])
def test_a_resumed_run_takes_nothing_new(capsys, finished, words):
    said = refusal(capsys, "train", "--resume", finished / "whole", *words)
    assert said.startswith("--resume goes on exactly as the run was started: leave out recipe")


def test_folders_that_are_no_runs_are_refused(capsys, tmp_path):
    said = refusal(capsys, "train", "--resume", tmp_path)
    assert said.startswith(f"--resume must name a run folder: got {tmp_path}, which has no config")


def test_an_existing_run_is_not_overwritten(capsys, finished, problem):
    words = ("tiny", "--problem", problem, "--out", finished / "whole")
    said = refusal(capsys, "train", *words)
    assert said.startswith("--out must be a new folder: ")


def copied(run_folder, target):
    target.mkdir()
    for file in run_folder.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    return target


def test_a_run_of_another_problem_is_refused(capsys, tmp_path, finished):
    run_folder = copied(finished / "whole", tmp_path / "run")
    save_problem(repetition_problem(5), run_folder / "problem.safetensors")
    said = refusal(capsys, "train", "--resume", run_folder)
    assert "must belong to the problem that the run was started with" in said


def test_a_run_of_another_network_is_refused(capsys, tmp_path, finished):
    run_folder = copied(finished / "whole", tmp_path / "run")
    network = dataclasses.replace(QUICK.network, width=16)
    (run_folder / "config.json").write_text(to_json(dataclasses.replace(QUICK, network=network)))
    assert "another network" in refusal(capsys, "train", "--resume", run_folder)


def test_a_cut_off_checkpoint_falls_back_and_says_so(capsys, tmp_path, finished):
    run_folder = copied(finished / "whole", tmp_path / "run")
    newest = run_folder / "step-000000012-0.safetensors"
    newest.write_bytes(newest.read_bytes()[:1000])
    code, _, err = run(capsys, "train", "--resume", run_folder)
    assert code == 0
    assert "passed over step-000000012.json: " in err
    assert "on from update 0 of 12" in err
    weights = [
        (path / "tiny.safetensors").read_bytes() for path in (run_folder, finished / "whole")
    ]
    assert weights[0] == weights[1]


def test_problem_files_that_are_none_are_refused(capsys, tmp_path, problem):
    out = tmp_path / "run"
    words = ("tiny", "--out", out, "--problem")
    assert refusal(capsys, "train", *words, tmp_path / "no").endswith("No such file or directory")
    (tmp_path / "cut").write_bytes(problem.read_bytes()[:100])
    assert "must be a problem file" in refusal(capsys, "train", *words, tmp_path / "cut")
    (tmp_path / "file").write_text("in the way")
    said = refusal(
        capsys, "train", "tiny", "--problem", problem, "--out", tmp_path / "file" / "run"
    )
    assert "must be writable: Not a directory" in said


def test_a_full_disk_ends_in_one_line(capsys, tmp_path, problem, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    words = ("--problem", problem, "--out", tmp_path / "run")
    code, _, err = run(capsys, "train", "tiny", *words, "--set", "noise.p=0.2")
    assert code == 2
    assert "run must be writable: No space left on device." in err.splitlines()[-1]


def test_a_loss_that_stays_nan_ends_in_one_line(capsys, tmp_path, problem):
    words = ("tiny", "--problem", problem, "--out", tmp_path / "run")
    code, out, err = run(capsys, "train", *words, "--set", "optimizer.learning_rate=1e30")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("error: loss must stay finite: it turned NaN 6 times")
    assert err.count("on with other random numbers") == 5


# Signals


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_a_checkpoint_and_says_how_to_go_on(
    capsys, tmp_path, problem, finished, monkeypatch, number, code
):
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(TrainingDisplay, "report", lambda *_: signal.raise_signal(number))
        found, _, err = run(capsys, "train", "tiny", "--problem", problem, "--out", out)
    assert found == code
    lines = err.splitlines()
    assert lines[-3] == f"{number.name}: stopping after this step; once more, at once"
    assert lines[-2].startswith("stopped after 4 updates, 64 samples")
    assert lines[-1] == f"all of it is saved: go on with `unmasq train --resume {out}`"
    assert RunFolder(out).checkpoints()[0].name == "step-000000004.json"
    assert not (out / "tiny.safetensors").exists()
    assert run(capsys, "train", "--resume", out)[0] == 0
    weights = [(path / "tiny.safetensors").read_bytes() for path in (out, finished / "whole")]
    assert weights[0] == weights[1]


def test_a_second_signal_ends_at_once(capsys, tmp_path, problem, monkeypatch):
    def report(*_):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(TrainingDisplay, "report", report)
    words = ("tiny", "--problem", problem, "--out", tmp_path / "run")
    code, _, err = run(capsys, "train", *words)
    assert code == 130
    assert f"is saved: `unmasq train --resume {tmp_path / 'run'}`" in err.splitlines()[-1]
    assert RunFolder(tmp_path / "run").checkpoints()[0].name == "step-000000000.json"
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


# Memory


def test_what_does_not_fit_in_memory_is_refused_before_the_run(
    capsys, tmp_path, problem, monkeypatch
):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2000)
    out = tmp_path / "run"
    code, _, err = run(capsys, "train", "tiny", "--problem", problem, "--out", out)
    assert code == 2
    said = err.splitlines()[-1]
    assert said.startswith("error: an update must fit in memory: it needs "), said
    assert "2e-06 GB are free. Lower the batch: --set batch_size=" in said
    assert not out.exists()


@pytest.mark.parametrize(
    "error", [MemoryError(), jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory\nat x")]
)
def test_memory_that_runs_out_is_one_line(capsys, tmp_path, problem, monkeypatch, error):
    def exhausted(*_):
        raise error

    monkeypatch.setattr(Trainer, "compiled", exhausted)
    words = ("--problem", problem, "--out", tmp_path / "run")
    code, _, err = run(capsys, "train", "tiny", *words)
    assert code == 2
    assert "memory must hold the problem and the network: got too little" in err.splitlines()[-1]
    assert "Traceback" not in err


def test_a_folder_that_cannot_be_written_is_said_before_compiling(
    capsys, tmp_path, problem, monkeypatch
):
    may = os.access  # tests may run as root
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and may(path, mode))
    monkeypatch.setattr(Trainer, "compiled", lambda *_: pytest.fail("compiled first"))
    words = ("--problem", problem, "--out", tmp_path / "run")
    said = refusal(capsys, "train", "tiny", *words)
    assert said.startswith(f"{tmp_path / 'run'} must be writable: Permission denied. Choose")
