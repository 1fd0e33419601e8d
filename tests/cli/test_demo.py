"""The demo says what it decodes, decodes it, and says how to go on."""

import re
import subprocess
from pathlib import Path

import pytest

from command_line import refusal, run
from tiny_network import write_tiny_network
from unmasq.cli import demo
from unmasq.codes import get_code
from unmasq.decoding.model_store import find_model
from unmasq.problems.building import problem_from_code

ROW = re.compile(
    r"\s*(0\.00\d) +(unmasq, T = \d+|BP-OSD \(X\)) +(\d+) / (\d+) +(\S.*?) +(\d+) +([\d.]+)$"
)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """An untrained network for the smallest code takes the place of the shipped one."""
    path = tmp_path / "small.safetensors"
    problem = problem_from_code(get_code("bb18"), "circuit", 0.006, 2, "X")
    write_tiny_network(path, problem, encoder_layers=1)
    monkeypatch.setattr(demo, "MODEL", str(path))


def test_the_demo_compares_on_the_same_shots_and_draws_a_plot(capsys, tmp_path, small):
    code, out, err = run(capsys, "demo", "--shots", 128, "--seed", 5, "--out", tmp_path / "plots")
    assert code == 0, err
    assert find_model(demo.MODEL).model_hash[:16] in err
    said = "and BP-OSD (X) decode up to 128 shots at p = 0.004 and 0.006"
    assert said in " ".join(err.split())
    assert out.endswith(demo.NEXT + "\n")
    for command in re.findall(r"^  unmasq (\w+)", demo.NEXT, re.M):
        assert run(capsys, command, "-h")[0] == 0
    assert "[[18,4,4]], circuit noise, 2 rounds, basis X" in out
    rows = [match.groups() for line in out.splitlines() if (match := ROW.match(line.rstrip()))]
    assert [row[:2] for row in rows] == [
        (f"{p:g}", decoder) for p in demo.ERROR_RATES for decoder in ("unmasq, T = 4", "BP-OSD (X)")
    ]
    for network, baseline in zip(rows[::2], rows[1::2], strict=True):
        (wrong, shots, _, alone), (wrong_2, shots_2, _, alone_2) = network[2:6], baseline[2:6]
        assert shots == shots_2 == "128"
        # Both counted the same shots: those that failed with both are the same number.
        assert int(wrong) - int(alone) == int(wrong_2) - int(alone_2) >= 0
    assert int(rows[0][2]) > int(rows[1][2])  # the network is untrained, BP-OSD is not
    assert all(len(line) <= 80 for line in out.splitlines() if "plots" not in line)
    content = (tmp_path / "plots" / "demo.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) > 10_000


def test_make_demo_ends_by_saying_how_to_go_on():
    """`make` made the environment, so it has to say how to enter it."""
    root = Path(__file__).parents[2]
    command = ["make", "--no-print-directory", "--dry-run", "demo"]  # `make test` is above it
    said = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    assert "unmasq demo" in said.splitlines()[-2]
    assert "source .venv/bin/activate" in said.splitlines()[-1]


def test_the_demo_stands_on_shipped_weights():
    assert find_model(demo.MODEL).shipped


@pytest.mark.parametrize(
    ("option", "value", "rule"),
    [
        ("--seconds", 0, "--seconds must be above 0: got 0"),
        ("--seconds", -3, "--seconds must be above 0: got -3"),
        ("--shots", 0, "--shots must be at least 1: got 0"),
    ],
)
def test_nothing_to_do_is_refused(capsys, tmp_path, option, value, rule):
    assert rule in refusal(capsys, "demo", f"{option}={value}", "--out", tmp_path)


def test_a_file_in_the_way_of_the_plot_is_refused_at_once(capsys, tmp_path):
    path = tmp_path / "taken"
    path.touch()
    assert "taken: File exists" in refusal(capsys, "demo", "--out", path)
