"""`unmasq figures`: plots of all stored counts, one file each."""

import collections
import dataclasses
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unmasq.evaluation.counts import Counts

NAMES = "names.json"  # in the folder: what a decoder's name means to people
PUBLISHED = "published.json"  # rates of others: CSV's stem to name to [p, rate] pairs
Published = dict[str, list[tuple[float, float]]]
MIN_STEPS = 3  # values of T that make a line


def figures(
    source: Annotated[Path, typer.Option("--from", help="Folder of CSVs.")] = Path("results"),
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("figures"),
    file_format: Annotated[str, typer.Option("--format", help="png, pdf or svg.")] = "png",
) -> None:
    """Draw error rate against p for every CSV, and against T for every model."""
    from unmasq.report.figures import save_figure

    paths = sorted(source.glob("*.csv"))
    if not paths:
        raise ValueError(f"--from must be a folder with CSVs of `unmasq evaluate`: got {source}.")
    names = _read(source / NAMES, "decoder to name")
    published = _published(source / PUBLISHED)
    out.mkdir(parents=True, exist_ok=True)
    drawn = set()
    for stem, figure in _draw(paths, names, published):
        path = out / f"{stem}.{file_format}"
        save_figure(figure, path)
        print(path)
        drawn.add(stem)
    for path in paths:
        if path.stem not in drawn:
            print(f"{path}: no line to draw, which takes two values of p.", file=sys.stderr)


def _draw(
    paths: Sequence[Path], names: Mapping[str, str], published: Mapping[str, Published]
) -> "Iterator[tuple[str, Figure]]":
    from unmasq.evaluation.stats_file import read_counts
    from unmasq.report.figures import error_rate_figure, steps_figure

    by_file = {path.stem: read_counts(path) for path in paths}
    for stem, counts in by_file.items():
        if len({c.point.p for c in counts}) > 1:
            named = [_named(c, names) for c in counts]
            yield stem, error_rate_figure(named, published=published.get(stem))
    everything = read_counts(*paths)
    for model in sorted({c.point.model_hash for c in everything if c.point.model_hash}):
        plain = [c for c in everything if c.point.model_hash == model and _is_plain(c)]
        points = collections.Counter(c.point.p for c in plain)
        swept = [c for c in plain if points[c.point.p] >= MIN_STEPS]
        if swept:
            yield f"unmasq-{model[:8]}-steps", steps_figure(swept)


def _is_plain(counts: "Counts") -> bool:
    """Asked in T steps and in no other special way."""
    point = counts.point
    special = (point.views, point.guess, point.discard_below)
    return point.num_steps is not None and all(value is None for value in special)


def _named(counts: "Counts", names: Mapping[str, str]) -> "Counts":
    name = names.get(counts.point.decoder, counts.point.decoder)
    return dataclasses.replace(counts, point=dataclasses.replace(counts.point, decoder=name))


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
