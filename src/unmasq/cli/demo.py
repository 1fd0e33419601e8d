"""`unmasq demo`: a shipped network beside BP-OSD on the same shots, with a table and a plot."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from unmasq.evaluation.counts import Counts
    from unmasq.evaluation.failures import Comparison
    from unmasq.problems.problem import DecodingProblem

MODEL = "bb72-circuit"
BASELINE = "bposd-x"
ERROR_RATES = (0.004, 0.006)
STEPS = 3  # T: nearly as good as 12 (docs/experiments.md), in half the time on a CPU
BATCH_SHOTS = 64  # of the network: larger batches are no faster on a CPU


def demo(
    shots: Annotated[int, typer.Option(help="Shots at each p, the same for both decoders.")] = 768,
    seconds: Annotated[
        float, typer.Option(help="Time for decoding; a slow machine decodes fewer shots.")
    ] = 60.0,
    seed: Annotated[int, typer.Option(help="Other numbers give other shots.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the plot.")] = Path("demo"),
) -> None:
    """Set `bb72-circuit` beside BP-OSD on the [[72,12,6]] circuit, in about a minute.

    Both decode the same numbered shots, none of which the network has seen in training.
    """
    if seconds <= 0:
        raise ValueError(f"--seconds must be above 0: got {seconds:g}.")
    if shots < 1:
        raise ValueError(f"--shots must be at least 1: got {shots}.")
    out.mkdir(parents=True, exist_ok=True)  # refused now, not after a minute
    from rich.console import Console

    from unmasq.decoding.model_store import find_model
    from unmasq.evaluation.model_problem import problem_of_model
    from unmasq.report.figures import error_rate_figure, save_figure
    from unmasq.report.provenance import provenance

    progress = Console(stderr=True)
    with progress.status("building the circuit"):
        model = find_model(MODEL)
        problem = problem_of_model(model, ERROR_RATES[-1])
    progress.print(
        f"{_experiment(problem)}: {problem.num_detectors} detectors in, {problem.num_logicals} "
        f"logicals out, structure {problem.structure_id}\n"
        f"{model.name} (hash {model.model_hash[:16]}) and {BASELINE} decode shots 0 to "
        f"{shots - 1} of seed {seed}, first the one, then the other",
        highlight=False,
        soft_wrap=True,
    )
    counts, comparisons = _measure(problem, shots, seconds, seed)
    if any(c.shots == 0 for c in counts):
        raise ValueError(f"--seconds must leave time for some shots: got {seconds:g}.")
    _print_table(problem, counts, comparisons)
    path = out / "demo.png"
    save_figure(error_rate_figure(counts, title=_experiment(problem)), path)
    print(f"plot: {path}")
    print(provenance())


def _measure(
    problem: "DecodingProblem", shots: int, seconds: float, seed: int
) -> "tuple[list[Counts], list[Comparison]]":
    """Counts p by p, network first; and on which shots only one of the two failed."""
    from unmasq.cli.counts_display import CountsDisplay
    from unmasq.evaluation.collect import Limits, collect
    from unmasq.evaluation.contenders import NetworkSettings, baseline, network
    from unmasq.evaluation.failures import compare

    steps = min(STEPS, problem.num_logicals)
    contenders = [network(MODEL, NetworkSettings(steps=steps)), baseline(BASELINE)]
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

    table = Table(title=escape(_experiment(problem)), box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("p", no_wrap=True)
    table.add_column("decoder", no_wrap=True)
    for heading in ("failures", "rate [95 %]", "alone", "ms a shot"):
        table.add_column(heading, justify="right", no_wrap=True)
    alone = {c.first.p: (c.paired.first_only, c.paired.second_only) for c in comparisons}
    for c in counts:
        is_network = c.point.model_hash is not None
        table.add_row(
            f"{c.point.p:g}",
            f"unmasq, T = {c.point.num_steps}" if is_network else c.point.decoder,
            f"{c.errors} / {c.shots}",
            escape(str(c.rate)),
            str(alone[c.point.p][0 if is_network else 1]),
            f"{1e3 * c.seconds / c.shots:.3g}",
            end_section=not is_network,
        )
    Console(width=max(Console().width, 80)).print(table, highlight=False)
    chances = ", ".join(f"{c.paired.p_value:.2g} at {c.first.p:g}" for c in comparisons)
    print(
        "failures: shots with any logical wrong; rate: per shot, exact interval.\n"
        "alone: shots that both decoded and only this one got wrong.\n"
        f"McNemar p-value, were both equally good: {chances}.\n"
        f"ms a shot: unmasq on {available_cores()} cores in batches of {BATCH_SHOTS}, compilation "
        f"not in it;\n{BASELINE} on one core."
    )


def _experiment(problem: "DecodingProblem") -> str:
    from unmasq.codes import get_code

    label = get_code(problem.code).label if problem.code else problem.name
    return f"{label}, {problem.noise} noise, {problem.num_rounds} rounds, basis {problem.basis}"
