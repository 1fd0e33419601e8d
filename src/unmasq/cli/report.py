"""`unmasq report`: everything that a folder of results shows, as one page."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from unmasq.cli.figures import SHOT_MODEL


def report(
    out: Annotated[Path, typer.Option(help="The page, one HTML file.")] = Path("report.html"),
    source: Annotated[Path, typer.Option("--from", help="Folder of CSVs and timings.")] = Path(
        "results"
    ),
    paper: Annotated[
        Path, typer.Option(help="The paper's claims; their tables are filled from the folder.")
    ] = Path("docs/paper.md"),
    model: Annotated[
        str, typer.Option(help="Shows two shots, step by step: a known model, or a weight file.")
    ] = SHOT_MODEL,
) -> None:
    """Write claims, figures, counts and cards on one page.

    The page holds all that it shows: it opens offline, light or dark. The network runs on 32 shots,
    to show one that it gets right and one that it gets wrong; everything else is drawn from stored
    counts. What the folder does not hold is named.
    """
    if out.is_dir():
        raise ValueError(f"--out must be a file: got the folder {out}.")
    from unmasq.cli.live_display import passing_bar
    from unmasq.decoding.model_store import find_model, shipped_models
    from unmasq.files.atomic import write_whole
    from unmasq.report import page
    from unmasq.report.results_folder import ResultsFolder

    folder = ResultsFolder(source)
    _ = folder.csv_files  # refused now, and so is an unknown model
    find_model(model)
    models = shipped_models()
    with passing_bar() as progress:
        progress.add_task("drawing", total=None)
        verdicts, *claims = page.claims_sections(paper, folder, models)
        told = [page.shot_section(model), verdicts, *page.paper_sections(folder), *claims]
        more = [page.counts_section(folder), page.cards_section(models)]
        text = page.page([*told, page.missing_section(told), *more])
    write_whole(out, text)
    lacking = sum(len(section.missing) for section in told)
    print(f"{out}: {len(text.encode()) / 1e6:.1f} MB")
    if lacking:
        print(f"{lacking} parts are not measured: the page names them.", file=sys.stderr)
