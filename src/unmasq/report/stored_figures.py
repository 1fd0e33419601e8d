"""Every figure that a folder of results holds, by its name, with the numbers behind it."""

import collections
import dataclasses
import functools
import re
from collections.abc import Callable, Sequence

from matplotlib.figure import Figure

from unmasq.evaluation.counts import Counts
from unmasq.evaluation.stats_file import read_counts
from unmasq.report.attention_figure import ATTENTION, attention_figure, attention_numbers
from unmasq.report.figure_files import numbers_of
from unmasq.report.figures import error_rate_figure, steps_figure
from unmasq.report.names import NETWORK, is_network
from unmasq.report.panels import MIN_LINE, grouped
from unmasq.report.paper_figures import (
    PAPER_FIGURES,
    panel_figure,
    paper_figure,
    paper_numbers,
)
from unmasq.report.results_folder import ResultsFolder

Draw = Callable[[str | None], Figure]  # takes a title; None for the figure's own


@dataclasses.dataclass(frozen=True)
class StoredFigure:
    """A figure that can be drawn, and what it shows, as JSON."""

    draw: Draw
    numbers: str
    csv_stem: str | None = None  # of the one file whose rates it shows


def stored_figures(
    folder: ResultsFolder, decoders: Sequence[str] | None = None
) -> dict[str, StoredFigure]:
    """Rates of each CSV with three values of p, sweeps of T of each model, the paper's figures.

    Points of another problem or noise make another figure: no line joins them. With `decoders`
    there are no figures of the paper, for what those show is fixed.
    """
    found: dict[str, StoredFigure] = {}
    for path in folder.csv_files:
        found |= _rates_of_file(folder, path.stem, _shown(read_counts(path), decoders))
    everything = _shown(read_counts(*folder.csv_files), decoders)
    if decoders is not None and not everything:
        raise ValueError(f"--decoders must be of those in the CSVs: got {', '.join(decoders)}.")
    return found | _sweeps(folder, everything) | (_papers(folder) if decoders is None else {})


def _rates_of_file(
    folder: ResultsFolder, stem: str, counts: Sequence[Counts]
) -> dict[str, StoredFigure]:
    """One figure for each problem with a line, named after the file, and after it if not alone."""
    found = {}
    problems = grouped(counts, lambda c: c.point.problem_key)
    for (_, noise, problem), group in problems:
        if len({c.point.p for c in group}) >= MIN_LINE:
            name = stem if len(problems) == 1 else _file_name(f"{stem}-{problem}-{noise}")
            published = folder.published.get(stem)
            draw = _drawing(error_rate_figure, group, names=folder.names, published=published)
            found[name] = StoredFigure(draw, numbers_of(group), stem)
    return found


def _sweeps(folder: ResultsFolder, counts: Sequence[Counts]) -> dict[str, StoredFigure]:
    """Rates against T of each model that was asked with three values of T."""
    found = {}
    plain = [c for c in counts if c.point.model_hash and c.point.asked_in_steps]
    models = sorted(grouped(plain, lambda c: (c.point.model_hash, *c.point.problem_key)))
    problems = collections.Counter(model for (model, *_), _ in models)
    for (model, _, noise, problem), group in models:
        points = collections.Counter(c.point.p for c in group)
        swept = [c for c in group if points[c.point.p] >= MIN_LINE]
        if swept:
            own = "" if problems[model] == 1 else f"-{problem}-{noise}"
            name = _file_name(f"{NETWORK}-{model[:8]}{own}-steps")
            found[name] = StoredFigure(
                _drawing(steps_figure, swept, names=folder.names), numbers_of(swept)
            )
    return found


def _papers(folder: ResultsFolder) -> dict[str, StoredFigure]:
    """The paper's figures of which the folder has something."""
    found = {}
    for name, (_, panels) in PAPER_FIGURES.items():
        if any(folder.files(*panel.files) for panel in panels):
            draw = functools.partial(paper_figure, name, folder)
            found[name] = StoredFigure(draw, paper_numbers(name, folder))
    if folder.files(ATTENTION):
        draw = functools.partial(attention_figure, folder)
        found["paper-fig3"] = StoredFigure(draw, attention_numbers(folder))
    return dict(sorted(found.items()))


def unmeasured(folder: ResultsFolder) -> list[str]:
    """A line for each of the paper's figures of which the folder has nothing, and for parts."""
    found = []
    for name, (_, panels) in PAPER_FIGURES.items():
        for panel in panels:
            lack = panel_figure(panel, folder)[1].missing
            found += [f"{name} {panel.title}: not measured: {'; '.join(lack)}."] if lack else []
    if not folder.files(ATTENTION):
        found.append(f"paper-fig3: not measured: trained attention beside J ({ATTENTION}).")
    return found


def _drawing(figure: Callable[..., Figure], counts: Sequence[Counts], **words: object) -> Draw:
    return lambda title: figure(counts, title=title, **words)


def _shown(counts: Sequence[Counts], decoders: Sequence[str] | None) -> list[Counts]:
    if decoders is None:
        return list(counts)

    def is_shown(name: str) -> bool:
        return name in decoders or (NETWORK in decoders and is_network(name))

    return [c for c in counts if is_shown(c.point.decoder)]


def _file_name(words: str) -> str:
    return re.sub(r"[^\w.]+", "-", words)
