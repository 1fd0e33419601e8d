"""What one set of axes shows: rates against p or T, times of single shots, times against T.

Every function draws on axes that it is given: alone in `figures`, beside others in
`paper_figures`. Error bars are 95 % intervals; where nothing failed, an arrow points down from
the upper bound. A line joins three points or more: two always lie on one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from unmasq.evaluation.counts import Counts
from unmasq.evaluation.statistics import Rate
from unmasq.report.names import base_name, decoder_label, is_network, point_label
from unmasq.report.results_folder import Times
from unmasq.report.styles import Style, decoder_styles, series_styles

Published = Mapping[str, Sequence[tuple[float, float]]]  # rates of others: name to (p, rate)

BOUND = "bound"  # marks what an arrow points down from
MIN_LINE = 3  # points that a line joins
_FOREIGN_MARKERS = "x+1234"
_TICK_GAP = 0.07  # of an axis: numbers that stand closer would touch
_LINEAR_UP_TO = 4  # times the fastest
_RATE = "logical error rate per shot"


def draw_rates(
    axes: Axes,
    counts: Sequence[Counts],
    *,
    published: Published | None = None,
    names: Mapping[str, str] | None = None,
) -> bool:
    """Error rate against p, one line for each decoder; whether some stand side by side.

    `published` rates of others are points without line or interval. `names` has words for single
    networks, as `decoder_label` takes them.
    """
    measured = _measured(counts)
    groups = sorted(
        grouped(measured, lambda c: c.point.decoder), key=lambda pair: not is_network(pair[0])
    )
    styles = decoder_styles([decoder for decoder, _ in groups], names)
    labels = _labels([group[0] for _, group in groups], names)
    sparse = len({c.point.p for c in measured}) < MIN_LINE
    for decoder, group in groups:
        group = sorted(group, key=lambda c: c.point.p)
        text = f"{labels[decoder]} ({_shots(group)})"
        rates = [c.rate for c in group]
        aside = _aside(list(styles).index(decoder), len(styles)) if sparse else 1.0
        plot_rates(axes, [c.point.p * aside for c in group], rates, text, styles[decoder])
    for (name, points), marker in zip((published or {}).items(), _FOREIGN_MARKERS, strict=False):
        axes.plot(*zip(*points, strict=True), marker, color="0.35", label=f"{name} (published)")
    axes.set(xlabel="physical error rate p", ylabel=_RATE, xscale="log", yscale="log")
    _number_ticks(axes, sorted({c.point.p for c in measured}))
    return sparse and len(groups) > 1


def draw_steps(
    axes: Axes, counts: Sequence[Counts], *, names: Mapping[str, str] | None = None
) -> None:
    """Error rate against the number T of unmasking steps: one line for each network and p."""
    measured = _measured([c for c in counts if c.point.num_steps is not None])
    lines = grouped(measured, lambda c: (base_name(c.point.decoder), c.point.p))
    for ((network, p), group), style in zip(lines, series_styles(), strict=False):
        group = sorted(group, key=lambda c: c.point.num_steps or 0)
        name = decoder_label(network, names=names)
        steps = [float(c.point.num_steps or 0) for c in group]
        rates = [c.rate for c in group]
        plot_rates(axes, steps, rates, f"{name}, p = {p:g} ({_shots(group)})", style)
    axes.set(xlabel="unmasking steps T", ylabel=_RATE, yscale="log")
    axes.set_xticks(sorted({c.point.num_steps or 0 for c in measured}))


def draw_latencies(
    axes: Axes, times: Sequence[Times], *, names: Mapping[str, str] | None = None
) -> None:
    """Times of single shots against p: the mean, with bars from the fastest to the slowest.

    The thick part of a bar holds 98 % of the shots. Decoders stand side by side; on its second
    device a decoder is hollow.
    """
    groups = grouped(times, lambda one: (one.decoder, one.device))
    styles = decoder_styles([decoder for (decoder, _), _ in groups])
    for number, ((decoder, device), group) in enumerate(groups):
        style = {**styles[decoder], "linestyle": "none"}
        if next(key for key, _ in groups if key[0] == decoder) != (decoder, device):
            style["markerfacecolor"] = "white"
        places = [one.p * _aside(number, len(groups)) ** 3 for one in group]
        for place, one in zip(places, group, strict=True):
            assert one.seconds is not None
            slow = 1e3 * np.quantile(one.seconds, [0, 0.01, 0.99, 1], method="higher")
            axes.vlines(place, slow[0], slow[3], color=style["color"], linewidth=0.8)
            axes.vlines(place, slow[1], slow[2], color=style["color"], linewidth=3, alpha=0.45)
        shots = f"{min(one.calls for one in group):,} shots or more"
        label = f"{decoder_label(decoder, names=names)} ({shots}; {device})"
        axes.plot(places, [one.mean_ms for one in group], label=label, **style)
    axes.set(xlabel="physical error rate p", ylabel="time for one shot (ms), batch 1")
    axes.set(xscale="log", yscale="log")
    _number_ticks(axes, sorted({one.p for one in times}))


def draw_times(
    axes: Axes, times: Sequence[Times], *, names: Mapping[str, str] | None = None
) -> None:
    """Mean time of a single shot against the steps it took: a line for each network and device."""
    lines = grouped(times, lambda one: (base_name(one.decoder), one.device, "tau=" in one.decoder))
    for ((network, device, adaptive), group), style in zip(lines, series_styles(), strict=False):
        label = f"{decoder_label(network, names=names)}, {device}"
        group = sorted(group, key=lambda one: one.steps or 0)
        if len(group) < MIN_LINE:
            style = {**style, "linestyle": "none"}
        axes.plot(
            [one.steps or 0 for one in group],
            [one.mean_ms for one in group],
            label=f"{label}, adaptive" if adaptive else label,
            **style,
        )
    axes.set(xlabel="unmasking steps T", ylabel="mean time for one shot (ms), batch 1")
    axes.set_xticks(sorted({round(one.steps or 0) for one in times}))
    means = [one.mean_ms for one in times]
    if max(means) > _LINEAR_UP_TO * min(means):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("{x:g}")
    else:
        axes.set_ylim(0, 1.1 * max(means))  # a time that doubles shall look so


def draw_missing(axes: Axes, text: str) -> None:
    """Says in the middle of empty axes what is not there."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color="0.35")
    axes.set_xticks([])
    axes.set_yticks([])


def plot_rates(
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
    if len(measured) < MIN_LINE:
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
        arrows = {**style, "linestyle": "none", "markerfacecolor": "white", "gid": BOUND}
        places, highs = zip(*bounds, strict=True)
        lengths = [0.4 * high for high in highs]
        axes.errorbar(places, highs, yerr=[lengths, [0] * len(highs)], uplims=True, **arrows)


def grouped(items: Iterable[Any], key: Callable[[Any], Any]) -> list[tuple[Any, list[Any]]]:
    """Groups in the order of their first member."""
    groups: dict[Any, list[Any]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.items())


def _measured(counts: Sequence[Counts]) -> list[Counts]:
    """Those with shots: of one problem and one noise, as a line joins no others."""
    measured = [c for c in counts if c.shots > c.discards]
    if not measured:
        raise ValueError("counts must hold at least one point with shots: got none.")
    problems = {c.point.problem_key for c in measured}
    if len(problems) > 1:
        raise ValueError(
            f"counts must be of one problem and one noise: got {len(problems)}. "
            "Draw one figure for each."
        )
    return measured


def _aside(number: int, decoders: int) -> float:
    """The factor that sets the points of one p side by side, where no lines keep them apart."""
    return float(1.012 ** (number - (decoders - 1) / 2))


def _labels(counts: Sequence[Counts], names: Mapping[str, str] | None) -> dict[str, str]:
    """A label for each decoder; the hash stands in it where two networks have one label."""
    labels = {c.point.decoder: point_label(c.point, names) for c in counts}
    shared = [label for label in labels.values() if list(labels.values()).count(label) > 1]
    return {
        decoder: f"{label} [{decoder.partition(',')[0]}]" if label in shared else label
        for decoder, label in labels.items()
    }


def _shots(group: Sequence[Counts]) -> str:
    """'5,000 shots', or the range over the points of a line."""
    low, high = min(c.shots for c in group), max(c.shots for c in group)
    return f"{low:,} shots" if low == high else f"{low:,} to {high:,} shots"


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
