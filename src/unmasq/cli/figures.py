"""`unmasq figures`: plots of all stored counts, one file each."""

import collections
import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unmasq.evaluation.counts import Counts

NAMES = "names.json"  # in the folder: what a decoder's name means to people
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
    names = _names(source / NAMES)
    out.mkdir(parents=True, exist_ok=True)
    drawn = set()
    for stem, figure in _draw(paths, names):
        path = out / f"{stem}.{file_format}"
        save_figure(figure, path)
        print(path)
        drawn.add(stem)
    for path in paths:
        if path.stem not in drawn:
            print(f"{path}: no line to draw, which takes two values of p.", file=sys.stderr)


def _draw(paths: Sequence[Path], names: dict[str, str]) -> "Iterator[tuple[str, Figure]]":
    from unmasq.evaluation.stats_file import read_counts
    from unmasq.report.figures import error_rate_figure, steps_figure

    by_file = {path.stem: read_counts(path) for path in paths}
    for stem, counts in by_file.items():
        if len({c.point.p for c in counts}) > 1:
            yield stem, error_rate_figure([_named(c, names) for c in counts])
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
    return point.num_steps is not None and point.views is None and point.discard_below is None


def _named(counts: "Counts", names: dict[str, str]) -> "Counts":
    name = names.get(counts.point.decoder, counts.point.decoder)
    return dataclasses.replace(counts, point=dataclasses.replace(counts.point, decoder=name))


def _names(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    try:
        names = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} must be JSON, decoder to name: {error}.") from error
    if not isinstance(names, dict):
        raise ValueError(f"{path} must be JSON, decoder to name: got a {type(names).__name__}.")
    return names
