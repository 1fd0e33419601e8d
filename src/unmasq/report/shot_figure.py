"""One shot, seen: the detectors frame by frame on the torus, then the logicals step by step."""

import json
import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from unmasq.report.names import problem_label
from unmasq.report.seen_shot import SeenShot

_X, _Z = ("#d55e00", "s"), ("#1646a0", "o")  # checks of the two types: colour and marker
_FLIP, _STAY = "#8e3fb0", "#009e73"  # log-odds above and below 0
_MARKER = 3.5  # points
_WRONG = "#c0392b"
_SURE = 8.0  # |log-odds| from which on a cell has its full colour
_MOST_NUMBERS = 150  # cells that are large enough for their numbers
_WIDTH, _WIDEST = 4.8, 3.2  # inches: of all frames beside each other, of one
_TORUS = "a torus: edges that face each other are one"


def shot_figure(shot: SeenShot, title: str | None = None) -> Figure:
    """Both parts, one above the other."""
    heights = (_frames_inches(shot)[1], _steps_inches(shot)[1])
    width = max(_frames_inches(shot)[0], _steps_inches(shot)[0])
    figure = Figure(figsize=(width, sum(heights) + 0.5), layout="constrained")
    own = f"{problem_label(shot.problem)}\n{shot.words}"
    figure.suptitle(own if title is None else title, fontsize="small", wrap=True)
    grid = figure.add_gridspec(2, 1, height_ratios=heights)
    _draw_frames(figure.add_subfigure(grid[0]), shot)
    _draw_steps(figure.add_subfigure(grid[1]).add_subplot(), shot)
    return figure


def detectors_figure(shot: SeenShot) -> Figure:
    """The first part alone."""
    figure = Figure(figsize=_frames_inches(shot), layout="constrained")
    _draw_frames(figure, shot)
    return figure


def log_odds_figure(shot: SeenShot) -> Figure:
    """The second part alone."""
    figure = Figure(figsize=_steps_inches(shot), layout="constrained")
    _draw_steps(figure.add_subplot(), shot)
    return figure


def shot_numbers(shot: SeenShot) -> str:
    """What the figure shows, as JSON."""
    record = {
        "decoder": shot.decoder,
        "structure_id": shot.problem.structure_id,
        "p": shot.problem.p,
        "seed": shot.seed,
        "shot": shot.number,
        "fired": np.argwhere(shot.fired).tolist(),
        "log_odds": np.round(shot.log_odds.astype(float), 2).tolist(),
        "revealed_at_step": (shot.revealed_at + 1).tolist(),
        "predicted": shot.predicted.tolist(),
        "flipped": shot.truth.tolist(),
    }
    return json.dumps(record)


def _grid(shot: SeenShot) -> tuple[int, int]:
    """Columns and rows of frames: wider than high, whatever the torus."""
    frames, torus = len(shot.fired), shot.torus
    columns = min(frames, math.ceil(math.sqrt(1.6 * frames * torus.m / torus.l)))
    return columns, -(-frames // columns)


def _frames_inches(shot: SeenShot) -> tuple[float, float]:
    columns, rows = _grid(shot)
    across = min(_WIDTH / columns, _WIDEST)
    down = across * shot.torus.m / shot.torus.l
    return _WIDTH, rows * (down + 0.25) + 0.5


def _steps_inches(shot: SeenShot) -> tuple[float, float]:
    steps, logicals = shot.log_odds.shape
    return max(_WIDTH, 1.6 + 0.27 * steps), 1.0 + 0.22 * logicals


def _draw_frames(figure: Figure | SubFigure, shot: SeenShot) -> None:
    columns, rows = _grid(shot)
    grid = figure.subplots(rows, columns, squeeze=False)
    for number, axes in enumerate(grid.flat):
        if number < len(shot.fired):
            _draw_frame(axes, shot, number)
        else:
            axes.set_axis_off()
    kinds = (("X check fired", *_X), ("Z check fired", *_Z))
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=5, label=label)
        for label, colour, marker in kinds
    ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=2,
        fontsize="x-small",
        frameon=False,
        title=_TORUS,
        title_fontsize="x-small",
    )


def _draw_frame(axes: Axes, shot: SeenShot, number: int) -> None:
    """Check x^u y^v at (u, v): X checks a little up and left of it, Z checks down and right."""
    torus = shot.torus
    u, v = np.divmod(np.arange(torus.sites), torus.m)
    fired = shot.fired[number].reshape(2, -1)
    for (colour, marker), aside, flags in zip((_X, _Z), (-0.2, 0.2), fired, strict=True):
        axes.plot(u + aside, v + aside, ".", color="0.8", markersize=1.5)
        at = u[flags] + aside, v[flags] + aside
        axes.plot(*at, marker, color=colour, markersize=_MARKER, linestyle="none")
    axes.set_title(f"frame {number}", fontsize="x-small", pad=3)
    axes.set(xlim=(-0.6, torus.l - 0.4), ylim=(torus.m - 0.4, -0.6), aspect="equal")
    axes.set_xticks([])
    axes.set_yticks([])
    for edge in axes.spines.values():
        edge.set_color("0.7")


def _draw_steps(axes: Axes, shot: SeenShot) -> None:
    """One row for each logical in the order of their reveal, one column for each step."""
    steps, logicals = shot.log_odds.shape
    # Of one step the surest first.
    sureness = np.abs(shot.log_odds[shot.revealed_at, np.arange(logicals)])
    order = np.lexsort((-sureness, shot.revealed_at))
    numbers = steps * logicals <= _MOST_NUMBERS
    for row, k in enumerate(order):
        for step in range(shot.revealed_at[k] + 1):
            _draw_cell(axes, step, row, float(shot.log_odds[step, k]), numbers)
        last = float(shot.revealed_at[k])
        axes.add_patch(Rectangle((last - 0.5, row - 0.5), 1, 1, fill=False, linewidth=1.6))
        axes.plot([last + 0.5, steps - 0.5], [row, row], color="0.75", linewidth=0.8)
        _draw_outcome(axes, steps, row, shot, int(k))
    axes.set(xlim=(-0.5, steps + 1.6), ylim=(logicals - 0.5, -0.5))
    shown = range(steps) if steps <= 12 else range(0, steps, 3)
    axes.set_xticks(list(shown), [str(step + 1) for step in shown], fontsize="x-small")
    axes.set_yticks(range(logicals), [f"logical {k}" for k in order], fontsize="x-small")
    axes.tick_params(length=0)
    axes.set_xlabel(
        "unmasking step; outlined: the logical is revealed\nlog-odds that it flipped: violet "
        f"above 0, green below, full colour from {_SURE:g}",
        fontsize="x-small",
    )
    for edge in axes.spines.values():
        edge.set_visible(False)


def _draw_cell(axes: Axes, step: int, row: int, value: float, number: bool) -> None:
    colour = _FLIP if value > 0 else _STAY
    strength = 0.08 + 0.72 * min(abs(value) / _SURE, 1.0)
    corner = (step - 0.5, row - 0.5)
    axes.add_patch(Rectangle(corner, 1, 1, facecolor=colour, alpha=strength, linewidth=0))
    if number:
        axes.text(step, row, f"{value:.1f}", ha="center", va="center", fontsize=5.5)


def _draw_outcome(axes: Axes, steps: int, row: int, shot: SeenShot, k: int) -> None:
    """'1 ✓', or '0 ✗ was 1' in red."""
    wrong = bool(shot.wrong[k])
    words = f"{shot.predicted[k]} ✗ was {shot.truth[k]}" if wrong else f"{shot.predicted[k]} ✓"
    style: dict[str, Any] = {"color": _WRONG, "weight": "bold"} if wrong else {}
    axes.text(steps - 0.3, row, words, va="center", fontsize="x-small", **style)
