"""`unmasq predict`: detection events in a file to predicted observables, as in sinter."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmasq.cli.decoder_choice import NETWORK, require_heeded
from unmasq.cli.options import Dtype, Model, Threshold

if TYPE_CHECKING:
    import numpy as np
    import stim

    from unmasq.decoding.decoder import Decoder
    from unmasq.problems.problem import DecodingProblem

FORMATS = "b8, 01, dets, r8 or hits."  # as Stim writes and reads them
BATCH = 8192  # shots between two steps of the progress bar


def predict(
    dets: Annotated[Path, typer.Option("--dets", help="File of detection events; - for stdin.")],
    dets_format: Annotated[str, typer.Option("--dets_format", help=FORMATS)],
    obs_out: Annotated[Path, typer.Option("--obs_out", help="Where predictions go; - for stdout.")],
    obs_out_format: Annotated[str, typer.Option("--obs_out_format", help=FORMATS)],
    model: Model = None,
    decoder: Annotated[
        str, typer.Option(help="unmasq, or a baseline, which needs --problem.")
    ] = NETWORK,
    problem: Annotated[
        Path | None, typer.Option(help="Problem file: for a baseline, or as --dem.")
    ] = None,
    dem: Annotated[
        Path | None, typer.Option(help="The shots' error model: refused if not the model's own.")
    ] = None,
    circuit: Annotated[Path | None, typer.Option(help="The shots' circuit, likewise.")] = None,
    probabilities_out: Annotated[
        Path | None,
        typer.Option("--probabilities_out", help="Flip probabilities (shots, K), as .npy."),
    ] = None,
    discards_out: Annotated[
        Path | None,
        typer.Option(
            "--discards_out",
            help="A bit for each shot: 1 where the confidence is below --discard_below. "
            "Predictions are written for those shots too.",
        ),
    ] = None,
    discards_out_format: Annotated[str, typer.Option("--discards_out_format", help=FORMATS)] = "01",
    discard_below: Annotated[
        float | None, typer.Option("--discard_below", help="Confidence, between 0 and 1.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Unmasking steps T.")] = None,
    threshold: Threshold = None,
    views: Annotated[
        int | None, typer.Option(help="Translates that vote on shots the network is not sure of.")
    ] = None,
    dtype: Dtype = None,
) -> None:
    """Predict observables from detection events. The flags are sinter's."""
    import numpy as np

    from unmasq.baselines import make_baseline
    from unmasq.decoding.asking import Asking
    from unmasq.decoding.diffusion_decoder import load
    from unmasq.decoding.soft_output import SoftOutput
    from unmasq.files.atomic import require_distinct, write_whole
    from unmasq.problems.problem_file import load_problem
    from unmasq.shots.formats import read_shot_file, require_format, write_shot_file

    require_distinct(
        {
            "--dets": dets,
            "--problem": problem,
            "--dem": dem,
            "--circuit": circuit,
            "--model": Path(model or ""),
        },
        {
            "--obs_out": obs_out,
            "--probabilities_out": probabilities_out,
            "--discards_out": discards_out,
        },
    )
    require_format(dets_format, "--dets_format")
    require_format(obs_out_format, "--obs_out_format")
    require_format(discards_out_format, "--discards_out_format")
    if (discards_out is None) != (discard_below is None):
        raise ValueError("--discards_out and --discard_below must be given together.")
    network_alone = {
        "--model": model,
        "--probabilities_out": probabilities_out,
        "--discards_out": discards_out,
        "--steps": steps,
        "--threshold": threshold,
        "--views": views,
        "--dtype": dtype,
    }
    require_heeded([decoder], network_alone)
    sources = {"--problem": problem, "--dem": dem, "--circuit": circuit}
    given = [option for option, path in sources.items() if path is not None]
    if len(given) > 1:
        raise ValueError(f"{given[0]} and {given[1]} must not be given together: choose one.")
    if decoder != NETWORK:
        if problem is None:
            why = f"got {given[0]}" if given else "it needs the noise"
            raise ValueError(f"--problem must be given for decoder {decoder}: {why}.")
        baseline = make_baseline(decoder, load_problem(problem))
        syndromes = read_shot_file(dets, dets_format, baseline.num_detectors)
        _write(obs_out, obs_out_format, _decode_all(baseline, syndromes))
        return
    if model is None:
        raise ValueError("--model must be given: a name that `unmasq models` lists, or a file.")
    asking = Asking(
        num_steps=steps,
        threshold=threshold,
        views=views,
        guess=None if probabilities_out is None else False,  # which has none
        discard_below=discard_below,
        dtype=dtype,
    )
    network = load(model, asking)
    if given:
        network = network.for_problem(_source_of_shots(problem, dem, circuit))
    syndromes = read_shot_file(dets, dets_format, network.num_detectors)
    if not given:
        assumed = network.identity.trained_for or f"structure {network.structure_id}"
        print(
            f"note: {len(syndromes):,} shots are decoded as shots of {assumed}. Nothing says that "
            "they are: give --dem or --circuit to have it checked.",
            file=sys.stderr,
        )
    parts = [network.decode_soft(batch) for batch in _batches(syndromes, BATCH)]
    soft = SoftOutput.joined(parts, network.num_logicals)
    if probabilities_out is not None:
        content = io.BytesIO()
        np.save(content, soft.probabilities)
        write_whole(probabilities_out, content.getvalue())
    if discards_out is not None and discard_below is not None:
        discarded = soft.discarded(discard_below)
        write_shot_file(discards_out, discards_out_format, discarded[:, None], prefix="M")
    _write(obs_out, obs_out_format, soft.logicals)


def _source_of_shots(
    problem: Path | None, dem: Path | None, circuit: Path | None
) -> "DecodingProblem | stim.DetectorErrorModel | stim.Circuit":
    """What the one file that is given says of the shots."""
    if problem is not None:
        from unmasq.problems.problem_file import load_problem

        return load_problem(problem)
    import stim

    from unmasq.cli.problem import parse

    if dem is not None:
        return parse(dem, stim.DetectorErrorModel, "a detector error model")
    assert circuit is not None
    return parse(circuit, stim.Circuit, "a Stim circuit")


def _write(path: Path, shot_format: str, logicals: "np.ndarray") -> None:
    """Says how many: a file of another width may hold whole shots by chance."""
    from unmasq.shots.formats import write_shot_file

    write_shot_file(path, shot_format, logicals)
    print(f"{len(logicals):,} shots: {path}", file=sys.stderr)


def _decode_all(decoder: "Decoder", syndromes: "np.ndarray") -> "np.ndarray":
    import numpy as np

    empty = np.zeros((0, decoder.num_logicals), np.uint8)
    parts = [decoder.decode_batch(batch) for batch in _batches(syndromes, 256)]
    return np.concatenate([empty, *parts])


def _batches(syndromes: "np.ndarray", size: int) -> "Iterator[np.ndarray]":
    """The shots in batches, behind a progress bar on a terminal."""
    from unmasq.cli.live_display import passing_bar

    with passing_bar() as progress:
        bar = progress.add_task("decoding", total=len(syndromes))
        for first in range(0, len(syndromes), size):
            batch = syndromes[first : first + size]
            yield batch
            progress.advance(bar, len(batch))
