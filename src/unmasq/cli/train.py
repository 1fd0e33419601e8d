"""`unmasq train`: a recipe and a problem to a run folder with weights."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from unmasq.problems.problem import DecodingProblem
    from unmasq.training import TrainConfig


def train(
    recipe: Annotated[
        str | None, typer.Argument(help="A recipe's name; left out with --resume.")
    ] = None,
    problem: Annotated[
        Path | None, typer.Option(help="Problem file; needs no Stim. Else the recipe's code.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="New run folder.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Run folder to go on with.")] = None,
    init: Annotated[
        Path | None, typer.Option(help="Start from these weights: a file, a run or a model's name.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Stop after this time; --resume goes on.")
    ] = None,
    fit_minutes: Annotated[
        float | None,
        typer.Option(help="Set the number of updates so that the run takes this long."),
    ] = None,
    mirror: Annotated[
        Path | None, typer.Option(help="Keep a slim copy (weights, average, metrics) here too.")
    ] = None,
    save_seconds: Annotated[float, typer.Option(help="Time between checkpoints.")] = 120.0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="key=value ..., such as network.width=64.")
    ] = None,
    cpu_devices: Annotated[
        int | None,
        typer.Option(min=1, help="On a CPU: share each batch among this many cores; faster."),
    ] = None,
    distributed: Annotated[
        bool,
        typer.Option(help="One of several processes; Slurm, MPI and others say which by itself."),
    ] = False,
    coordinator: Annotated[
        str | None, typer.Option(help="Elsewhere: HOST:PORT of process 0, the same for all,")
    ] = None,
    num_processes: Annotated[int | None, typer.Option(help="how many there are,")] = None,
    process_id: Annotated[int | None, typer.Option(help="and which this is, from 0.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print the final record.")] = False,
) -> None:
    """Train a decoder; a run that was killed goes on with --resume."""
    import jax

    if cpu_devices is not None:
        jax.config.update("jax_num_cpu_devices", cpu_devices)
    _join_processes(distributed, coordinator, num_processes, process_id)
    from unmasq.cli.progress import TrainingDisplay
    from unmasq.cli.signals import stop_request
    from unmasq.training.loop import RunTimes
    from unmasq.training.loop import train as run_training
    from unmasq.training.run_folder import RunFolder

    target = out or resume
    if target is None or (out and resume):
        raise ValueError("give either --out for a new run or --resume for an existing one.")
    times = RunTimes(minutes, fit_minutes, save_seconds)
    folder = RunFolder(target)
    if resume is not None:
        if recipe or settings or problem or init or fit_minutes:
            raise ValueError(
                "--resume goes on exactly as the run was started: "
                "leave out recipe, --problem, --init, --fit-minutes and --set."
            )
        config, decoding_problem = folder.open()
    else:
        config, decoding_problem = _new_run(recipe, settings or [], problem)

    with (
        TrainingDisplay(config, quiet=not folder.writes) as display,
        stop_request(display.say) as stop,
    ):
        try:
            record = run_training(
                config,
                decoding_problem,
                folder,
                resume=resume is not None,
                init=init,
                mirror=mirror,
                times=times,
                stop=stop,
                report=display.report,
                say=display.say,
            )
        except KeyboardInterrupt:
            if (target / "config.json").exists():
                display.say(f"the last checkpoint is saved: `unmasq train --resume {target}`")
            raise
    if folder.writes:
        display.summary(record, target, as_json=json_output)
    raise typer.Exit(stop.exit_code)


def _join_processes(
    distributed: bool, coordinator: str | None, num_processes: int | None, process_id: int | None
) -> None:
    """Before anything else touches a device."""
    import jax

    given = [value is not None for value in (coordinator, num_processes, process_id)]
    if any(given) and not (distributed and all(given)):
        raise ValueError(
            "--coordinator, --num-processes and --process-id must come together, "
            "with --distributed."
        )
    if distributed:
        try:
            jax.distributed.initialize(coordinator, num_processes, process_id)
        except (ValueError, RuntimeError) as error:
            raise ValueError(
                f"--distributed found no other processes: {error} Start it under Slurm or MPI, or "
                "give --coordinator HOST:PORT --num-processes N --process-id I."
            ) from error


def _new_run(
    recipe: str | None, settings: list[str], problem_file: Path | None
) -> "tuple[TrainConfig, DecodingProblem]":
    from unmasq.problems.problem_file import load_problem
    from unmasq.recipes import RECIPES, get_recipe
    from unmasq.training import override

    if recipe is None:
        raise ValueError(f"recipe must be one of {', '.join(RECIPES)}: got none.")
    base = get_recipe(recipe)
    if problem_file is not None:
        problem = load_problem(problem_file)
        if base.problem.code is None:
            base = dataclasses.replace(base, noise=dataclasses.replace(base.noise, p=problem.p))
        return override(base, settings), problem
    config = override(base, settings)
    wanted = config.problem
    if wanted.code is None:
        raise ValueError(
            f"recipe {recipe} must be given a problem file: got no --problem. Make one with "
            "`unmasq problem --circuit FILE --out DIR`."
        )
    from unmasq.codes import get_code
    from unmasq.problems.building import problem_from_code

    code = get_code(wanted.code)
    return config, problem_from_code(
        code, wanted.noise, config.noise.p, wanted.rounds, wanted.basis
    )
