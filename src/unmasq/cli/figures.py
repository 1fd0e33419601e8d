"""`unmasq figures`: plots of all stored counts, one file each."""

import collections
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmasq.cli.decoder_choice import NETWORK
from unmasq.report.names import is_network
from unmasq.suggest import nearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unmasq.evaluation.counts import Counts

NAMES = "names.json"  # in the folder: what single networks are called, "unmasq-<hash8>" to words
PUBLISHED = "published.json"  # rates of others: CSV's stem to name to [p, rate] pairs
Published = dict[str, list[tuple[float, float]]]
FORMATS = ("png", "pdf", "svg")
MIN_VALUES = 3  # of p or T that make a line
SWEEP = "-steps"  # ends the name of a sweep's figure


def figures(
    source: Annotated[Path, typer.Option("--from", help="Folder of CSVs.")] = Path("results"),
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("figures"),
    only: Annotated[
        list[str] | None, typer.Option(help="Draw these alone, by their names without ending.")
    ] = None,
    decoders: Annotated[
        list[str] | None,
        typer.Option(help="Draw these alone, by their names in the CSVs; unmasq: all networks."),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Another title, for one figure; '' for none.")
    ] = None,
    file_format: Annotated[str, typer.Option("--format", help="png, pdf or svg.")] = "png",
) -> None:
    """Draw error rates against p, and against T, from stored CSVs.

    There is one figure for every CSV with three values of p, and one for every model that was
    asked with three values of T. A file that ends in .svg, .pdf or .png also holds its numbers.
    """
    from unmasq.report.figure_files import numbers_of, save_figure

    if file_format not in FORMATS:
        raise ValueError(f"--format must be {', '.join(FORMATS)}: got '{file_format}'.")
    paths = sorted(source.glob("*.csv"))
    if not paths:
        raise ValueError(f"--from must be a folder with CSVs of `unmasq evaluate`: got {source}.")
    names = _read(source / NAMES, "decoder to name")
    published = _published(source / PUBLISHED)
    found = _figures(paths, decoders)
    wanted = _chosen(found, only)
    if title is not None and len(wanted) != 1:
        raise ValueError(f"--title must go with one figure: got {len(wanted)}. Name it by --only.")
    out.mkdir(parents=True, exist_ok=True)
    for stem in wanted:
        path = out / f"{stem}.{file_format}"
        figure = _draw(stem, found[stem], title, names, published)
        save_figure(figure, path, numbers_of(found[stem]))
        print(path)
    for path in paths:
        if only is None and path.stem not in found:
            print(
                f"{path}: no line to draw, which takes {MIN_VALUES} values of p.", file=sys.stderr
            )


def _figures(paths: Sequence[Path], decoders: Sequence[str] | None) -> "dict[str, list[Counts]]":
    """The counts of each figure, by its name: rates of a CSV, or the sweep of T of a model."""
    from unmasq.evaluation.stats_file import read_counts

    by_file = {path.stem: _shown(read_counts(path), decoders) for path in paths}
    found = {
        stem: list(counts)
        for stem, counts in by_file.items()
        if len({c.point.p for c in counts}) >= MIN_VALUES
    }
    everything = _shown(read_counts(*paths), decoders)
    if decoders is not None and not everything:
        raise ValueError(f"--decoders must be of those in the CSVs: got {', '.join(decoders)}.")
    for model in sorted({c.point.model_hash for c in everything if c.point.model_hash}):
        plain = [c for c in everything if c.point.model_hash == model and _is_plain(c)]
        points = collections.Counter(c.point.p for c in plain)
        swept = [c for c in plain if points[c.point.p] >= MIN_VALUES]
        if swept:
            found[f"unmasq-{model[:8]}{SWEEP}"] = swept
    return found


def _shown(counts: "Sequence[Counts]", decoders: Sequence[str] | None) -> "list[Counts]":
    if decoders is None:
        return list(counts)

    def is_shown(name: str) -> bool:
        return name in decoders or (NETWORK in decoders and is_network(name))

    return [c for c in counts if is_shown(c.point.decoder)]


def _chosen(found: Iterable[str], only: Sequence[str] | None) -> list[str]:
    found = list(found)
    for name in only or ():
        if name not in found:
            raise ValueError(
                f"--only must be of {', '.join(found)}: got '{name}'.{nearest(name, found)}"
            )
    return [name for name in found if only is None or name in only]


def _draw(
    stem: str,
    counts: "Sequence[Counts]",
    title: str | None,
    names: Mapping[str, str],
    published: Mapping[str, Published],
) -> "Figure":
    from unmasq.report.figures import error_rate_figure, steps_figure

    if stem.endswith(SWEEP):
        return steps_figure(counts, title=title, names=names)
    return error_rate_figure(counts, title=title, names=names, published=published.get(stem))


def _is_plain(counts: "Counts") -> bool:
    """Asked in T steps and in no other special way."""
    asking = counts.point.asking
    plain = {"num_steps", "dtype"}
    return asking is not None and asking.num_steps is not None and asking.metadata.keys() <= plain


def _read(path: Path, meaning: str) -> dict[str, Any]:
    """A JSON object, or nothing where there is no such file."""
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} must be JSON, {meaning}: {error}.") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} must be JSON, {meaning}: got a {type(content).__name__}.")
    return content


def _published(path: Path) -> dict[str, Published]:
    found: dict[str, Published] = {}
    for stem, rates in _read(path, "CSV to name to pairs of p and rate").items():
        try:
            pairs = {n: [(float(p), float(r)) for p, r in points] for n, points in rates.items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"{path} must hold pairs of p and rate for {stem}: {error}.") from None
        if not all(0 < x < 1 for points in pairs.values() for pair in points for x in pair):
            raise ValueError(f"{path} must hold p and rates between 0 and 1 for {stem}.")
        found[stem] = pairs
    return found
