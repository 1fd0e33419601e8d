"""`unmasq figures`: every CSV and every T sweep becomes a figure; names are people's."""

import dataclasses
import json

import numpy as np
import pytest

from command_line import refusal, run
from unmasq.decoding.asking import Asking
from unmasq.evaluation.counts import Counts, Point
from unmasq.evaluation.failures import Flags
from unmasq.evaluation.stats_file import StatsFile
from unmasq.report import figure_files as report

POINT = Point("bposd-x", "bb72", 0.003, 12, 6, "X", "circuit", "5eed", "f00d", code="bb72")
MODEL = "0123456789abcdef"


def add(path, errors: int, **changes) -> None:
    wrong, kept = np.zeros((100, 12), bool), np.zeros(100, bool)
    wrong[:errors, 0] = True
    point = dataclasses.replace(POINT, **changes)
    with StatsFile(path) as file:
        file.append(Counts.of(point, 0, wrong, kept, 1.0), Flags(wrong.any(1), kept))


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    name, trained = "unmasq-01234567", {"model_hash": MODEL, "asking": Asking(num_steps=12)}
    for p in (0.003, 0.004, 0.006):
        add(folder / "rates.csv", 9, p=p)
        add(folder / "rates.csv", 5, p=p, decoder=name, **trained)
    for steps in (1, 3):
        swept = {**trained, "asking": Asking(num_steps=steps)}
        add(folder / "ways.csv", 7, decoder=f"{name},T={steps}", **swept)
    for special in (Asking(num_steps=12, views=4), Asking(num_steps=6, guess=True)):
        add(
            folder / "ways.csv",
            4,
            decoder=f"{name},{special.label(usual_steps=12)}",
            **{**trained, "asking": special},
        )
    return folder


def test_every_csv_and_every_sweep_is_drawn(capsys, tmp_path, results, monkeypatch):
    drawn, name = {}, "unmasq-01234567"
    monkeypatch.setattr(
        report, "save_figure", lambda figure, path, numbers: drawn.update({path.name: figure})
    )
    (results / "names.json").write_text(json.dumps({name: "the tied one"}))
    theirs = {"AR": [[0.001, 2e-5], [0.003, 0.01]]}
    (results / "published.json").write_text(json.dumps({"rates": theirs, "elsewhere": {}}))
    code, out, err = run(capsys, "figures", "--from", results, "--out", tmp_path / "f")
    assert code == 0
    assert err == f"{results / 'ways.csv'}: no line to draw, which takes 3 values of p.\n"
    assert set(drawn) == {"rates.png", "unmasq-01234567-steps.png"}  # ways.csv has one p
    assert [line.rpartition("/")[2] for line in out.splitlines()] == list(drawn)
    labels = [text.get_text() for text in drawn["rates.png"].axes[0].get_legend().get_texts()]
    ours = "the tied one, T = 12 (100 shots)"
    assert labels == [ours, "BP-OSD (X) (100 shots)", "AR (published)"]
    points = drawn["rates.png"].axes[0].get_lines()[-1]
    np.testing.assert_array_equal(points.get_xydata(), theirs["AR"])
    assert points.get_linestyle() == "None"
    steps = drawn["unmasq-01234567-steps.png"].axes[0].get_xticks()
    assert list(steps) == [1, 3, 12]
    swept = drawn["unmasq-01234567-steps.png"].axes[0].get_legend().get_texts()
    assert [text.get_text() for text in swept] == ["the tied one, p = 0.003 (100 shots)"]


def test_the_files_are_written(capsys, tmp_path, results):
    code, out, _ = run(
        capsys, "figures", "--from", results, "--out", tmp_path / "f", "--format", "svg"
    )
    assert code == 0
    files = sorted(path.name for path in (tmp_path / "f").iterdir())
    assert files == ["rates.svg", "unmasq-01234567-steps.svg"]
    assert len(out.splitlines()) == 2


def test_one_figure_may_be_chosen_and_titled(capsys, tmp_path, results):
    chosen = ("figures", "--from", results, "--out", tmp_path / "f", "--format", "svg", "--only")
    code, out, err = run(capsys, *chosen, "rates", "--title", "Figure of merit")
    assert (code, err) == (0, "")
    (path,) = (tmp_path / "f").iterdir()
    assert out.strip() == str(path)
    assert "Figure of merit" in path.read_text()
    numbers = [["bposd-x", p, 9, 100] for p in (0.003, 0.004, 0.006)]
    assert json.dumps(numbers)[1:-1] in path.read_text().replace("&quot;", '"')
    both = run(capsys, *chosen, "rates", "unmasq-01234567-steps")
    assert (both[0], len(both[1].splitlines())) == (0, 2)
    err = refusal(capsys, *chosen, "rats")
    assert "--only must be of rates, unmasq-01234567-steps: got 'rats'" in err
    assert "Did you mean" in err


def test_decoders_may_be_chosen(capsys, tmp_path, results):
    words = ("figures", "--from", results, "--out", tmp_path / "f", "--format", "svg")
    for shown, hidden in (("bposd-x", "unmasq-01234567"), ("unmasq", "bposd-x")):
        assert run(capsys, *words, "--only", "rates", "--decoders", shown)[0] == 0
        text = (tmp_path / "f" / "rates.svg").read_text().replace("&quot;", '"')
        assert f'["{shown}' in text
        assert f'"{hidden}"' not in text
    err = refusal(capsys, *words, "--decoders", "relay", "osd")
    assert "--decoders must be of those in the CSVs: got relay, osd." in err


def test_a_title_is_for_one_figure(capsys, results):
    err = refusal(capsys, "figures", "--from", results, "--title", "All")
    assert "--title must go with one figure: got 2. Name it by --only." in err


def test_an_unknown_format_is_refused_before_anything_is_read(capsys, tmp_path):
    err = refusal(capsys, "figures", "--from", tmp_path / "no", "--format", "doc")
    assert "--format must be png, pdf, svg: got 'doc'" in err


@pytest.mark.parametrize(
    ("command", "option"),
    [("evaluate", "--figure"), ("evaluate", "--discard-curve"), ("bench", "--figure")],
)
def test_measuring_refuses_a_figure_before_the_shots(capsys, command, option):
    err = refusal(capsys, command, "--model", "no such model", option, "rates.doc")
    assert "figure must end in one of" in err


def test_mistakes_end_in_one_line(capsys, tmp_path, results):
    assert "must be a folder with CSVs" in run(capsys, "figures", "--from", tmp_path / "no")[2]
    (results / "names.json").write_text("[]")
    assert "names.json must be JSON" in run(capsys, "figures", "--from", results)[2]
    (results / "names.json").write_text("{")
    code, _, err = run(capsys, "figures", "--from", results)
    assert code == 2
    assert "names.json must be JSON" in err
    assert not (tmp_path / "figures").exists()


@pytest.mark.parametrize(
    "content", [[], {"rates": []}, {"rates": {"AR": [0.1]}}, {"rates": {"AR": [[0.1, "x"]]}}]
)
def test_published_rates_are_pairs(capsys, tmp_path, results, content):
    (results / "published.json").write_text(json.dumps(content))
    code, out, err = run(capsys, "figures", "--from", results, "--out", tmp_path / "f")
    assert (code, out) == (2, "")
    assert "published.json must" in err
    assert len(err.splitlines()) == 1


def test_a_published_rate_is_a_probability(capsys, tmp_path, results):
    (results / "published.json").write_text(json.dumps({"rates": {"AR": [[0.1, 6.54]]}}))
    assert "between 0 and 1" in run(capsys, "figures", "--from", results)[2]


def test_a_shot_is_drawn_alone(capsys, tmp_path):
    words = ("figures", "--shot", 0, "--out", tmp_path / "f", "--format", "svg")
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    path, said = out.splitlines()
    assert path == str(tmp_path / "f" / "shot-0.svg")
    assert said.startswith("Shot 0 of seed 0 at p = 0.007: ")
    text = (tmp_path / "f" / "shot-0.svg").read_text().replace("&quot;", '"')
    assert '"revealed_at_step"' in text
    assert [path.name for path in (tmp_path / "f").iterdir()] == ["shot-0.svg"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--shot", "0", "--only", "rates"), "--shot must go without --only and --decoders"),
        (("--shot", "-1"), "--shot must be at least 0: got -1"),
        (("--shot", "0.5"), "number must be a whole number such as 1000 or 1e3: got '0.5'"),
        (("--shot", "0", "--model", "bb71"), "model must be a weight file or a known name"),
        (("--shot", "0", "--p", "2"), "must lie in"),
        (("--p", "0.1"), "--p must go with --shot"),
    ],
)
def test_a_shot_that_cannot_be_drawn_is_refused_in_one_line(capsys, tmp_path, words, reason):
    assert reason in refusal(capsys, "figures", "--out", tmp_path / "f", *words)
    assert not (tmp_path / "f").exists()


def test_the_papers_figures_come_with_its_tables_and_what_is_missing(capsys, tmp_path, results):
    words = ("figures", "--from", results, "--out", tmp_path / "f", "--format", "svg")
    assert run(capsys, *words)[2].count("\n") == 1, "of none of the paper's files"
    (results / "rates.csv").rename(results / "bb72-circuit.csv")
    (results / "rates.failures.jsonl").rename(results / "bb72-circuit.failures.jsonl")
    code, out, err = run(capsys, *words)
    assert code == 0
    names = [line.rpartition("/")[2] for line in out.splitlines()]
    assert names[-2:] == ["paper-fig2-bb72.svg", "paper-tables.md"]
    text = (tmp_path / "f" / "paper-tables.md").read_text()
    assert "| 13,557,784 | 13,557,784 |" in text
    assert "10,209,025 parameters" in text
    assert "paper-fig2-bb144 (e) error rate against p: not measured: unmasq; BP-OSD (X);" in err
    assert "paper-fig3: not measured: trained attention beside J (*-attention.json)." in err
    code, out, err = run(capsys, *words, "--only", "paper-tables")
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
