"""The paper's figures 2 and 4, panel by panel, from a folder of results.

What a panel needs and the folder does not hold is named in the panel, never drawn. Each number
that is drawn stands in the figure's file, with the name of the results file it comes from.
"""

import dataclasses
import json
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unmasq.evaluation.counts import Counts
from unmasq.report.figures import legend_entries, rates_note, with_grid
from unmasq.report.names import NETWORK, base_name, decoder_label, is_network, usual_name
from unmasq.report.panels import (
    draw_latencies,
    draw_missing,
    draw_rates,
    draw_steps,
    draw_times,
    grouped,
)
from unmasq.report.results_folder import ResultsFolder, Times

_PANEL_INCHES = (5.6, 4.0)
_ALONE_INCHES = (4.6, 3.7)
_LINE_INCHES = 0.17  # of a legend
_LEGEND_LETTERS = 90  # in a line of small letters, as wide as a panel
_LATENCY_NOTE = "mean; thick: 98 % of the shots, thin: all; compilation not included"
_TIMES_P = 0.003
_TIMES_NOTE = f"mean over shots at p = {_TIMES_P}; compilation not included"
_BASELINES = ("bposd-x", "bposd-xz", "relay-xz", "relay5-x", "relay5-xz", "tesseract-x")
_GUESS = f"{NETWORK},tau=4,guess"  # as networks that begin with belief propagation are best asked
_QUATERNARY = ("bp4-osd0", "bp4-osd10", "bp4-osd10-s0.875")


class Shown(NamedTuple):
    """What a panel drew: [file, decoder, p, ...] of each point, a note, and what is not there."""

    rows: list[list[Any]]
    note: str
    missing: list[str]


@dataclasses.dataclass(frozen=True)
class Panel:
    """One set of axes: what it shows, from which files, and what nobody measured."""

    title: str
    show: "Callable[[Axes, Panel, ResultsFolder], Shown]"
    files: tuple[str, ...]  # patterns of names
    decoders: tuple[str, ...] = (NETWORK,)
    absent: tuple[str, ...] = ()  # of the paper's panel, beside decoders without any count


def paper_figure(name: str, folder: ResultsFolder, title: str | None = None) -> Figure:
    """The panels of a figure side by side, two in a row."""
    return _drawn(name, folder, title)[0]


def paper_numbers(name: str, folder: ResultsFolder) -> str:
    """What a figure shows, as JSON: panel to [file, decoder, p, errors, shots kept] of each point.

    Timings are [file, decoder, p, steps, mean in ms, shots].
    """
    return json.dumps(_drawn(name, folder, None)[1])


def panel_figure(panel: Panel, folder: ResultsFolder) -> tuple[Figure, Shown]:
    """One panel alone; its title and what is missing are left to the caller."""
    with matplotlib.rc_context({"font.size": 9, "xtick.labelsize": "small"}):
        figure = Figure(layout="constrained")
        axes = with_grid(figure.add_subplot())
        shown = panel.show(axes, panel, folder)
        lines = _legend(axes, shown.note, size="small")
    figure.set_size_inches(_ALONE_INCHES[0], _ALONE_INCHES[1] + _LINE_INCHES * lines)
    return figure, shown


def _drawn(
    name: str, folder: ResultsFolder, title: str | None
) -> tuple[Figure, dict[str, list[list[Any]]]]:
    own_title, panels = PAPER_FIGURES[name]
    rows = -(-len(panels) // 2)
    figure = Figure(layout="constrained")
    figure.suptitle(own_title if title is None else title, fontsize="medium")
    numbers, lines = {}, 0
    for panel, axes in zip(panels, figure.subplots(rows, 2, squeeze=False).flat, strict=True):
        axes.set_title(panel.title, fontsize="medium", loc="left")
        shown = panel.show(with_grid(axes), panel, folder)
        numbers[panel.title] = shown.rows
        if shown.rows:
            lines = max(lines, _legend(axes, shown.note, shown.missing))
        else:
            draw_missing(axes, "not measured:\n" + "\n".join(shown.missing))
    width, height = _PANEL_INCHES
    figure.set_size_inches(2 * width, rows * (height + _LINE_INCHES * lines))
    return figure, numbers


def show_rates(axes: Axes, panel: Panel, folder: ResultsFolder) -> Shown:
    """Error rate against p, networks as they were trained."""
    counts = [
        (name, c)
        for name, usual, c in _usual_counts(panel, folder)
        if _word(usual, folder) in panel.decoders
    ]
    published = folder.published.get(panel.files[0].removesuffix(".csv"))
    drawn = [c.point.decoder for _, c in counts]
    missing = _missing(panel, folder, drawn)
    if not counts:
        return Shown([], "", missing)
    draw_rates(axes, [c for _, c in counts], names=folder.names, published=published)
    return Shown([_count_row(name, c) for name, c in counts], rates_note(axes), missing)


def show_steps(axes: Axes, panel: Panel, folder: ResultsFolder) -> Shown:
    """Error rate against T, of networks that were asked with three values of T or more."""
    counts = [
        (name, c) for name, usual, c in _usual_counts(panel, folder) if _is_asked_in_steps(c, usual)
    ]
    swept = {_line(c) for _, c in counts if c.point.num_steps == 1}
    counts = [(name, c) for name, c in counts if _line(c) in swept]
    if not counts:
        return Shown([], "", _missing(panel, folder, []))
    draw_steps(axes, [c for _, c in counts], names=folder.names)
    return Shown([_count_row(name, c) for name, c in counts], rates_note(axes), list(panel.absent))


def show_latencies(axes: Axes, panel: Panel, folder: ResultsFolder) -> Shown:
    """Times of single shots against p, where the times of all of them were kept."""
    times = [
        (name, one)
        for name in folder.files(*panel.files)
        for one in folder.times(name)
        if one.seconds is not None and (not is_network(one.decoder) or _is_told(one))
    ]
    missing = _missing(panel, folder, [one.decoder for _, one in times])
    if not times:
        return Shown([], "", missing)
    draw_latencies(axes, [one for _, one in times], names=folder.names)
    return Shown([_time_row(name, one) for name, one in times], _LATENCY_NOTE, missing)


def show_times(axes: Axes, panel: Panel, folder: ResultsFolder) -> Shown:
    """Mean time of a single shot against T."""
    times = [
        (name, one)
        for name in folder.files(*panel.files)
        for one in folder.times(name)
        if one.steps is not None and one.p == _TIMES_P
    ]
    if not times:
        return Shown([], "", _missing(panel, folder, []))
    times = _longest_sweeps(times)
    draw_times(axes, [one for _, one in times], names=folder.names)
    return Shown([_time_row(name, one) for name, one in times], _TIMES_NOTE, list(panel.absent))


def _longest_sweeps(times: Sequence[tuple[str, Times]]) -> list[tuple[str, Times]]:
    """Of each network and device the file with the most T: no line joins two measurements."""
    kept: list[tuple[str, Times]] = []
    for _, group in grouped(times, lambda pair: (base_name(pair[1].decoder), pair[1].device)):
        longest: list[Any] = max((files for _, files in grouped(group, _file_of)), key=len)
        kept += longest
    return kept


def _line(counts: Counts) -> tuple[str, float]:
    return base_name(counts.point.decoder), counts.point.p


def _file_of(pair: tuple[str, Times]) -> str:
    return pair[0]


def _is_told(one: Times) -> bool:
    """The first, the last and the adaptive way of asking: a panel against p has room for these."""
    _, _, way = one.decoder.partition(",")
    return way in ("", "T=1") or way.startswith("tau=")


def _usual_counts(panel: Panel, folder: ResultsFolder) -> list[tuple[str, str, Counts]]:
    """File, usual name and counts of all points of the panel's files."""
    found = [(name, c) for name in folder.files(*panel.files) for c in folder.counts(name)]
    decoders = {c.point.decoder for _, c in found}
    return [(name, usual_name(c.point.decoder, decoders), c) for name, c in found]


def _is_asked_in_steps(counts: Counts, usual: str) -> bool:
    """In T steps and no other way, but for a guess that is the network's own way."""
    if counts.point.asked_in_steps:
        return True
    _, *ways = usual.split(",")
    return counts.point.num_steps is not None and all(way.startswith("T=") for way in ways)


def _word(decoder: str, folder: ResultsFolder) -> str:
    """What a panel calls a decoder: by names.json, or 'unmasq' and the way it is asked."""
    base, comma, way = decoder.partition(",")
    if decoder in folder.names or not is_network(decoder) or base in folder.names:
        return folder.names.get(decoder, decoder)
    return f"{NETWORK}{comma}{way}"


def _missing(panel: Panel, folder: ResultsFolder, drawn: Sequence[str]) -> list[str]:
    """Labels of the panel's decoders without a count, and what else the paper shows there."""
    found = {_word(name, folder) for d in drawn for name in (d, usual_name(d, drawn))}
    found |= {NETWORK for d in drawn if is_network(d) and d not in folder.names}
    return [*(decoder_label(d) for d in panel.decoders if d not in found), *panel.absent]


def _legend(axes: Axes, note: str, missing: Sequence[str] = (), size: str = "x-small") -> int:
    """Below the axes, with what is missing; how many lines it takes."""
    handles, labels = legend_entries(axes)
    if missing:
        note += "\n" + textwrap.fill("not measured: " + "; ".join(missing), _LEGEND_LETTERS)
    if handles:
        axes.legend(
            handles,
            labels,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.14),
            fontsize=size,
            title=note,
            title_fontsize=size,
            handlelength=3.5,
            frameon=False,
        )
    return len(handles) + note.count("\n")


def _count_row(name: str, c: Counts) -> list[Any]:
    return [name, c.point.decoder, c.point.p, c.errors, c.shots - c.discards]


def _time_row(name: str, one: Times) -> list[Any]:
    return [name, one.decoder, one.p, one.steps, one.mean_ms, one.calls]


def _circuit_panels(
    code: str, letters: Sequence[str], absent: str, networks: Sequence[str] = (NETWORK,)
) -> tuple[Panel, ...]:
    rates, ways = f"{code}-circuit.csv", f"{code}-ways.csv"
    timings = (f"{code}-circuit-bench*.json",)
    a, b, c, d = letters
    return (
        Panel(
            f"({a}) error rate against p",
            show_rates,
            (rates,),
            (*networks, *_BASELINES),
            (absent,),
        ),
        Panel(f"({b}) error rate against T", show_steps, (rates, ways)),
        Panel(
            f"({c}) time for one shot against p",
            show_latencies,
            timings,
            (NETWORK, "bposd-x", "bposd-xz"),
            ("AR", "anything on an A100"),
        ),
        Panel(f"({d}) time for one shot against T", show_times, timings),
    )


_LONG = "LR and AR, trained as long as the network"
_GNN = "GNN+OSD (no published numbers at hand)"
# Name to title and panels, as in the paper.
PAPER_FIGURES: dict[str, tuple[str, tuple[Panel, ...]]] = {
    "paper-fig2-bb72": (
        "[[72,12,6]], circuit noise, 6 rounds, basis X (the paper's figure 2, a to d)",
        _circuit_panels("bb72", list("abcd"), _LONG, (NETWORK, "unmasq (attention)")),
    ),
    "paper-fig2-bb144": (
        "[[144,12,12]], circuit noise, 12 rounds, basis X (the paper's figure 2, e to h)",
        _circuit_panels("bb144", list("efgh"), _LONG),
    ),
    "paper-fig4": (
        "Code-capacity noise, X and Z logicals (the paper's figure 4)",
        (
            Panel(
                "(a) [[72,12,6]]",
                show_rates,
                ("bb72-capacity.csv", "bb72-capacity-ways.csv"),
                (NETWORK, _GUESS, "continuous diffusion", *_QUATERNARY),
                (_GNN,),
            ),
            Panel(
                "(b) [[144,12,12]]",
                show_rates,
                ("bb144-capacity.csv", "bb144-capacity-ways.csv"),
                (NETWORK, _GUESS, "continuous diffusion", *_QUATERNARY),
                (_GNN, "AR (none in the paper either)"),
            ),
        ),
    ),
}
