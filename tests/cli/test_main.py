"""Help, version, and how mistakes end: one line, exit code 2."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import unmasq
from command_line import refusal, run
from unmasq import cli

UNMASQ = Path(sys.executable).parent / "unmasq"


@pytest.mark.parametrize("words", [(), ("--help",)])
def test_help_names_every_command(capsys, words):
    code, out, _ = run(capsys, *words)
    assert code == 0
    for command in ("demo", "codes", "problem", "train", "evaluate", "predict", "bench"):
        assert command in out


def test_version(capsys):
    assert run(capsys, "--version")[:2] == (0, f"unmasq {unmasq.__version__}\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("prblem",), "No such command 'prblem'"),
        (("codes", "--jsn"), "No such option: --jsn"),
        (("problem", "bb72", "--p", "many", "--out", "x"), "Invalid value for '--p'"),
        (("problem", "bb72", "--p", "0.003"), "Missing option '--out'"),
        (("codes", "bb72"), "unexpected extra argument"),
    ],
)
def test_words_it_does_not_know_are_refused(capsys, words, message):
    said = refusal(capsys, *words)
    assert message in said
    assert said.endswith(". See `unmasq --help`.")


def in_process(app_error, monkeypatch):
    def app(words, **options):
        raise app_error

    monkeypatch.setattr(cli, "app", app)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("p must lie\nin (0, 0.5]: got 2."), "p must lie in (0, 0.5]: got 2."),
        (FileNotFoundError(2, "No such file or directory", "a.dem"), "a.dem: No such file"),
        (ModuleNotFoundError("No module named 'stim'", name="stim"), "stim must be installed"),
        (OSError("disk is full"), "disk is full"),
    ],
)
def test_a_mistake_of_the_user_is_one_line(capsys, monkeypatch, error, message):
    in_process(error, monkeypatch)
    assert refusal(capsys, "any").startswith(message)


def test_a_bug_shows_its_traceback(monkeypatch):
    in_process(TypeError("a bug"), monkeypatch)
    with pytest.raises(TypeError, match="a bug"):
        cli.main(["any"])


def test_a_traceback_on_request(monkeypatch):
    in_process(ValueError("p"), monkeypatch)
    monkeypatch.setenv("UNMASQ_TRACEBACK", "1")
    with pytest.raises(ValueError, match="p"):
        cli.main(["any"])


def test_interruption_has_its_own_exit_code(capsys, monkeypatch):
    in_process(KeyboardInterrupt(), monkeypatch)
    assert run(capsys, "any") == (130, "", "")


def test_a_reader_that_stops_reading_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run([UNMASQ, "codes"], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert ended.returncode == 1
    assert ended.stderr == b""
