"""Ctrl-C and SIGTERM in `unmasq evaluate`: what was counted stays, and is said to."""

import signal

import pytest

from command_line import run
from unmasq.cli.counts_display import CountsDisplay
from unmasq.codes import get_code
from unmasq.evaluation.stats_file import read_counts
from unmasq.problems.building import problem_from_code
from unmasq.problems.problem_file import save_problem


@pytest.fixture(autouse=True)
def ctrl_c_interrupts():
    """Also where the tests run in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_evaluate_says_what_it_kept(capsys, tmp_path, monkeypatch, number, code):
    save_problem(problem_from_code(get_code("bb18"), "code-capacity", 0.05), tmp_path / "problem")
    save = tmp_path / "stats.csv"
    words = ("evaluate", "--problem", tmp_path / "problem", "--decoders", "bposd-xz", "--workers",
             1, "--max-shots", "1e3")  # fmt: skip

    def show(display, counts, limits, done):
        if counts.shots:
            signal.raise_signal(number)

    with monkeypatch.context() as patch:
        patch.setattr(CountsDisplay, "show", show)
        found, _, err = run(capsys, *words, "--save", save)
        assert found == code
        assert err == (
            f"stopped; what was counted is kept in {save}: the same command goes on from there\n"
        )
        assert "nothing is kept: name a file with --save" in run(capsys, *words)[2]
    kept = read_counts(save)[0].shots
    assert 0 < kept < 1000
    assert run(capsys, *words, "--save", save)[0] == 0
    assert read_counts(save)[0].shots == 1000
