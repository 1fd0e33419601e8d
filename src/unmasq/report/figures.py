"""Plots of counts and timings, fit to print; decoders look alike in all of them (`styles`).

Every function takes values and returns a matplotlib figure; `figure_files` writes it. Error bars
are 95 % intervals; where nothing failed, an arrow points down from the upper bound. A line joins
three points or more: two always lie on one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from unmasq.evaluation.counts import Counts
from unmasq.evaluation.latency import Timing
from unmasq.evaluation.postselection import DiscardCurve
from unmasq.evaluation.statistics import Rate
from unmasq.report.names import code_label, decoder_label, is_network, problem_label
from unmasq.report.styles import Style, decoder_styles, series_styles

_FOREIGN_MARKERS = "x+1234"
_MAX_INSIDE = 5  # labels of a legend that covers no line
_LABEL_INCHES = 0.2
_TICK_GAP = 0.07  # of an axis: numbers that stand closer would touch
_BOUND = "bound"  # marks what an arrow points down from
_MIN_LINE = 3  # points that a line joins
_BARS = "bars: 95 % intervals"
_ARROWS = "; arrows: nothing failed, 95 % upper bound"
_RATE = "logical error rate per shot"


def error_rate_figure(
    counts: Sequence[Counts],
    *,
    title: str | None = None,
    published: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    names: Mapping[str, str] | None = None,
) -> Figure:
    """Error rate against p: one line for each decoder.

    `published` rates of others, (p, rate) by name, are points without line or interval. `names`
    has words for single networks, as `decoder_label` takes them.
    """
    measured = [c for c in counts if c.shots > c.discards]
    figure, axes = _start(_title(measured, title), "physical error rate p", _RATE)
    groups = sorted(
        _grouped(measured, lambda c: c.point.decoder), key=lambda pair: not is_network(pair[0])
    )
    styles = decoder_styles([decoder for decoder, _ in groups], names)
    labels = _labels([group[0] for _, group in groups], names)
    sparse = len({c.point.p for c in measured}) < _MIN_LINE
    for decoder, group in groups:
        group = sorted(group, key=lambda c: c.point.p)
        text = f"{labels[decoder]} ({_shots(group)})"
        rates = [c.rate for c in group]
        aside = _aside(list(styles).index(decoder), len(styles)) if sparse else 1.0
        _plot_rates(axes, [c.point.p * aside for c in group], rates, text, styles[decoder])
    for (name, points), marker in zip((published or {}).items(), _FOREIGN_MARKERS, strict=False):
        axes.plot(*zip(*points, strict=True), marker, color="0.35", label=f"{name} (published)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    _number_ticks(axes, sorted({c.point.p for c in measured}))
    return _finish(figure, axes, beside="; side by side: the same p" * (sparse and len(groups) > 1))


def steps_figure(
    counts: Sequence[Counts], *, title: str | None = None, names: Mapping[str, str] | None = None
) -> Figure:
    """Error rate against the number T of unmasking steps: one line for each p."""
    measured = [c for c in counts if c.shots > c.discards and c.point.num_steps is not None]
    figure, axes = _start(_title(measured, title), "unmasking steps T", _RATE)
    by_p = _grouped(measured, lambda c: c.point.p)
    for (p, group), style in zip(by_p, series_styles(), strict=False):
        group = sorted(group, key=lambda c: c.point.num_steps or 0)
        name = decoder_label(group[0].point.decoder.partition(",")[0], names=names)
        steps = [float(c.point.num_steps or 0) for c in group]
        rates = [c.rate for c in group]
        _plot_rates(axes, steps, rates, f"{name}, p = {p:g} ({_shots(group)})", style)
    axes.set_yscale("log")
    axes.set_xticks(sorted({c.point.num_steps or 0 for c in measured}))
    return _finish(figure, axes)


def latency_figure(timings: Sequence[Timing], title: str) -> Figure:
    """The share of single shots that take longer than a time."""
    figure, axes = _start(
        title, "time for one shot (ms), batch 1", "share of shots that take longer"
    )
    styles = decoder_styles([timing.decoder for timing in timings])
    for timing in timings:
        style = styles[timing.decoder]
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
            label=f"{decoder_label(timing.decoder)} ({len(ordered):,} shots; {where})",
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    note = "markers: median, 99 %, slowest; compilation not included"
    return _finish(figure, axes, note, outside=True)


def discard_figure(curves: Sequence[DiscardCurve]) -> Figure:
    """Error rate of the shots kept against the share discarded: one line for each curve."""
    first = curves[0]
    rounds = f", {first.rounds} rounds" if first.rounds else ""
    figure, axes = _start(
        f"{code_label(first.problem)}{rounds}: post-selection by confidence",
        "share of shots discarded",
        "logical error rate of the shots kept",
    )
    for curve, style in zip(curves, series_styles(), strict=False):
        shares = [x.discards / x.shots for x in curve.points]
        rates = [x.rate for x in curve.points]
        label = f"{decoder_label(curve.decoder)}, p = {curve.p:g} ({curve.points[0].shots:,} shots)"
        _plot_rates(axes, shares, rates, label, style)
    axes.set_yscale("log")
    axes.set_xscale("symlog", linthresh=1e-3)
    axes.set_xlim(-1e-4, 0.75)
    return _finish(figure, axes)


def _plot_rates(
    axes: Axes,
    positions: Sequence[float],
    rates: Sequence[Rate],
    label: str,
    style: Style,
) -> None:
    """Estimates with intervals, three or more joined by a line; upper bounds as arrows."""
    points = list(zip(positions, rates, strict=True))
    measured = [(x, rate) for x, rate in points if not rate.is_bound]
    bounds = [(x, rate.high) for x, rate in points if rate.is_bound]
    values = np.array([rate.value for _, rate in measured])
    below = values - [rate.low for _, rate in measured]
    above = [rate.high for _, rate in measured] - values
    if len(measured) < _MIN_LINE:
        style = {**style, "linestyle": "none"}
    axes.errorbar(
        [x for x, _ in measured],
        values,
        yerr=[below, above] if measured else None,
        label=label,
        capsize=3,
        **style,
    )
    if bounds:
        arrows = {**style, "linestyle": "none", "markerfacecolor": "white", "gid": _BOUND}
        places, highs = zip(*bounds, strict=True)
        lengths = [0.4 * high for high in highs]
        axes.errorbar(places, highs, yerr=[lengths, [0] * len(highs)], uplims=True, **arrows)


def _aside(number: int, decoders: int) -> float:
    """The factor that sets the points of one p side by side, where no lines keep them apart."""
    return float(1.012 ** (number - (decoders - 1) / 2))


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
    note: str | None = None,
    outside: bool = False,
    beside: str = "",
) -> Figure:
    """Adds the legend; `outside` for long labels beside lines that fill the axes, or many."""
    handles, labels = axes.get_legend_handles_labels()
    # Matplotlib lists plain lines first, and those are the rates of others.
    drawn = sorted(zip(handles, labels, strict=True), key=lambda pair: isinstance(pair[0], Line2D))
    handles, labels = [handle for handle, _ in drawn], [label for _, label in drawn]
    if note is None:
        note = _BARS + _ARROWS * any(line.get_gid() == _BOUND for line in axes.get_lines())
        note += beside
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


def _grouped(
    counts: Iterable[Counts], key: Callable[[Counts], Any]
) -> list[tuple[Any, list[Counts]]]:
    """Groups in the order of their first member."""
    groups: dict[Any, list[Counts]] = {}
    for c in counts:
        groups.setdefault(key(c), []).append(c)
    return list(groups.items())


def _labels(counts: Sequence[Counts], names: Mapping[str, str] | None) -> dict[str, str]:
    """A label for each decoder; the hash stands in it where two networks have one label."""
    labels = {
        c.point.decoder: decoder_label(c.point.decoder, c.point.num_steps, names) for c in counts
    }
    shared = [label for label in labels.values() if list(labels.values()).count(label) > 1]
    return {
        decoder: f"{label} [{decoder.partition(',')[0]}]" if label in shared else label
        for decoder, label in labels.items()
    }


def _shots(group: Sequence[Counts]) -> str:
    """'5,000 shots', or the range over the points of a line."""
    low, high = min(c.shots for c in group), max(c.shots for c in group)
    return f"{low:,} shots" if low == high else f"{low:,} to {high:,} shots"


def _title(counts: Sequence[Counts], title: str | None) -> str:
    if not counts:
        raise ValueError("counts must hold at least one point with shots: got none.")
    if title is not None:
        return title
    return problem_label(counts[0].point)


def _number_ticks(axes: Axes, values: Sequence[float]) -> None:
    """Marks the measured p themselves, powers of ten being too coarse; no two numbers touch."""
    places = np.log(values) / max(np.ptp(np.log(values)), 1e-9)
    shown: list[int] = []
    for number in reversed(range(len(values))):
        if not shown or places[shown[-1]] - places[number] > _TICK_GAP:
            shown.append(number)
    axes.set_xticks([values[i] for i in shown], [f"{values[i]:g}" for i in shown])
    axes.set_xticks(values, minor=True)
    axes.set_xticklabels([], minor=True)
