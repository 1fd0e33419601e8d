"""`unmasq demo`: the [[72,12,6]] memory experiment on this machine, with a table and a plot."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from unmasq.evaluation.collect import Limits
    from unmasq.evaluation.counts import Counts
    from unmasq.problem import DecodingProblem

CODE, ROUNDS, BASIS = "bb72", 6, "X"
ERROR_RATES = (0.004, 0.005, 0.006)
DECODER = "bposd-x"


def demo(
    seconds: Annotated[float, typer.Option(help="Time for decoding, all points together.")] = 45.0,
    out: Annotated[Path, typer.Option(help="Folder for the plot.")] = Path("demo"),
) -> None:
    """Sample the [[72,12,6]] circuit and decode it with BP-OSD, in about a minute.

    There are no trained weights yet; with them this will set the network beside BP-OSD.
    """
    from rich.console import Console

    from unmasq.building import problem_from_code
    from unmasq.codes import get_code
    from unmasq.evaluation.collect import Limits, collect
    from unmasq.evaluation.contenders import baseline
    from unmasq.evaluation.workers import available_cores

    if seconds <= 0:
        raise ValueError(f"--seconds must be above 0: got {seconds:g}.")
    progress = Console(stderr=True)
    with progress.status(f"building {CODE}"):
        problem = problem_from_code(get_code(CODE), "circuit", ERROR_RATES[-1], ROUNDS, BASIS)
    progress.print(
        f"{problem.name}: {problem.num_detectors} detectors × {problem.num_faults} faults, "
        f"{problem.num_logicals} logicals, structure {problem.structure_id}; "
        f"decoding for {seconds:g} s on {available_cores()} cores",
        highlight=False,
        soft_wrap=True,
    )
    with _Display(seconds) as display:
        counts = collect(
            [baseline(DECODER)],
            problem,
            ERROR_RATES,
            Limits(max_shots=1_000_000),
            minutes=seconds / 60,
            watch=display.show,
        )
    measured = [c for c in counts if c.shots]
    if not measured:
        raise ValueError(f"--seconds must leave time for some shots: got {seconds:g}.")
    _print_table(problem, measured)
    path = out / "demo.png"
    _plot(problem, measured, path)
    print(f"plot: {path}")


class _Display:
    """The share of the time that is gone, and the counts so far, on stderr."""

    def __init__(self, seconds: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        self._start = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[facts]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(DECODER, total=seconds, facts="starting")

    def __enter__(self) -> "_Display":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, counts: "Counts", limits: "Limits", done: bool) -> None:
        """For `collect(watch=...)`."""
        if counts.shots:
            self._bar.update(
                self._task,
                completed=time.monotonic() - self._start,
                facts=f"p = {counts.point.p:g}: {counts.errors} failures in {counts.shots} shots",
            )


def _print_table(problem: "DecodingProblem", counts: "list[Counts]") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(f"{_experiment(problem)}, {DECODER}"), box=SIMPLE_HEAD)
    headings = ("p", "shots", "failures", "rate per shot", "95 % Clopper-Pearson", "ms/shot")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for c in counts:
        rate = c.rate
        table.add_row(
            f"{c.point.p:g}",
            str(c.shots),
            str(c.errors),
            f"< {rate.high:.3g}" if rate.is_bound else f"{rate.value:.3g}",
            "" if rate.is_bound else f"{rate.low:.3g} to {rate.high:.3g}",
            f"{1000 * c.seconds / c.shots:.1f}",
        )
    Console().print(table, highlight=False)


def _plot(problem: "DecodingProblem", counts: "list[Counts]", path: Path) -> None:
    import io

    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from unmasq.atomic_files import write_whole

    rates = [c.rate for c in counts]
    values = [r.high if r.is_bound else r.value for r in rates]
    below = [0.0 if r.is_bound else r.value - r.low for r in rates]
    above = [0.0 if r.is_bound else r.high - r.value for r in rates]
    figure, axes = plt.subplots(figsize=(6, 4.5), layout="constrained")
    axes.errorbar(
        [c.point.p for c in counts],
        values,
        yerr=[below, above],
        color="black",
        marker="o",
        capsize=4,
        label=f"{DECODER} ({', '.join(str(c.shots) for c in counts)} shots)",
    )
    axes.set_yscale("log")
    axes.set_xticks(ERROR_RATES)
    axes.set_xlim(ERROR_RATES[0] - 0.0005, ERROR_RATES[-1] + 0.0005)
    axes.set_xlabel("physical error rate p")
    axes.set_ylabel("logical error rate per shot (95 % interval)")
    axes.set_title(_experiment(problem), fontsize="medium")
    axes.grid(True, which="both", color="0.85")
    axes.legend()
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=150)
    plt.close(figure)
    write_whole(path, content.getvalue())


def _experiment(problem: "DecodingProblem") -> str:
    from unmasq.codes import get_code

    label = get_code(CODE).label
    return f"{label}, circuit noise, {problem.num_rounds} rounds, basis {problem.basis}"
