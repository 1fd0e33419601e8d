"""`unmasq demo`: a shipped network beside BP-OSD on the same shots, with a table and a plot."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmasq.cli.numbers import require_at_least, whole_number
from unmasq.cli.options import Seed

if TYPE_CHECKING:
    from unmasq.evaluation.counts import Counts
    from unmasq.evaluation.failures import Comparison
    from unmasq.problems.problem import DecodingProblem

MODEL = "bb72-messages"
BASELINE = "bposd-x"
ERROR_RATES = (0.004, 0.006)
BATCH_SHOTS = 64  # of the network: larger batches are no faster on a CPU
NEXT = """
To go on:
  unmasq models       the shipped networks, and what each of them decodes
  unmasq problem -h   a circuit for sinter; your own circuit or code
  unmasq evaluate -h  error rates of these and other decoders
  unmasq train -h     a decoder of your own"""


def demo(
    shots: Annotated[
        int,
        typer.Option(
            parser=whole_number,
            metavar="N",
            help="At most so many shots at each p, the same for both decoders.",
        ),
    ] = 768,
    seconds: Annotated[
        float, typer.Option(help="Time for decoding; a slow machine decodes fewer shots.")
    ] = 60.0,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder for the plot.")] = Path("demo"),
) -> None:
    """Decode [[72,12,6]] with a shipped network and with BP-OSD.

    Both decode the same numbered shots, none of which the network has seen in training. It takes
    about a minute on a CPU, and ends with a table and a plot.
    """
    if not 0 < seconds < float("inf"):
        raise ValueError(f"--seconds must be above 0: got {seconds:g}.")
    require_at_least(1, {"--shots": shots})
    out.mkdir(parents=True, exist_ok=True)  # refused now, not after a minute
    from rich.console import Console

    from unmasq.decoding.model_store import find_model
    from unmasq.evaluation.model_problem import problem_of_model
    from unmasq.files.provenance import provenance
    from unmasq.report.figure_files import save_figure
    from unmasq.report.figures import error_rate_figure
    from unmasq.report.names import decoder_label, problem_label

    progress = Console(stderr=True)
    with progress.status("building the circuit"):
        model = find_model(MODEL)
        problem = problem_of_model(model, ERROR_RATES[-1])
    progress.print(
        f"{problem_label(problem)}: {problem.num_detectors} detectors in, {problem.num_logicals} "
        f"logicals out\n"
        f"{model.name} (hash {model.model_hash[:16]}) and {decoder_label(BASELINE)} decode "
        f"up to {shots} shots at p = {' and '.join(f'{p:g}' for p in ERROR_RATES)}",
        highlight=False,
        soft_wrap=True,
    )
    counts, comparisons = _measure(problem, shots, seconds, seed)
    if any(c.shots == 0 for c in counts):
        raise ValueError(f"--seconds must leave time for some shots: got {seconds:g}.")
    _print_table(problem, counts, comparisons)
    path = out / "demo.png"
    save_figure(error_rate_figure(counts), path)
    print(f"plot: {path}")
    print(provenance())
    print(NEXT)


def _measure(
    problem: "DecodingProblem", shots: int, seconds: float, seed: int
) -> "tuple[list[Counts], list[Comparison]]":
    """Counts p by p, network first; and on which shots only one of the two failed."""
    from unmasq.cli.counts_display import CountsDisplay
    from unmasq.decoding.asking import Asking
    from unmasq.evaluation.collect import collect
    from unmasq.evaluation.contenders import baseline, network
    from unmasq.evaluation.failures import compare
    from unmasq.evaluation.limits import Limits

    contenders = [network(MODEL, Asking()), baseline(BASELINE)]
    with tempfile.TemporaryDirectory(prefix="unmasq-") as folder, CountsDisplay() as display:
        path = Path(folder) / "stats.csv"  # which shots failed is kept beside it
        counts = collect(
            contenders,
            problem,
            ERROR_RATES,
            Limits(max_shots=shots),
            minutes=seconds / 60,
            save=path,
            seed=seed,
            batch_shots=min(BATCH_SHOTS, shots),
            watch=display.show,
        )
        return counts, compare(contenders[0].name, [(path, c) for c in counts])


def _print_table(
    problem: "DecodingProblem", counts: "Sequence[Counts]", comparisons: "Sequence[Comparison]"
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from unmasq.evaluation.workers import available_cores
    from unmasq.report.names import decoder_label, point_label, problem_label

    table = Table(title=escape(problem_label(problem)), box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("p", no_wrap=True)
    table.add_column("decoder", no_wrap=True)
    for heading in ("failures", "rate [95 %]", "alone", "ms a shot"):
        table.add_column(heading, justify="right", no_wrap=True)
    alone = {c.first.p: (c.paired.first_only, c.paired.second_only) for c in comparisons}
    for c in counts:
        is_network = c.point.model_hash is not None
        table.add_row(
            f"{c.point.p:g}",
            point_label(c.point),
            f"{c.errors} / {c.shots}",
            escape(str(c.rate)),
            str(alone[c.point.p][0 if is_network else 1]),
            f"{1e3 * c.seconds / c.shots:.3g}",
            end_section=not is_network,
        )
    Console(width=max(Console().width, 80)).print(table, highlight=False)
    batch = min(BATCH_SHOTS, max(c.shots for c in counts))
    chances = ", ".join(f"{c.paired.p_value:.2g} at {c.first.p:g}" for c in comparisons)
    print(
        "failures: shots with any logical wrong; rate: per shot, exact interval.\n"
        "alone: shots that both decoded and only this one got wrong.\n"
        f"McNemar p-value, were both equally good: {chances}.\n"
        f"ms a shot: unmasq on {available_cores()} cores in batches of {batch}, compilation "
        f"not in it;\n{decoder_label(BASELINE)} on one core."
    )
