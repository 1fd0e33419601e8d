"""`unmasq problem`: from a code, a circuit or an error model to files that train and evaluate."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    import stim

    from unmasq.problems.problem import DecodingProblem

CIRCUIT, MODEL, PROBLEM = "circuit.stim", "model.dem", "problem.safetensors"
T = TypeVar("T")


def problem(
    out: Annotated[Path, typer.Option(help="Folder for the files; made where missing.")],
    code: Annotated[
        str | None, typer.Argument(help="Name from `unmasq codes`, or bb:l,m,A,B.")
    ] = None,
    noise: Annotated[str | None, typer.Option(help="circuit (default) or code-capacity.")] = None,
    p: Annotated[float | None, typer.Option(help="Physical error rate of the noise.")] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Noisy rounds; the code's distance by default.")
    ] = None,
    basis: Annotated[str | None, typer.Option(help="Logicals read out: X (default) or Z.")] = None,
    circuit: Annotated[
        Path | None, typer.Option(help="A Stim circuit of your own instead of a code.")
    ] = None,
    dem: Annotated[
        Path | None, typer.Option(help="A detector error model instead of a code.")
    ] = None,
    single_frame: Annotated[
        bool, typer.Option("--single-frame", help="Own circuit or model: ignore its rounds.")
    ] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Print sizes and ids.")] = False,
) -> None:
    """Write circuit.stim, model.dem and problem.safetensors.

    Frames of an own circuit or model come from --rounds (all frames alike), else from the
    coordinates of the detectors, whose last entry is the round.
    """
    if sum(source is not None for source in (code, circuit, dem)) != 1:
        raise ValueError("problem must have one source: give CODE, --circuit or --dem.")
    if code is not None:
        if single_frame:
            raise ValueError("--single-frame must go with --circuit or --dem: a code has rounds.")
        result = _from_code(code, noise, p, rounds, basis)
    else:
        given = {"--noise": noise, "--p": p, "--basis": basis}
        for option, value in given.items():
            if value is not None:
                raise ValueError(
                    f"{option} must go with a code: got {value} with a file, which has its noise."
                )
        result = _from_file(circuit, dem, rounds, single_frame)
    _write(out, *result, json_output)


Result = tuple["DecodingProblem", "stim.Circuit | None", "stim.DetectorErrorModel"]


def _from_code(
    name: str, noise: str | None, p: float | None, rounds: int | None, basis: str | None
) -> Result:
    from rich.console import Console

    from unmasq.codes import get_code
    from unmasq.problems.building import circuit_from_code, problem_from_code
    from unmasq.problems.stim_faults import error_model

    stderr = Console(stderr=True)
    noise = noise or "circuit"
    if noise == "code-capacity" and (rounds is not None or basis is not None):
        stderr.print("note: code-capacity noise has no rounds and both bases: left them out.")
    with stderr.status(f"building {name}"):
        code = get_code(name)
        arguments = (code, noise, p, rounds, basis or "X")
        circuit = circuit_from_code(*arguments)
        return problem_from_code(*arguments), circuit, error_model(circuit)


def _from_file(
    circuit_file: Path | None, dem_file: Path | None, rounds: int | None, single_frame: bool
) -> Result:
    import stim

    from unmasq.problems.building import problem_from_circuit, problem_from_dem
    from unmasq.problems.stim_faults import error_model

    if circuit_file is not None:
        circuit = _parse(circuit_file, stim.Circuit, "a Stim circuit")
        built = problem_from_circuit(
            circuit, rounds=rounds, single_frame=single_frame, name=circuit_file.stem
        )
        return built, circuit, error_model(circuit)
    assert dem_file is not None
    dem = _parse(dem_file, stim.DetectorErrorModel, "a detector error model")
    built = problem_from_dem(dem, rounds=rounds, single_frame=single_frame, name=dem_file.stem)
    return built, None, dem


def _parse(path: Path, parse: Callable[[str], T], kind: str) -> T:
    try:
        return parse(path.read_text())
    except (ValueError, IndexError) as error:  # Stim raises both
        raise ValueError(f"{path} must be {kind}: {error}") from error


def _write(
    out: Path,
    built: "DecodingProblem",
    circuit: "stim.Circuit | None",
    dem: "stim.DetectorErrorModel",
    json_output: bool,
) -> None:
    from unmasq.files.atomic import write_whole
    from unmasq.problems.problem_file import save_problem

    files = [out / MODEL, out / PROBLEM]
    if circuit is not None:
        files.insert(0, out / CIRCUIT)
        write_whole(out / CIRCUIT, f"{circuit}\n")
    write_whole(out / MODEL, f"{dem}\n")
    save_problem(built, out / PROBLEM)
    record: dict[str, Any] = {
        "name": built.name,
        "noise": built.noise,
        "basis": built.basis,
        "p": built.p,
        "detectors": built.num_detectors,
        "faults": built.num_faults,
        "logicals": built.num_logicals,
        "frames": built.layout.num_frames,
        "checks": built.layout.num_checks,
        "sum_of_priors": float(built.priors.sum()),
        "structure_id": built.structure_id,
        "priors_id": built.priors_id,
        "files": [str(file) for file in files],
    }
    if json_output:
        print(json.dumps(record))
        return
    print(
        f"{built.name}: {built.num_detectors} detectors × {built.num_faults} faults, "
        f"{built.num_logicals} logicals, {built.layout.num_frames} frames of "
        f"{built.layout.num_checks} checks, p = {built.p:g}, structure {built.structure_id}, "
        f"priors {built.priors_id}; wrote {', '.join(file.name for file in files)} to {out}"
    )
