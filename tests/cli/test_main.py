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


COMMANDS = (
    "demo",
    "codes",
    "models",
    "problem",
    "train",
    "evaluate",
    "predict",
    "bench",
    "figures",
    "report",
)


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",)])
def test_help_names_every_command(capsys, words):
    code, out, _ = run(capsys, *words)
    assert code == 0
    for command in COMMANDS:
        assert command in out
    assert "..." not in out.partition("Commands:")[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_short_help_option(capsys, command):
    short, long = run(capsys, command, "-h"), run(capsys, command, "--help")
    assert short == long
    assert short[0] == 0
    assert f"unmasq {command}" in short[1]


def test_python_runs_the_package():
    ended = subprocess.run(
        [sys.executable, "-m", "unmasq", "--version"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, f"unmasq {unmasq.__version__}\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete_the_commands(shell):
    script = subprocess.run(
        [UNMASQ, "--show-completion", shell],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )
    assert script.returncode == 0, script.stderr
    assert "_UNMASQ_COMPLETE" in script.stdout


def test_completion_knows_commands_and_options():
    def asked(words: str, number: int) -> list[str]:
        environment = os.environ | {
            "_UNMASQ_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(number)
        }  # fmt: skip
        ended = subprocess.run([UNMASQ], capture_output=True, text=True, env=environment)
        return ended.stdout.split()

    assert asked("unmasq ev", 1) == ["evaluate"]
    assert "--only" in asked("unmasq figures --o", 2)


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
    assert said.endswith((". See `unmasq --help`.", "'? See `unmasq --help`."))


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
        (
            MemoryError("Unable to allocate 58 GiB"),
            "memory must hold the problem and the network: got too little: Unable to allocate 58",
        ),
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
