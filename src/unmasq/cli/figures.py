"""`unmasq figures`: plots of all stored counts, one file each."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from unmasq.cli.numbers import require_at_least, whole_number
from unmasq.cli.options import Seed
from unmasq.suggest import nearest

SHOT_MODEL = "bb72-messages"
TABLES = "paper-tables"
FORMATS = ("png", "pdf", "svg")


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
    shot: Annotated[
        int | None,
        typer.Option(
            parser=whole_number,
            metavar="N",
            help="Draw this numbered shot alone, as --model decodes it step by step.",
        ),
    ] = None,
    model: Annotated[
        str, typer.Option(help="With --shot: a known model, or a weight file or run folder.")
    ] = SHOT_MODEL,
    p: Annotated[
        float | None, typer.Option(help="With --shot: its error rate; else the model's highest.")
    ] = None,
    seed: Seed = 0,
    file_format: Annotated[str, typer.Option("--format", help="png, pdf or svg.")] = "png",
) -> None:
    """Draw stored error rates, the paper's figures, or one shot.

    There is one figure for every CSV with three values of p, and one for every model that was
    asked with three values of T; the paper's are called paper-fig2-bb72 and so on, its tables
    paper-tables.md. A file that ends in .svg, .pdf or .png also holds its numbers.

    With --shot N the network itself runs: the detectors of the shot on the torus of its bicycle
    code, then the log-odds of its logicals at each unmasking step, right and wrong ones.
    """
    from unmasq.decoding.model_store import shipped_models
    from unmasq.files.atomic import write_whole
    from unmasq.report.figure_files import save_figure
    from unmasq.report.panels import MIN_LINE
    from unmasq.report.results_folder import ResultsFolder
    from unmasq.report.stored_figures import stored_figures, unmeasured

    if file_format not in FORMATS:
        raise ValueError(f"--format must be {', '.join(FORMATS)}: got '{file_format}'.")
    if shot is not None:
        if only or decoders:
            raise ValueError("--shot must go without --only and --decoders: it is drawn alone.")
        require_at_least(0, {"--shot": shot})
        path = out / f"shot-{shot}.{file_format}"
        _draw_shot(shot, model, p, seed, title, path)
        return
    if p is not None:
        raise ValueError("--p must go with --shot: counts know their own.")
    folder = ResultsFolder(source)
    found = stored_figures(folder, decoders)
    of_paper = any(name.startswith("paper-") for name in found)
    wanted = _chosen([*found, *[TABLES] * of_paper], only)
    drawn = [name for name in wanted if name in found]
    if title is not None and len(drawn) != 1:
        raise ValueError(f"--title must go with one figure: got {len(drawn)}. Name it by --only.")
    out.mkdir(parents=True, exist_ok=True)
    for name in drawn:
        path = out / f"{name}.{file_format}"
        save_figure(found[name].draw(title), path, found[name].numbers)
        print(path)
    if TABLES in wanted:
        from unmasq.report.paper_tables import paper_tables  # counts networks, with JAX

        path = out / f"{TABLES}.md"
        write_whole(path, paper_tables(shipped_models()))
        print(path)
    if only is not None:
        return
    shown = {figure.csv_stem for figure in found.values()}
    for path in folder.csv_files:
        if path.stem not in shown:
            print(f"{path}: no line to draw, which takes {MIN_LINE} values of p.", file=sys.stderr)
    for line in unmeasured(folder) if of_paper else ():
        print(line, file=sys.stderr)


def _draw_shot(
    number: int, name: str, p: float | None, seed: int, title: str | None, path: Path
) -> None:
    from unmasq.report.figure_files import save_figure
    from unmasq.report.seen_shot import followed_model, seen_shots
    from unmasq.report.shot_figure import shot_figure, shot_numbers

    decoder, problem = followed_model(name, p)
    (shot,) = seen_shots(decoder, problem, [number], seed)
    save_figure(shot_figure(shot, title), path, shot_numbers(shot))
    print(path)
    print(shot.words)


def _chosen(found: Iterable[str], only: Sequence[str] | None) -> list[str]:
    found = list(found)
    for name in only or ():
        if name not in found:
            raise ValueError(
                f"--only must be of {', '.join(found)}: got '{name}'.{nearest(name, found)}"
            )
    return [name for name in found if only is None or name in only]
