"""`unmasq problem`: from a code, a circuit or an error model to files that train and evaluate."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    import numpy as np
    import stim

    from unmasq.codes.schedule import Schedule
    from unmasq.problems.problem import DecodingProblem

CIRCUIT, MODEL, PROBLEM = "circuit.stim", "model.dem", "problem.safetensors"
T = TypeVar("T")


def _named(folder: str) -> Path:
    """An empty name would mean the current folder, which a user names '.'."""
    if not folder:
        raise ValueError("--out must name a folder: got nothing. Use . for the current one.")
    return Path(folder)


def problem(
    out: Annotated[
        Path,
        typer.Option(
            parser=_named, metavar="<path>", help="Folder for the files; made where missing."
        ),
    ],
    code: Annotated[
        str | None, typer.Argument(help="Name from `unmasq codes`: bb72, bb:l,m,A,B, toric:4 ...")
    ] = None,
    checks_x: Annotated[
        Path | None, typer.Option(help="A code of your own: its X checks as .npy, with")
    ] = None,
    checks_z: Annotated[Path | None, typer.Option(help="its Z checks.")] = None,
    schedule_x: Annotated[
        Path | None,
        typer.Option(help="The tick (1, 2, ...) of each CNOT of the X checks as .npy, with"),
    ] = None,
    schedule_z: Annotated[
        Path | None, typer.Option(help="those of the Z checks; chosen for you by default.")
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            help="circuit (default), code-capacity, or 'circuit 1:0.1:1:1': rates of CNOTs, idles, "
            "preparation and measurement beside the greatest."
        ),
    ] = None,
    p: Annotated[float | None, typer.Option(help="Physical error rate of the noise.")] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Noisy rounds; the code's distance by default.")
    ] = None,
    basis: Annotated[
        str | None, typer.Option(help="Logicals: X (default), Z, or XZ for a network of both.")
    ] = None,
    circuit: Annotated[
        Path | None, typer.Option(help="A Stim circuit of your own instead of a code.")
    ] = None,
    dem: Annotated[
        Path | None, typer.Option(help="A detector error model instead of a code.")
    ] = None,
    single_frame: Annotated[
        bool, typer.Option("--single-frame", help="Own circuit or model: ignore its rounds.")
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="Name of the problem; the file's or folder's by default.")
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print sizes and ids.")] = False,
) -> None:
    """Write circuit.stim, model.dem and problem.safetensors.

    Frames of an own circuit or model come from --rounds (all frames alike), else from the
    coordinates of the detectors, whose last entry is the round.
    """
    own_code = checks_x is not None or checks_z is not None
    if sum([code is not None, own_code, circuit is not None, dem is not None]) != 1:
        raise ValueError(
            "problem must have one source: give CODE, --circuit or --dem, or --checks-x with "
            "--checks-z."
        )
    if code is not None or own_code:
        if single_frame:
            raise ValueError("--single-frame must go with --circuit or --dem: a code has rounds.")
        if code is not None and name is not None:
            raise ValueError(f"--name must be left out for a code that has one: got {name}.")
        result = _from_code(
            code or (checks_x, checks_z, name or out.resolve().name),
            (schedule_x, schedule_z),
            noise,
            p,
            rounds,
            basis,
        )
    else:
        given = {
            "--noise": noise,
            "--p": p,
            "--basis": basis,
            "--schedule-x": schedule_x,
            "--schedule-z": schedule_z,
        }
        for option, value in given.items():
            if value is not None:
                raise ValueError(
                    f"{option} must go with a code: got {value} with a file, which has its own."
                )
        result = _from_file(circuit, dem, rounds, single_frame, name)
    _write(out, *result, json_output)


Result = tuple[
    "DecodingProblem", "stim.Circuit | None", "stim.DetectorErrorModel | None", "Schedule | None"
]
Matrices = tuple[Path | None, Path | None]


def _from_code(
    source: str | tuple[Path | None, Path | None, str],
    ticks: Matrices,
    noise: str | None,
    p: float | None,
    rounds: int | None,
    basis: str | None,
) -> Result:
    from rich.console import Console

    from unmasq.codes import css_code, get_code
    from unmasq.codes.schedule import schedule_from
    from unmasq.problems.building import circuit_from_code, problem_from_code
    from unmasq.problems.stim_faults import error_model

    stderr = Console(stderr=True)
    noise = noise or "circuit"
    if noise == "code-capacity" and (rounds is not None or basis is not None):
        stderr.print("note: code-capacity noise has no rounds and both bases: left them out.")
    with stderr.status(f"building {source if isinstance(source, str) else source[2]}"):
        if isinstance(source, str):
            code = get_code(source)
        else:
            x, z = _matrices(source[:2], "--checks")
            code = css_code(x, z, source[2])
        schedule = schedule_from(*_matrices(ticks, "--schedule")) if any(ticks) else None
        arguments = (code, noise, p, rounds, basis or "X", schedule)
        used = None if noise == "code-capacity" else schedule or code.schedule
        if basis == "XZ" and used is not None:  # no experiment reads out both
            return problem_from_code(*arguments), None, None, used
        circuit = circuit_from_code(*arguments)
        return problem_from_code(*arguments), circuit, error_model(circuit), used


def _matrices(files: Matrices, option: str) -> list["np.ndarray"]:
    """Two matrices from .npy files, which hold no Python objects."""
    import numpy as np

    found = []
    for letter, file in zip("xz", files, strict=True):
        if file is None:
            raise ValueError(f"{option}-x and {option}-z must come together: got one of them.")
        try:
            found.append(np.load(file, allow_pickle=False))
        except (ValueError, EOFError) as error:
            raise ValueError(
                f"{option}-{letter} must be a matrix saved with numpy.save: got {file}, which is "
                "cut off or of another kind."
            ) from error
    return found


def _from_file(
    circuit_file: Path | None,
    dem_file: Path | None,
    rounds: int | None,
    single_frame: bool,
    name: str | None,
) -> Result:
    import stim

    from unmasq.problems.building import problem_from_circuit, problem_from_dem
    from unmasq.problems.stim_faults import error_model

    file = circuit_file or dem_file
    assert file is not None
    frames: Any = {"rounds": rounds, "single_frame": single_frame, "name": name or file.stem}
    if circuit_file is None:
        dem = parse(file, stim.DetectorErrorModel, "a detector error model")
        return problem_from_dem(dem, **frames), None, dem, None
    circuit = parse(file, stim.Circuit, "a Stim circuit")
    return problem_from_circuit(circuit, **frames), circuit, error_model(circuit), None


def parse(path: Path, read: Callable[[str], T], kind: str) -> T:
    """What Stim reads in a file; what it cannot read is refused in one line."""
    try:
        return read(path.read_text())
    except (ValueError, IndexError) as error:  # Stim raises both
        raise ValueError(f"{path} must be {kind}: {error}") from error


def _write(
    out: Path,
    built: "DecodingProblem",
    circuit: "stim.Circuit | None",
    dem: "stim.DetectorErrorModel | None",
    schedule: "Schedule | None",
    json_output: bool,
) -> None:
    from unmasq.files.atomic import write_whole
    from unmasq.problems.problem_file import save_problem

    _require_no_other(out, built)
    texts = {out / CIRCUIT: circuit, out / MODEL: dem}
    files = [*(file for file, text in texts.items() if text is not None), out / PROBLEM]
    for file in files[:-1]:
        write_whole(file, f"{texts[file]}\n")
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
        "schedule": _schedule_record(schedule) if schedule else None,
        "symmetry": built.symmetry.order if built.symmetry else 1,
        "relations": list(built.tanner.names) if built.tanner else None,
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
    if schedule is not None:
        per_tick = record["schedule"]["cnots_per_tick"]
        counts = ", ".join(f"{kind} {' '.join(map(str, per_tick[kind]))}" for kind in "XZ")
        print(f"schedule: {schedule}; CNOTs tick by tick: {counts}")
    print(f"symmetry: {_symmetry_text(built)}")


def _require_no_other(out: Path, built: "DecodingProblem") -> None:
    """Refuses a folder that holds another problem; the same at another p is written again."""
    from unmasq.problems.problem_file import load_problem

    if not (out / PROBLEM).is_file():
        return
    try:
        found = load_problem(out / PROBLEM).structure_id
    except ValueError:
        found = "none that can be read"
    if found != built.structure_id:
        raise ValueError(
            f"--out must not hold another problem than {built.structure_id}: {out / PROBLEM} has "
            f"{found}. Name another folder, or remove it."
        )


def _schedule_record(schedule: "Schedule") -> dict[str, Any]:
    ticks = range(1, schedule.depth + 1)
    return {
        "depth": schedule.depth,
        "cnots_per_tick": {
            kind: [len(schedule.gates(kind, tick)[0]) for tick in ticks] for kind in "XZ"
        },
    }


def _symmetry_text(built: "DecodingProblem") -> str:
    """The group's order, and how many weights a network needs with and without it."""
    relations = (
        f"{built.tanner.num_relations} relations of checks and qubits" if built.tanner else ""
    )
    if built.symmetry is None:
        told = relations or "no known graph of checks and qubits: networks with attention alone"
        return f"none known; {told}"
    weights = built.symmetry.joint_ties().num_values
    places = (built.layout.num_checks + built.num_logicals) ** 2
    return (
        f"{built.symmetry.order} elements leave {weights} of {places} attention weights"
        f"{', ' + relations if relations else ''}"
    )
