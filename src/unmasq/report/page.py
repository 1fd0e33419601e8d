"""One self-contained page: figures, counts, claims, tables and model cards, from stored results.

No script, no font and nothing else is fetched. What the folder does not hold is named, not drawn.
"""

import dataclasses
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from unmasq.decoding.model_store import ModelFile
from unmasq.evaluation.counts import Counts
from unmasq.evaluation.statistics import clopper_pearson
from unmasq.files.provenance import provenance
from unmasq.report.attention_figure import ATTENTION, attention_figure
from unmasq.report.inline_svg import inline_svg, palette
from unmasq.report.markdown import html_of, slug, table_html
from unmasq.report.names import decoder_label, point_label, problem_label
from unmasq.report.paper_figures import PAPER_FIGURES, Panel, panel_figure
from unmasq.report.paper_page import VERDICTS, claims, filled
from unmasq.report.results_folder import ResultsFolder
from unmasq.report.seen_shot import followed_model, telling_shots
from unmasq.report.shot_figure import detectors_figure, log_odds_figure

_OPEN_ROWS = 6  # of a table of counts that need not be unfolded
STYLE = Path(__file__).with_name("page.css")
_LEAD = """
Diffusion decoders for quantum LDPC codes: what the paper of Liu, Gong and Clark
(<a href="https://arxiv.org/abs/2509.22347">arXiv:2509.22347</a>) shows, and what was counted here.
Every point stands in the table below its picture, with the file of <code>results/</code> that it
comes from; the commands are in its README. Rates are per shot: a shot fails if any of its logicals
is predicted wrong. Intervals are exact 95&nbsp;% ones; where nothing failed, the rate is an upper
bound with 95&nbsp;% confidence. What nobody has measured yet is named, never drawn.
"""
_SHOT_WORDS = """
The method in one picture. A detector fires where a check differs from the round before. The
network reads all of them once. Then it says of each logical how likely it is that it flipped,
reveals the one it is surest of, and looks again at the others, now that this one is known.
"""


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of the page; `missing` is what it lacks, by name."""

    title: str
    html: str
    missing: tuple[str, ...] = ()


def page(sections: Sequence[Section]) -> str:
    """The whole document."""
    light, dark = palette(section.html for section in sections)
    contents = "".join(
        f'<li><a href="#{slug(section.title)}">{escape(section.title)}</a></li>'
        for section in sections
    )
    body = "\n".join(
        f'<section id="{slug(section.title)}">\n<h2>{escape(section.title)}</h2>\n'
        f"{section.html}\n</section>"
        for section in sections
    )
    style = STYLE.read_text(encoding="utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>unmasq: the paper, redrawn</title>
<style>
{style}:root{{{light}}}
@media (prefers-color-scheme: dark){{:root{{{dark}}}}}
</style>
</head>
<body>
<header>
<h1>The paper, redrawn</h1>
<p>{_LEAD}</p>
<nav aria-label="Contents"><ul>{contents}</ul></nav>
</header>
<main>
{body}
</main>
<footer><p>Made by {escape(provenance())} with <code>unmasq report</code>.</p></footer>
</body>
</html>
"""


def missing_section(sections: Sequence[Section]) -> Section:
    """Everything that other sections lack, in one place."""
    rows = [
        [f'<a href="#{slug(section.title)}">{escape(section.title)}</a>', escape(missing)]
        for section in sections
        for missing in section.missing
    ]
    text = "<p>These parts of the paper have no counts in the folder yet, or only some.</p>"
    return Section("Not measured", text + table_html(["where", "what"], rows))


def shot_section(model: str) -> Section:
    """Two shots step by step; where the network cannot run here, the reason."""
    title = "One shot, seen"
    try:
        shots = telling_shots(*followed_model(model))
    except (ValueError, OSError) as error:
        words = f"the shots of {model}: {error}"
        return Section(title, f'<p class="missing">Not drawn: {escape(words)}</p>', (words,))
    parts = [f"<p>{_SHOT_WORDS}</p>"]
    for shot in shots:
        words = escape(shot.words)
        detectors = figure_html(
            detectors_figure(shot), f"shot-{shot.number}-detectors", "Detectors", "<b>Detectors</b>"
        )
        steps = figure_html(
            log_odds_figure(shot), f"shot-{shot.number}-steps", "Log-odds", "<b>Logicals</b>"
        )
        parts.append(f'<p>{words}</p><div class="panels">{detectors}{steps}</div>')
    return Section(title, "\n".join(parts))


def paper_sections(folder: ResultsFolder) -> list[Section]:
    """The paper's figures 2 to 4, panel by panel."""
    found = []
    for name, (title, panels) in PAPER_FIGURES.items():
        drawn = [_panel(f"{name}-{number}", panel, folder) for number, panel in enumerate(panels)]
        html = "\n".join(part for part, _ in drawn)
        missing = tuple(text for _, texts in drawn for text in texts)
        found.append(Section(_heading(title), f'<div class="panels">\n{html}\n</div>', missing))
    found.insert(2, _attention_section(folder))
    return found


def claims_sections(
    path: Path, folder: ResultsFolder, models: Sequence[ModelFile]
) -> list[Section]:
    """docs/paper.md with its tables written from the folder: the verdicts, then part by part."""
    if not path.exists():
        lack = f"{path}: no such file"
        return [Section("Claims", f'<p class="missing">{escape(lack)}.</p>', (lack,))]
    text = filled(path.read_text(encoding="utf-8"), folder, models)
    start, *parts = re.split(r"^## ", text, flags=re.M)
    headings = list(claims(text))
    found = [Section("Claims", _claims_html(start.partition("\n")[2], headings))]
    for part in parts:
        title, _, body = part.partition("\n")
        prefix = "" if title.startswith("Table") else "Claims: "
        found.append(Section(f"{prefix}{title}", _claims_html(body, headings)))
    return found


def _claims_html(text: str, headings: Sequence[str]) -> str:
    """Verdicts as labels, headings as anchors for the first table, long tables folded."""
    html = html_of(text, level=1, link=_outside)
    for heading in headings:
        name, words = slug(heading), escape(heading, quote=False)
        html = html.replace(f"<h3>{words}</h3>", f'<h3 id="{name}">{words}</h3>')
        html = html.replace(f"<td>{words}</td>", f'<td><a href="#{name}">{words}</a></td>')
    for verdict in VERDICTS:
        label = f'<strong class="verdict {slug(verdict)}">{verdict}</strong>'
        for end in ("", "."):
            html = html.replace(f"<strong>{verdict}{end}</strong>", label)
    html = html.replace("<p>Not measured (", '<p class="missing">Not measured (')
    return re.sub(r'<div class="wide">.*?</div>', _fold_if_counts, html, flags=re.S)


def _fold_if_counts(table: re.Match[str]) -> str:
    rows = table[0].count("<tr>") - 1
    if "failures / shots" in table[0] and rows > _OPEN_ROWS:
        return _folded(f"the counts ({rows} rows)", table[0])
    return table[0]


def counts_section(folder: ResultsFolder) -> Section:
    """All counts of the folder, file by file."""
    parts = [_file_table(path.name, folder.counts(path.name)) for path in folder.csv_files]
    return Section("All counts", "\n".join(parts))


def cards_section(models: Sequence[ModelFile]) -> Section:
    """The models' own cards."""
    parts = []
    for model in models:
        path = model.path.with_suffix(".md")
        if path.exists():
            text = path.read_text(encoding="utf-8").partition("\n")[2]
            summary = f"<code>{escape(model.name)}</code>, {model.num_parameters:,} parameters"
            parts.append(_folded(summary, html_of(text, level=3, link=_outside)))
    return Section("Model cards", "\n".join(parts))


def figure_html(figure: Figure, name: str, label: str, caption: str = "", after: str = "") -> str:
    """A picture with its caption."""
    words = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f"<figure>{words}{inline_svg(figure, name, label)}{after}</figure>"


def _panel(name: str, panel: Panel, folder: ResultsFolder) -> tuple[str, list[str]]:
    figure, shown = panel_figure(panel, folder)
    caption = f"<b>{escape(panel.title)}</b>"
    lack = f'<p class="missing">Not measured: {escape("; ".join(shown.missing))}.</p>'
    missing = [f"{panel.title}: {text}" for text in shown.missing]
    if not shown.rows:
        files = f"<p>Drawn from {escape(', '.join(panel.files))}.</p>"
        return (
            f'<figure class="empty"><figcaption>{caption}</figcaption>{lack}{files}</figure>',
            missing,
        )
    numbers = _folded("the numbers", _points(shown.rows, folder))
    after = (lack if shown.missing else "") + numbers
    return figure_html(figure, name, panel.title, caption, after), missing


def _points(rows: Sequence[Sequence[Any]], folder: ResultsFolder) -> str:
    """What a panel drew: [file, decoder, p, errors, shots], or times with steps, mean and shots."""
    cells = []
    for file, decoder, p, *rest in rows:
        name = escape(decoder_label(decoder, names=folder.names))
        if len(rest) == 2:
            errors, shots = rest
            values = [f"{errors:,} / {shots:,}", escape(str(clopper_pearson(errors, shots)))]
        else:
            steps, mean, shots = rest
            values = ["" if steps is None else f"{steps:.3g}", f"{mean:.3g}", f"{shots:,}"]
        cells.append([f"{p:g}", name, *values, f"<code>{escape(decoder)}</code>", escape(file)])
    counted = ["failures / shots", "rate [95 %]"]
    timed = ["steps", "mean (ms)", "shots"]
    head = ["p", "decoder", *(counted if len(rows[0]) == 5 else timed), "in the file", "file"]
    return table_html(head, cells)


def _attention_section(folder: ResultsFolder) -> Section:
    title = "Figure 3: attention beside the structure of the code"
    if not folder.files(ATTENTION):
        lack = f"trained attention against J ({ATTENTION}, by benchmarks/attention.py)"
        text = f'<figure class="empty"><p class="missing">Not measured: {lack}.</p></figure>'
        return Section(title, text, (lack,))
    return Section(title, figure_html(attention_figure(folder), "attention", title))


def _file_table(name: str, counts: Sequence[Counts]) -> str:
    """One row for each decoder, problem and p."""
    several = len({c.point.problem_key for c in counts}) > 1
    rows = [
        [
            *([escape(problem_label(c.point))] if several else []),
            f"{c.point.p:g}",
            escape(point_label(c.point)),
            f"<code>{escape(c.point.decoder)}</code>",
            f"{c.errors:,} / {c.shots - c.discards:,}",
            escape(str(c.rate)),
        ]
        for c in sorted(counts, key=lambda c: (*c.point.problem_key, c.point.p, c.point.decoder))
        if c.shots > c.discards
    ]
    head = ["p", "decoder", "in the file", "failures / shots", "rate [95 %]"]
    about = "" if several or not counts else f": {escape(problem_label(counts[0].point))}"
    summary = f"<code>{escape(name)}</code>{about} ({len(rows)} points)"
    return _folded(summary, table_html(["problem", *head] if several else head, rows))


def _folded(summary: str, html: str) -> str:
    return f"<details><summary>{summary}</summary>\n{html}\n</details>"


def _heading(title: str) -> str:
    """'Figure 4: Code-capacity noise' for 'Code-capacity noise (the paper's figure 4)'."""
    words, _, place = title.removesuffix(")").partition(" (the paper's ")
    return f"{place[0].upper()}{place[1:]}: {words}"


def _outside(target: str) -> str | None:
    """Links to other files of the repository lead nowhere from a single page."""
    return target if target.startswith(("https://", "#")) else None
