"""The paper's figures: each panel draws what its files hold, and names what they do not."""

import dataclasses
import json

import numpy as np
import pytest

from unmasq.decoding.asking import Asking
from unmasq.evaluation.counts import Counts, Point
from unmasq.evaluation.failures import Flags
from unmasq.evaluation.stats_file import StatsFile
from unmasq.report.paper_figures import PAPER_FIGURES, panel_figure, paper_figure, paper_numbers
from unmasq.report.paper_page import rows_block
from unmasq.report.results_folder import ResultsFolder
from unmasq.report.stored_figures import stored_figures

POINT = Point("bposd-x", "bb72", 0.003, 12, 6, "X", "circuit", "5eed", "f00d", code="bb72")
TRAINED = {"decoder": "unmasq-01234567", "model_hash": "0123456789abcdef"}
NAME = "paper-fig2-bb72"
A, B, C, D = PAPER_FIGURES[NAME][1]


def add(path, errors: int, **changes) -> None:
    wrong, kept = np.zeros((100, 12), bool), np.zeros(100, bool)
    wrong[:errors, 0] = True
    point = dataclasses.replace(POINT, **changes)
    with StatsFile(path) as file:
        file.append(Counts.of(point, 0, wrong, kept, 1.0), Flags(wrong.any(1), kept))


def timing(decoder: str, mean: float, steps: float | None, **latency) -> dict:
    quantiles = {"p50_ms": mean, "p99_ms": 2 * mean, "max_ms": 3 * mean}
    return {
        "decoder": decoder,
        "device": "a GPU",
        "dtype": "bfloat16",
        "latency_batch_1": {"calls": 3, "mean_ms": mean, **quantiles, **latency},
        "mean_steps": steps,
    }


@pytest.fixture
def folder(tmp_path):
    for p in (0.002, 0.003, 0.006):
        add(tmp_path / "bb72-circuit.csv", 9, p=p)
        add(tmp_path / "bb72-circuit.csv", 5, p=p, asking=Asking(num_steps=12), **TRAINED)
    for steps in (1, 6):
        asked = {**TRAINED, "decoder": f"unmasq-01234567,T={steps}"}
        add(tmp_path / "bb72-ways.csv", 7, asking=Asking(num_steps=steps), **asked)
    kept = {"microseconds": [900.0, 1000.0, 1100.0]}
    bins = {"histogram_ms": [[5.0, 2], [20.0, 1]]}
    record = {
        "p": 0.003,
        "timings": [
            timing("unmasq-01234567,T=1", 1.0, 1.0, **kept),
            timing("unmasq-01234567,T=6", 1.5, 6.0, **kept),
            timing("unmasq-01234567", 2.0, 12.0),
            timing("bposd-x", 10.0, None, **bins),
        ],
    }
    (tmp_path / "bb72-circuit-bench-gpu.json").write_text(json.dumps(record))
    return ResultsFolder(tmp_path)


def test_rates_against_p_name_the_decoders_without_counts(folder):
    figure, shown = panel_figure(A, folder)
    assert ["bb72-circuit.csv", "unmasq-01234567", 0.006, 5, 100] in shown.rows
    assert len(shown.rows) == 6
    assert "BP-OSD (XZ)" in shown.missing
    assert "LR and AR, trained as long as the network" in shown.missing
    assert not {"unmasq", "BP-OSD (X)"} & set(shown.missing)
    assert "not measured" not in shown.note


def test_rates_against_steps_take_the_network_from_both_files(folder):
    figure, shown = panel_figure(B, folder)
    (container,) = figure.axes[0].containers
    np.testing.assert_allclose(container[0].get_xdata(orig=False), [1, 6, 12])
    np.testing.assert_allclose(container[0].get_ydata(orig=False), [0.07, 0.07, 0.05])
    assert {row[0] for row in shown.rows} == {"bb72-circuit.csv", "bb72-ways.csv"}


def test_a_network_that_is_only_asked_where_its_guess_fails_is_shown_so(tmp_path):
    """Alone it is the network; beside counts of every shot it is another way of asking."""
    hidden = {"decoder": "unmasq-01234567,tau=4,guess", "model_hash": TRAINED["model_hash"]}
    for p in (0.003, 0.006):
        add(
            tmp_path / "bb72-circuit.csv",
            5,
            p=p,
            asking=Asking(threshold=4.0, guess=True),
            **hidden,
        )
    folder = ResultsFolder(tmp_path)
    _, shown = panel_figure(A, folder)
    assert [row[1] for row in shown.rows] == [hidden["decoder"]] * 2
    assert "unmasq" not in shown.missing
    assert "Not measured" not in rows_block("bb72-circuit.csv; unmasq", folder, [])
    add(tmp_path / "bb72-circuit.csv", 9, asking=Asking(num_steps=12), **TRAINED)
    _, shown = panel_figure(A, ResultsFolder(tmp_path))
    assert [row[1] for row in shown.rows] == ["unmasq-01234567"]
    for steps in (1, 6):
        asked = {**hidden, "decoder": f"unmasq-01234567,T={steps},guess"}
        asking = Asking(num_steps=steps, guess=True)
        add(tmp_path / "bb72-ways.csv", 7, asking=asking, **asked)
    _, shown = panel_figure(B, ResultsFolder(tmp_path))
    assert len(shown.rows) == 3


def test_latencies_are_drawn_where_single_shots_were_kept(folder):
    _, shown = panel_figure(C, folder)
    assert [row[1] for row in shown.rows] == ["unmasq-01234567,T=1", "bposd-x"]
    slow = next(one for one in folder.times("bb72-circuit-bench-gpu.json") if one.steps is None)
    np.testing.assert_allclose(slow.seconds, [5e-3, 5e-3, 20e-3])
    assert "BP-OSD (XZ)" in shown.missing


def test_times_against_steps_are_those_of_the_networks(folder):
    figure, shown = panel_figure(D, folder)
    (line, *_) = figure.axes[0].get_lines()
    np.testing.assert_allclose(line.get_xydata(), [[1, 1.0], [6, 1.5], [12, 2.0]])
    assert figure.axes[0].get_yscale() == "linear"
    assert figure.axes[0].get_ylim()[0] == 0
    assert shown.missing == []


def test_of_two_sweeps_on_a_device_the_longer_is_drawn(folder):
    again = {"p": 0.003, "timings": [timing("unmasq-01234567,T=6", 99.0, 6.0)]}
    (folder.path / "bb72-circuit-bench-again.json").write_text(json.dumps(again))
    _, shown = panel_figure(D, folder)
    assert [row[4] for row in shown.rows] == [1.0, 1.5, 2.0]


def test_a_decoder_is_hollow_on_its_second_device(folder):
    slow = timing("bposd-x", 30.0, None, microseconds=[3e4, 3e4]) | {"device": "a CPU"}
    record = {"p": 0.003, "timings": [slow]}
    (folder.path / "bb72-circuit-bench-other.json").write_text(json.dumps(record))
    figure, shown = panel_figure(C, folder)
    faces = [line.get_markerfacecolor() for line in figure.axes[0].get_lines()]
    assert faces.count("white") == 1
    assert len(shown.rows) == 3


def test_without_files_nothing_is_drawn_but_names(folder):
    name = "paper-fig2-bb144"
    for panel in PAPER_FIGURES[name][1]:
        figure, shown = panel_figure(panel, folder)
        assert shown.rows == []
        assert "unmasq" in shown.missing
        assert not figure.axes[0].containers
        assert not figure.axes[0].get_lines()
    texts = [text.get_text() for axes in paper_figure(name, folder).axes for text in axes.texts]
    assert len(texts) == 4
    assert all(text.startswith("not measured:\n") for text in texts)


def test_the_file_holds_every_point_with_its_source(folder):
    numbers = json.loads(paper_numbers(NAME, folder))
    assert [len(rows) for rows in numbers.values()] == [6, 3, 2, 3]
    assert all(row[0].startswith("bb72-") for rows in numbers.values() for row in rows)
    assert set(stored_figures(folder)) >= {NAME, "bb72-circuit"}
    assert "paper-fig2-bb144" not in stored_figures(folder), "of which there is nothing"
