"""Plots of counts and timings, fit to print; decoders look alike in all of them (`styles`).

Every function takes values and returns a matplotlib figure with one set of axes, which `panels`
draws; `figure_files` writes it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from unmasq.evaluation.counts import Counts
from unmasq.evaluation.latency import Timing
from unmasq.evaluation.postselection import DiscardCurve
from unmasq.report.names import code_label, decoder_label, problem_label
from unmasq.report.panels import BOUND, Published, draw_rates, draw_steps, plot_rates
from unmasq.report.styles import decoder_styles, series_styles

_MAX_INSIDE = 5  # labels of a legend that covers no line
_LABEL_INCHES = 0.2
_BARS = "bars: 95 % intervals"
_ARROWS = "; arrows: nothing failed, 95 % upper bound"


def error_rate_figure(
    counts: Sequence[Counts],
    *,
    title: str | None = None,
    published: Published | None = None,
    names: Mapping[str, str] | None = None,
) -> Figure:
    """Error rate against p, as `draw_rates` shows it."""
    figure, axes = _start()
    beside = draw_rates(axes, counts, published=published, names=names)
    axes.set_title(_title(counts, title), fontsize="medium")
    return _finish(figure, axes, beside="; side by side: the same p" * beside)


def steps_figure(
    counts: Sequence[Counts], *, title: str | None = None, names: Mapping[str, str] | None = None
) -> Figure:
    """Error rate against the number T of unmasking steps: one line for each p."""
    figure, axes = _start()
    draw_steps(axes, counts, names=names)
    axes.set_title(_title(counts, title), fontsize="medium")
    return _finish(figure, axes)


def latency_figure(timings: Sequence[Timing], title: str) -> Figure:
    """The share of single shots that take longer than a time."""
    figure, axes = _start()
    axes.set_title(title, fontsize="medium")
    axes.set(xlabel="time for one shot (ms), batch 1", ylabel="share of shots that take longer")
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
    axes.set(xscale="log", yscale="log")
    note = "markers: median, 99 %, slowest; compilation not included"
    return _finish(figure, axes, note, outside=True)


def discard_figure(curves: Sequence[DiscardCurve]) -> Figure:
    """Error rate of the shots kept against the share discarded: one line for each curve."""
    first = curves[0]
    rounds = f", {first.rounds} rounds" if first.rounds else ""
    figure, axes = _start()
    axes.set_title(
        f"{code_label(first.problem)}{rounds}: post-selection by confidence", fontsize="medium"
    )
    for curve, style in zip(curves, series_styles(), strict=False):
        shares = [x.discards / x.shots for x in curve.points]
        rates = [x.rate for x in curve.points]
        label = f"{decoder_label(curve.decoder)}, p = {curve.p:g} ({curve.points[0].shots:,} shots)"
        plot_rates(axes, shares, rates, label, style)
    axes.set(xlabel="share of shots discarded", ylabel="logical error rate of the shots kept")
    axes.set_yscale("log")
    axes.set_xscale("symlog", linthresh=1e-3)
    axes.set_xlim(-1e-4, 0.75)
    return _finish(figure, axes)


def with_grid(axes: Axes) -> Axes:
    """The lines behind the curves, the same in every figure."""
    axes.grid(True, which="major", color="0.85")
    axes.grid(True, which="minor", color="0.93", linewidth=0.5)
    axes.set_axisbelow(True)
    return axes


def legend_entries(axes: Axes) -> tuple[list[Any], list[str]]:
    """Handles and labels, ours first: Matplotlib lists plain lines first, the rates of others."""
    pairs = zip(*axes.get_legend_handles_labels(), strict=True)
    drawn = sorted(pairs, key=lambda pair: isinstance(pair[0], Line2D))
    return [handle for handle, _ in drawn], [label for _, label in drawn]


def rates_note(axes: Axes) -> str:
    """What bars and arrows mean, of those that are drawn."""
    return _BARS + _ARROWS * any(line.get_gid() == BOUND for line in axes.get_lines())


def _start() -> tuple[Figure, Axes]:
    # No pyplot: nothing global, no window, nothing to close.
    figure = Figure(figsize=(7, 5), layout="constrained")
    return figure, with_grid(figure.add_subplot())


def _finish(
    figure: Figure,
    axes: Axes,
    note: str | None = None,
    outside: bool = False,
    beside: str = "",
) -> Figure:
    """Adds the legend; `outside` for long labels beside lines that fill the axes, or many."""
    handles, labels = legend_entries(axes)
    settings: dict[str, Any] = {
        "fontsize": "small",
        "title": note or rates_note(axes) + beside,
        "title_fontsize": "x-small",
        "handlelength": 3.5,
    }
    if (handles and outside) or len(handles) > _MAX_INSIDE:
        figure.set_figheight(figure.get_figheight() + _LABEL_INCHES * len(handles))
        figure.legend(handles, labels, loc="outside lower center", **settings)
    elif handles:
        axes.legend(handles, labels, **settings)
    return figure


def _title(counts: Sequence[Counts], title: str | None) -> str:
    if title is not None:
        return title
    return problem_label(next(c for c in counts if c.shots > c.discards).point)
