"""Figures hold the numbers they were given, and name code, rounds, decoder and shots."""

import dataclasses
import functools
import json

import numpy as np
import pytest

from unmasq.decoding.asking import Asking
from unmasq.evaluation.counts import Counts, Point
from unmasq.evaluation.latency import Latency, Throughput, Timing
from unmasq.evaluation.postselection import DiscardCurve, DiscardPoint
from unmasq.report.figure_files import check_figure_path, numbers_of, save_figure
from unmasq.report.figures import discard_figure, error_rate_figure, latency_figure, steps_figure

POINT = Point("bposd-x", "bb72", 0.003, 12, 6, "X", "circuit", "5eed", "f00d", code="bb72")


def counts(errors: int, shots: int = 1000, **changes) -> Counts:
    wrong = np.zeros((shots, 12), bool)
    wrong[:errors, 0] = True
    point = dataclasses.replace(POINT, **changes)
    return Counts.of(point, 0, wrong, np.zeros(shots, bool), 1.0)


def labels(figure) -> list[str]:
    legend = figure.axes[0].get_legend() or figure.legends[0]
    return [text.get_text() for text in legend.get_texts()]


def note(figure) -> str:
    return figure.axes[0].get_legend().get_title().get_text()


def test_labels_name_code_rounds_decoder_and_shots():
    figure = error_rate_figure([counts(10, p=0.002), counts(20, 5000, p=0.003)])
    assert figure.axes[0].get_title() == "[[72,12,6]], circuit noise, 6 rounds, basis X"
    assert labels(figure) == ["BP-OSD (X) (1,000 to 5,000 shots)"]
    assert "per shot" in figure.axes[0].get_ylabel()


@pytest.mark.parametrize("lines", [5, 6])
def test_a_long_legend_stands_below_the_lines(lines):
    figure = error_rate_figure([counts(10, decoder=f"d{number}") for number in range(lines)])
    assert len(labels(figure)) == lines
    assert (figure.axes[0].get_legend() is None) == (lines == 6)
    plain = error_rate_figure([counts(10)])
    assert (figure.get_figheight() > plain.get_figheight()) == (lines == 6)


def test_points_are_the_rates_in_order_of_p():
    figure = error_rate_figure([counts(20, p=0.006), counts(10, p=0.003)])
    (line, *_) = figure.axes[0].get_lines()
    np.testing.assert_allclose(line.get_xdata(orig=False), [0.003, 0.006])
    np.testing.assert_allclose(line.get_ydata(orig=False), [0.01, 0.02])


def test_no_failures_are_an_arrow_from_the_upper_bound():
    figure = error_rate_figure([counts(0, p=0.001), counts(10, p=0.003)])
    containers = figure.axes[0].containers
    assert len(containers) == 2
    measured, bound = containers
    np.testing.assert_allclose(measured[0].get_xdata(orig=False), [0.003])
    np.testing.assert_allclose(bound[0].get_xdata(orig=False), [0.001])
    np.testing.assert_allclose(bound[0].get_ydata(orig=False), [counts(0).rate.high])
    assert bound[0].get_linestyle() == "None"
    assert bound[1], "an arrow head"
    assert "arrows" in note(figure)
    assert "arrows" not in note(error_rate_figure([counts(1), counts(10, p=0.006)]))


def test_rates_are_per_shot():
    figure = error_rate_figure([counts(100)])
    (line, *_) = figure.axes[0].get_lines()
    np.testing.assert_allclose(line.get_ydata(orig=False), [0.1])


@pytest.mark.parametrize("points", [1, 2, 3])
def test_two_points_are_joined_by_no_line(points):
    figure = error_rate_figure([counts(10, p=0.001 * (1 + i)) for i in range(points)])
    (container,) = figure.axes[0].containers
    assert (container[0].get_linestyle() == "None") == (points < 3)


def test_decoders_stand_side_by_side_where_no_line_keeps_them_apart():
    others = [counts(10, decoder="relay-xz", p=p) for p in (0.003, 0.006)]
    figure = error_rate_figure([counts(9, p=p) for p in (0.003, 0.006)] + others)
    left, right = (container[0].get_xdata(orig=False) for container in figure.axes[0].containers)
    assert (left < [0.003, 0.006]).all()
    assert (right > [0.003, 0.006]).all()
    np.testing.assert_allclose(left * right, [0.003**2, 0.006**2])
    assert "side by side" in note(figure)


def test_networks_come_first_and_two_of_one_name_show_their_hashes():
    twice = [counts(9, decoder=f"unmasq-{i}{i}", asking=Asking(num_steps=12)) for i in (1, 2)]
    assert labels(error_rate_figure([counts(10), *twice])) == [
        "unmasq, T = 12 [unmasq-11] (1,000 shots)",
        "unmasq, T = 12 [unmasq-22] (1,000 shots)",
        "BP-OSD (X) (1,000 shots)",
    ]


def test_no_numbers_of_an_axis_touch():
    values = (0.001, 0.07, 0.08, 0.1)
    axes = error_rate_figure([counts(10, p=p) for p in values]).axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.1", "0.07", "0.001"]
    np.testing.assert_allclose(axes.get_xticks(minor=True), [0.08])


def test_steps_are_on_the_axis_of_the_sweep():
    sweep = [
        counts(30 - T, asking=Asking(num_steps=T), decoder=f"unmasq-01,T={T}") for T in (1, 6, 12)
    ]
    figure = steps_figure([*sweep, counts(50)])  # a baseline has no steps
    (container,) = figure.axes[0].containers
    np.testing.assert_allclose(container[0].get_xdata(orig=False), [1, 6, 12])
    assert labels(figure) == ["unmasq, p = 0.003 (1,000 shots)"]


def test_latency_curves_end_at_the_slowest_shot():
    latency = Latency(np.array([1e-3, 2e-3, 9e-3]))
    timing = Timing("bposd-x", "a CPU, 1 core", None, latency, (Throughput(1, 1, 1.0),))
    figure = latency_figure([timing], "bb72")
    (line,) = figure.axes[0].get_lines()
    np.testing.assert_allclose(line.get_xdata(orig=False), [1, 2, 9])
    np.testing.assert_allclose(line.get_ydata(orig=False), [1, 2 / 3, 1 / 3])
    assert labels(figure) == ["BP-OSD (X) (3 shots; a CPU, 1 core)"]


def test_discard_curves_show_the_rate_of_the_shots_kept():
    points = (DiscardPoint(0.1, 1000, 0, 100), DiscardPoint(0.9, 1000, 500, 10))
    figure = discard_figure([DiscardCurve("unmasq-01", "bb72", 6, 0.003, points)])
    (container,) = figure.axes[0].containers
    np.testing.assert_allclose(container[0].get_xdata(orig=False), [0, 0.5])
    np.testing.assert_allclose(container[0].get_ydata(orig=False), [0.1, 0.02])


def test_files_are_written_by_their_ending(tmp_path):
    figure = error_rate_figure([counts(10)])
    save_figure(figure, tmp_path / "a.png")
    save_figure(figure, tmp_path / "a.svg")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "a.svg").read_bytes()
    for refuse in (check_figure_path, functools.partial(save_figure, figure)):
        with pytest.raises(ValueError, match=r"figure must end in one of .*got .*a\.doc"):
            refuse(tmp_path / "a.doc")


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_a_file_holds_its_numbers_and_is_always_the_same(tmp_path, ending):
    points = [counts(10), counts(20, p=0.006)]
    numbers = numbers_of(points)
    assert json.loads(numbers) == [["bposd-x", 0.003, 10, 1000], ["bposd-x", 0.006, 20, 1000]]
    contents = set()
    for name in "ab":
        path = tmp_path / f"{name}.{ending}"
        save_figure(error_rate_figure(points), path, numbers)
        contents.add(path.read_bytes())
    (content,) = contents
    assert numbers.encode() in content.replace(b"&quot;", b'"')


def test_nothing_to_draw_is_refused():
    with pytest.raises(ValueError, match="at least one point with shots"):
        error_rate_figure([Counts(POINT)])
