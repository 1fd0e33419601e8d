"""Plots of counts and timings. Readable in grey: markers and line styles tell series apart.

Every function takes values and returns a matplotlib figure; `save_figure` writes it. Error bars are
95 % intervals; where nothing failed, an arrow points down from the upper bound.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unmasq.evaluation.counts import Counts
from unmasq.evaluation.latency import Timing
from unmasq.evaluation.postselection import DiscardCurve
from unmasq.evaluation.statistics import Rate
from unmasq.files.atomic import write_whole
from unmasq.report.tables import describe_problem

_MARKERS = "osD^vP*X<>"
_FOREIGN_MARKERS = "x+1234"
_MAX_INSIDE = 4  # labels of a legend that covers no line
_LABEL_INCHES = 0.2
_LEVEL_TICKS = 8  # numbers on an axis that stand side by side
_LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
# From dark to light, so that a grey print keeps the order.
_COLOURS = ("#000000", "#2c2d8f", "#1b7837", "#c8452f", "#4393c3", "#f0913a", "#b8b8b8")

_RATES: dict[str, tuple[str, Callable[[Counts], Rate | None]]] = {
    "shot": ("logical error rate per shot", lambda counts: counts.rate),
    "round": ("logical error rate per round", lambda counts: counts.rate_per_round),
    "logical": (
        "error rate per shot and logical, averaged",
        lambda counts: counts.rate_per_logical,
    ),
}


def error_rate_figure(
    counts: Sequence[Counts],
    *,
    per: str = "shot",
    title: str | None = None,
    published: Mapping[str, Sequence[tuple[float, float]]] | None = None,
) -> Figure:
    """Error rate against p: one line for each decoder. `per` is shot, round or logical.

    `published` rates of others, (p, rate) by name, are points without line or interval.
    """
    if per not in _RATES:
        raise ValueError(f"per must be one of {', '.join(_RATES)}: got '{per}'.")
    label, rate_of = _RATES[per]
    measured = [c for c in counts if c.shots > c.discards]
    figure, axes = _start(title or _title(measured), "physical error rate p", label)
    for (decoder, group), style in zip(_grouped(measured, _decoder), _styles(), strict=False):
        group = sorted(group, key=lambda c: c.point.p)
        rates = [rate_of(c) for c in group]
        _plot_rates(axes, [c.point.p for c in group], rates, f"{decoder} ({_shots(group)})", style)
    for (name, points), marker in zip((published or {}).items(), _FOREIGN_MARKERS, strict=False):
        axes.plot(*zip(*points, strict=True), marker, color="0.35", label=f"{name} (published)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    _number_ticks(axes, sorted({c.point.p for c in measured}))
    return _finish(figure, axes)


def steps_figure(counts: Sequence[Counts], *, title: str | None = None) -> Figure:
    """Error rate against the number T of unmasking steps: one line for each p."""
    measured = [c for c in counts if c.shots > c.discards and c.point.num_steps is not None]
    figure, axes = _start(
        title or _title(measured), "unmasking steps T", "logical error rate per shot"
    )
    for (p, group), style in zip(_grouped(measured, lambda c: c.point.p), _styles(), strict=False):
        group = sorted(group, key=lambda c: c.point.num_steps or 0)
        name = group[0].point.decoder.partition(",")[0]
        steps = [float(c.point.num_steps or 0) for c in group]
        rates: list[Rate | None] = [c.rate for c in group]
        _plot_rates(axes, steps, rates, f"{name}, p = {p:g} ({_shots(group)})", style)
    axes.set_yscale("log")
    axes.set_xticks(sorted({c.point.num_steps or 0 for c in measured}))
    return _finish(figure, axes)


def latency_figure(timings: Sequence[Timing], title: str) -> Figure:
    """The share of single shots that take longer than a time."""
    figure, axes = _start(
        title, "time for one shot (ms), batch 1", "share of shots that take longer"
    )
    for timing, style in zip(timings, _styles(), strict=False):
        ordered = np.sort(timing.latency.seconds) * 1e3
        slower = 1 - np.arange(len(ordered)) / len(ordered)
        where = ", ".join(filter(None, [timing.device, timing.dtype]))
        axes.step(
            ordered,
            slower,
            where="pre",
            color=style["color"],
            linestyle=style["linestyle"],
            marker=style["marker"],
            markevery=[len(ordered) // 2, int(0.99 * (len(ordered) - 1)), len(ordered) - 1],
            label=f"{timing.decoder} ({len(ordered):,} shots; {where})",
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    note = "markers: median, 99 %, slowest; compilation not included"
    return _finish(figure, axes, note, outside=True)


def discard_figure(curves: Sequence[DiscardCurve], *, title: str | None = None) -> Figure:
    """Error rate of the shots kept against the share discarded: one line for each curve."""
    first = curves[0]
    rounds = f", {first.rounds} rounds" if first.rounds else ""
    figure, axes = _start(
        title or f"{first.problem}{rounds}: post-selection by confidence",
        "share of shots discarded",
        "logical error rate of the shots kept",
    )
    for curve, style in zip(curves, _styles(), strict=False):
        shares = [x.discards / x.shots for x in curve.points]
        rates: list[Rate | None] = [x.rate for x in curve.points]
        label = f"{curve.decoder}, p = {curve.p:g} ({curve.points[0].shots:,} shots)"
        _plot_rates(axes, shares, rates, label, style)
    axes.set_yscale("log")
    axes.set_xscale("symlog", linthresh=1e-3)
    axes.set_xlim(-1e-4, 0.75)
    return _finish(figure, axes)


def save_figure(figure: Figure, path: str | Path) -> None:
    """Writes the whole file or nothing; the name's ending is its format."""
    file_format = Path(path).suffix.removeprefix(".") or "png"
    known = figure.canvas.get_supported_filetypes()
    if file_format not in known:
        raise ValueError(f"figure must end in one of .{', .'.join(known)}: got {path}.")
    content = io.BytesIO()
    figure.savefig(content, format=file_format, dpi=150)
    write_whole(path, content.getvalue())


def _plot_rates(
    axes: Axes,
    positions: Sequence[float],
    rates: Sequence[Rate | None],
    label: str,
    style: dict[str, Any],
) -> None:
    """Estimates with intervals, joined by a line; upper bounds as arrows, joined by none."""
    points = [(x, rate) for x, rate in zip(positions, rates, strict=True) if rate is not None]
    measured = [(x, rate) for x, rate in points if not rate.is_bound]
    bounds = [(x, rate.high) for x, rate in points if rate.is_bound]
    values = np.array([rate.value for _, rate in measured])
    below = values - [rate.low for _, rate in measured]
    above = [rate.high for _, rate in measured] - values
    axes.errorbar(
        [x for x, _ in measured],
        values,
        yerr=[below, above] if measured else None,
        label=label,
        capsize=3,
        **style,
    )
    if bounds:
        arrows = {**style, "linestyle": "none", "markerfacecolor": "white"}
        places, highs = zip(*bounds, strict=True)
        lengths = [0.4 * high for high in highs]
        axes.errorbar(places, highs, yerr=[lengths, [0] * len(highs)], uplims=True, **arrows)


def _start(title: str, x_label: str, y_label: str) -> tuple[Figure, Axes]:
    # No pyplot: nothing global, no window, nothing to close.
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, fontsize="medium")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(True, which="major", color="0.85")
    axes.grid(True, which="minor", color="0.93", linewidth=0.5)
    axes.set_axisbelow(True)
    return figure, axes


def _finish(
    figure: Figure,
    axes: Axes,
    note: str = "bars: 95 % intervals; arrows: nothing failed, 95 % upper bound",
    outside: bool = False,
) -> Figure:
    """Adds the legend; `outside` for long labels beside lines that fill the axes, or many."""
    handles, labels = axes.get_legend_handles_labels()
    settings: dict[str, Any] = {
        "fontsize": "small",
        "title": note,
        "title_fontsize": "x-small",
        "handlelength": 3.5,
    }
    if (handles and outside) or len(handles) > _MAX_INSIDE:
        figure.set_figheight(figure.get_figheight() + _LABEL_INCHES * len(handles))
        figure.legend(handles, labels, loc="outside lower center", **settings)
    elif handles:
        axes.legend(handles, labels, **settings)
    return figure


def _styles() -> Iterator[dict[str, Any]]:
    number = 0
    while True:
        yield {
            "marker": _MARKERS[number % len(_MARKERS)],
            "linestyle": _LINES[number % len(_LINES)],
            "color": _COLOURS[number % len(_COLOURS)],
            "markersize": 5,
            "linewidth": 1.4,
        }
        number += 1


def _grouped(
    counts: Iterable[Counts], key: Callable[[Counts], Any]
) -> list[tuple[Any, list[Counts]]]:
    """Groups in the order of their first member."""
    groups: dict[Any, list[Counts]] = {}
    for c in counts:
        groups.setdefault(key(c), []).append(c)
    return list(groups.items())


def _decoder(counts: Counts) -> str:
    return counts.point.decoder


def _shots(group: Sequence[Counts]) -> str:
    """'5,000 shots', or the range over the points of a line."""
    low, high = min(c.shots for c in group), max(c.shots for c in group)
    return f"{low:,} shots" if low == high else f"{low:,} to {high:,} shots"


def _title(counts: Sequence[Counts]) -> str:
    if not counts:
        raise ValueError("counts must hold at least one point with shots: got none.")
    return describe_problem(counts)


def _number_ticks(axes: Axes, values: Sequence[float]) -> None:
    """Marks the measured p themselves: powers of ten are too coarse."""
    crowded = len(values) > _LEVEL_TICKS
    labels = [f"{value:g}" for value in values]
    axes.set_xticks(
        values, labels, rotation=45 if crowded else 0, ha="right" if crowded else "center"
    )
    axes.set_xticks([], minor=True)
