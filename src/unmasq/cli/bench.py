"""`unmasq bench`: latency of single shots and throughput of batches, with baselines beside it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmasq.cli.decoder_choice import NETWORK, problem_and_model, require_heeded
from unmasq.cli.numbers import require_at_least, whole_number
from unmasq.cli.options import Dtype, JsonOutput, Model, Seed

if TYPE_CHECKING:
    import numpy as np

    from unmasq.decoding.decoder import Decoder
    from unmasq.decoding.diffusion_decoder import DiffusionDecoder
    from unmasq.evaluation.latency import Timing
    from unmasq.problems.problem import DecodingProblem

DEFAULT_P = 0.003
DEFAULT_CAPACITY_P = 0.05  # where data qubits fail once, and nothing else does
CPU_BATCHES = (32, 256)
ACCELERATOR_BATCHES = (64, 1024, 8192)
BASELINE_BATCH = 64  # most decode shot by shot: larger batches tell nothing new


def bench(
    model: Model = None,
    decoders: Annotated[
        list[str] | None,
        typer.Option(help="unmasq and baselines such as bposd-x; else unmasq alone."),
    ] = None,
    problem: Annotated[
        Path | None, typer.Option(help="Problem file; else that of the model (needs Stim).")
    ] = None,
    p: Annotated[
        float | None,
        typer.Option(help="Error rate of the shots; else the problem's, or a typical one."),
    ] = None,
    steps: Annotated[
        list[int] | None, typer.Option(help="Unmasking steps T; else 1, half and all logicals.")
    ] = None,
    threshold: Annotated[
        list[float] | None, typer.Option(help="Adaptive unmasking at these thresholds too.")
    ] = None,
    views: Annotated[
        list[int] | None,
        typer.Option(help="Translates that vote on shots the network is not sure of; 1 for none."),
    ] = None,
    batches: Annotated[
        list[int] | None,
        typer.Option(parser=whole_number, metavar="N", help="Batch sizes."),
    ] = None,
    seconds: Annotated[float, typer.Option(help="Time for each measurement.")] = 2.0,
    dtype: Dtype = None,
    seed: Seed = 0,
    figure: Annotated[
        Path | None, typer.Option(help="Draw the latency distributions into this file.")
    ] = None,
    json_output: JsonOutput = False,
    samples: Annotated[
        bool, typer.Option(help="With --json: the time of every single shot too.")
    ] = False,
) -> None:
    """Time decoders on real shots; compilation is not in the numbers."""
    from unmasq.shots.reader import ShotReader

    require_at_least(1, {"--batches": min(batches or [1])})
    require_at_least(0, {"--seconds": seconds})
    if samples and not json_output:
        raise ValueError("--samples must go with --json: a table has no room for them.")
    if figure is not None:
        from unmasq.report.figure_files import check_figure_path

        check_figure_path(figure)
    names = decoders or [NETWORK]
    network_alone = {"--steps": steps, "--threshold": threshold, "--views": views}
    require_heeded(names, {**network_alone, "--batches": batches, "--dtype": dtype})
    decoding_problem, model = problem_and_model(names, model, problem, [p or DEFAULT_P])
    if problem is None and decoding_problem.noise == "code-capacity":
        p = p or DEFAULT_CAPACITY_P
    if p is not None:
        decoding_problem = decoding_problem.at(p)
    timed = _decoders(names, decoding_problem, model, steps, threshold or [], views or [], dtype)
    syndromes, _ = ShotReader(decoding_problem, seed).read(0, 1024)
    timings = _time_all(timed, syndromes, batches, seconds)
    if json_output:
        _print_json(timings, decoding_problem, samples)
    else:
        _print_table(timings, decoding_problem)
    if figure is not None:
        from unmasq.report.figure_files import save_figure
        from unmasq.report.figures import latency_figure

        save_figure(latency_figure(timings, _describe(decoding_problem)), figure)


def _decoders(
    names: Sequence[str],
    problem: "DecodingProblem",
    model: str | None,
    steps: Sequence[int] | None,
    thresholds: Sequence[float],
    views: Sequence[int],
    dtype: str | None,
) -> "list[Decoder]":
    from unmasq.decoding.diffusion_decoder import load
    from unmasq.evaluation.contenders import baseline
    from unmasq.evaluation.jobs import Job

    found: list = []
    for name in names:
        if name != NETWORK:
            found.append(Job(baseline(name), problem).make_decoder())
            continue
        assert model is not None
        decoder = load(model, dtype=dtype).for_problem(problem)
        chosen = steps or _sweep(decoder)
        asked = [decoder.with_steps(T) for T in chosen] or [decoder]
        if steps is None and decoder.asking.guess:
            asked.insert(0, decoder)  # as it is best asked
        asked += [decoder.with_threshold(tau) for tau in thresholds]
        found += [one.with_views(count) for one in asked for count in views] if views else asked
    return found


def _sweep(decoder: "DiffusionDecoder") -> list[int]:
    """T = 1, half of the logicals, all of them; [] where T cannot be chosen so."""
    identity = decoder.identity
    if identity.objective != "masked":
        return []
    if not identity.saw_shown_bits:
        return [1]
    return sorted({1, -(-identity.num_logicals // 2), identity.num_logicals})


def _time_all(
    decoders: "Sequence[Decoder]",
    syndromes: "np.ndarray",
    batches: Sequence[int] | None,
    seconds: float,
) -> "list[Timing]":
    from unmasq.cli.live_display import passing_bar
    from unmasq.evaluation.latency import accelerator_name, cpu_name, time_decoder

    timings = []
    with passing_bar() as progress:
        bar = progress.add_task("timing", total=len(decoders))
        for decoder in decoders:
            progress.update(bar, description=f"timing {decoder.name}")
            # On what JAX computes on, like the network, all cores of a CPU included.
            by_jax = hasattr(decoder, "model_hash") or getattr(decoder, "decodes_batches", False)
            device = accelerator_name() if by_jax else cpu_name(cores=1)
            own = CPU_BATCHES if device == cpu_name() else ACCELERATOR_BATCHES
            sizes = (batches or own) if by_jax else (BASELINE_BATCH,)
            timings.append(time_decoder(decoder, syndromes, sizes, seconds, device))
            progress.advance(bar)
    return timings


def _print_json(timings: "Sequence[Timing]", problem: "DecodingProblem", samples: bool) -> None:
    from unmasq.files.provenance import provenance
    from unmasq.report.tables import speed_ratios

    records = [timing.record for timing in timings]
    if samples:
        for record, timing in zip(records, timings, strict=True):
            record["latency_batch_1"]["microseconds"] = timing.latency.microseconds
    content = {
        "made_by": provenance(),
        "problem": problem.name,
        "rounds": problem.num_rounds,
        "p": problem.p,
        "structure_id": problem.structure_id,
        "timings": records,
        "ratios": speed_ratios(timings),
    }
    print(json.dumps(content))


def _print_table(timings: "Sequence[Timing]", problem: "DecodingProblem") -> None:
    from rich.console import Console

    from unmasq.files.provenance import provenance
    from unmasq.report.tables import timings_table

    console = Console(width=max(Console().width, 170))  # cells are never broken
    console.print(timings_table(timings, _describe(problem)), highlight=False)
    console.print(f"\n{provenance()}", highlight=False)


def _describe(problem: "DecodingProblem") -> str:
    from unmasq.report.names import problem_label

    return f"{problem_label(problem)}, p = {problem.p:g}"
