"""`unmasq evaluate`: error rates of several decoders on the same shots."""

import contextlib
import itertools
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmasq.cli.decoder_choice import NETWORK, problem_and_model, require_heeded
from unmasq.cli.numbers import require_at_least, whole_number
from unmasq.cli.options import Dtype, JsonOutput, Model, Seed, Threshold

if TYPE_CHECKING:
    from unmasq.evaluation.contenders import Contender
    from unmasq.evaluation.counts import Counts
    from unmasq.evaluation.limits import Limits
    from unmasq.problems.problem import DecodingProblem

DEFAULT_MAX_SHOTS = 10_000


def evaluate(
    p: Annotated[
        list[float] | None, typer.Option(help="Physical error rates; else the problem's own.")
    ] = None,
    decoders: Annotated[
        list[str] | None,
        typer.Option(help="unmasq and baselines such as bposd-x, bposd-xz, relay-xz, tesseract-x."),
    ] = None,
    model: Model = None,
    problem: Annotated[
        Path | None, typer.Option(help="Problem file; else that of the model or of its run.")
    ] = None,
    max_shots: Annotated[
        list[str] | None,
        typer.Option(help="Exactly this many, else 10,000; bposd-xz=2000 for one decoder."),
    ] = None,
    max_errors: Annotated[
        list[str] | None,
        typer.Option(help="Enough failures; checked every 64 shots. Also decoder=N."),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="For the whole run; every point gets its share.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="CSV that sinter reads; an existing one is resumed.")
    ] = None,
    save_seconds: Annotated[float, typer.Option(help="Time between rows of the CSV.")] = 2.0,
    compare: Annotated[
        list[Path] | None, typer.Option(help="CSVs of other runs on the same shots, to compare.")
    ] = None,
    steps: Annotated[
        list[int] | None, typer.Option(help="Unmasking steps T of the network, one or more.")
    ] = None,
    threshold: Threshold = None,
    views: Annotated[
        list[int] | None,
        typer.Option(help="Translates that vote on shots the network is not sure of."),
    ] = None,
    every_shot: Annotated[
        bool,
        typer.Option(
            "--every-shot",
            help="Ask also about shots that BP solves, where a model begins with it.",
        ),
    ] = False,
    attempts: Annotated[
        int | None,
        typer.Option(min=1, help="Of BP at a guess; all that the model knows by default."),
    ] = None,
    discard_below: Annotated[
        float | None, typer.Option(help="Discard shots of lower confidence (post-selection).")
    ] = None,
    dtype: Dtype = None,
    batch: Annotated[
        int | None,
        typer.Option(parser=whole_number, metavar="N", help="Shots in a batch of the network."),
    ] = None,
    seed: Seed = 0,
    workers: Annotated[
        int | None, typer.Option(help="Processes for the baselines; else one for each core.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Run on Dask: local:N, or a scheduler's address.")
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw error rate against p.")] = None,
    discard_curve: Annotated[
        Path | None,
        typer.Option(help="Draw the network's error rate against the share of shots discarded."),
    ] = None,
    json_output: JsonOutput = False,
) -> None:
    """Measure error rates of decoders on common, numbered shots."""
    from unmasq.cli.counts_display import CountsDisplay, print_counts
    from unmasq.evaluation.collect import collect
    from unmasq.evaluation.failures import compare as compare_counts

    require_at_least(0, {"--minutes": minutes, "--save-seconds": save_seconds})
    require_at_least(1, {"--batch": batch, "--workers": workers})
    for path in (figure, discard_curve):
        if path is not None:
            from unmasq.report.figure_files import check_figure_path

            check_figure_path(path)
    names = decoders or [NETWORK]
    asked: dict[str, Any] = {
        "threshold": threshold,
        "guess": False if every_shot else None,
        "attempts": attempts,
        "discard_below": discard_below,
        "dtype": dtype,
    }
    require_heeded(
        names,
        {
            "--steps": steps,
            "--threshold": threshold,
            "--views": views,
            "--every-shot": every_shot or None,
            "--attempts": attempts,
            "--discard-below": discard_below,
            "--discard-curve": discard_curve,
            "--dtype": dtype,
            "--batch": batch,
        },
    )
    decoding_problem, model = problem_and_model(names, model, problem, p)
    contenders = _contenders(names, model, steps, views, asked)
    limits = _limits(contenders, max_shots or [], max_errors or [])
    where: Any = workers
    if cluster is not None:
        if workers is not None:
            raise ValueError("--cluster and --workers must not be given together: choose one.")
        from unmasq.evaluation.cluster import cluster_workers

        where = cluster_workers(cluster)
    with _saved_in(save) as path, CountsDisplay() as display, _saying_what_is_kept(save):
        counts = collect(
            contenders,
            decoding_problem,
            p or [decoding_problem.p],
            limits,
            minutes=minutes,
            save=path,
            seed=seed,
            workers=where,
            batch_shots=batch,
            write_seconds=save_seconds,
            watch=display.show,
        )
        others = _counts_of_others(compare or [], counts)
        sources = [*((path, c) for c in counts), *others]
        comparisons = compare_counts(contenders[0].name, sources)
    for words in dict.fromkeys(c.identity.trained_for for c in contenders if c.identity):
        print(f"note: {NETWORK} was trained for {words}", file=sys.stderr)
    everything = [c for _, c in sources]
    print_counts(everything, comparisons, json_output)
    if figure is not None:
        from unmasq.report.figure_files import save_figure
        from unmasq.report.figures import error_rate_figure

        save_figure(error_rate_figure(everything), figure)
    if discard_curve is not None:
        _draw_discards(discard_curve, contenders, decoding_problem, counts)


def _contenders(
    names: Sequence[str],
    model: str | None,
    steps: Sequence[int] | None,
    views: Sequence[int] | None,
    asked: dict[str, Any],
) -> "list[Contender]":
    """The decoders by name; the network once for every number of steps and of views."""
    from unmasq.decoding.asking import Asking
    from unmasq.evaluation.contenders import baseline, network

    found = []
    for name in names:
        if name != NETWORK:
            found.append(baseline(name))
            continue
        assert model is not None
        every: Sequence[int | None] = steps or [None]
        votes: Sequence[int | None] = views or [None]
        for T, V in itertools.product(every, votes):
            found.append(network(model, Asking(num_steps=T, views=V, **asked)))
    return found


def _limits(
    contenders: "Sequence[Contender]", max_shots: Sequence[str], max_errors: Sequence[str]
) -> "dict[str, Limits]":
    from unmasq.evaluation.limits import Limits

    aliases = {c.name: NETWORK if c.alone else c.name for c in contenders}
    shots = _by_decoder("--max-shots", max_shots, set(aliases.values()))
    errors = _by_decoder("--max-errors", max_errors, set(aliases.values()))
    return {
        name: Limits(
            shots.get(alias, shots.get("", DEFAULT_MAX_SHOTS)), errors.get(alias, errors.get(""))
        )
        for name, alias in aliases.items()
    }


def _by_decoder(option: str, words: Sequence[str], names: set[str]) -> dict[str, int]:
    """{"": N for all, decoder: N}, from words N and decoder=N."""
    from unmasq.suggest import nearest

    result = {}
    for word in words:
        name, equals, number = word.rpartition("=")
        if equals and name not in names:
            raise ValueError(
                f"{option} must name decoders that take part: got '{name}'.{nearest(name, names)}"
            )
        try:
            result[name] = whole_number(number)
        except ValueError:
            raise ValueError(
                f"{option} must be a whole number, or decoder=number: got '{word}'."
            ) from None
    return result


@contextlib.contextmanager
def _saying_what_is_kept(save: Path | None) -> Iterator[None]:
    """Ctrl-C and SIGTERM: all shots that were counted are in the file by now."""
    try:
        yield
    except KeyboardInterrupt:
        kept = "nothing is kept: name a file with --save"
        if save is not None:
            kept = f"what was counted is kept in {save}: the same command goes on from there"
        print(f"stopped; {kept}", file=sys.stderr)
        raise


@contextlib.contextmanager
def _saved_in(save: Path | None) -> Iterator[Path]:
    """The user's CSV, or one for the time of this run: comparisons read it."""
    if save is not None:
        yield save
        return
    with tempfile.TemporaryDirectory(prefix="unmasq-") as folder:
        yield Path(folder) / "stats.csv"


def _counts_of_others(
    paths: Sequence[Path], counts: "Sequence[Counts]"
) -> "list[tuple[Path, Counts]]":
    from unmasq.evaluation.stats_file import read_counts

    ours = {c.point.strong_id for c in counts}
    shots = {c.point.shots_id for c in counts}
    found = []
    for path in paths:
        rows = [c for c in read_counts(path) if c.point.shots_id in shots]
        if not rows:
            print(f"{path} has no counts of these shots: nothing to compare.", file=sys.stderr)
        found += [(path, c) for c in rows if c.point.strong_id not in ours]
    return found


def _draw_discards(
    path: Path,
    contenders: "Sequence[Contender]",
    problem: "DecodingProblem",
    counts: "Sequence[Counts]",
) -> None:
    """Decodes the shots of the first network once more, for the confidence of each."""
    from unmasq.evaluation.postselection import measure_discards
    from unmasq.report.figure_files import save_figure
    from unmasq.report.figures import discard_figure

    contender = next(c for c in contenders if c.asking is not None)
    decoder: Any = contender.make(problem)
    if decoder.asking.guess:
        decoder = decoder.with_guess(False)  # which has no confidence
    measured = [c for c in counts if c.point.decoder == contender.name and c.shots]
    curves = [
        measure_discards(decoder, problem.at(c.point.p), c.shots, c.point.seed) for c in measured
    ]
    save_figure(discard_figure(curves), path)
