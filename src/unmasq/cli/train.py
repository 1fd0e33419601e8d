"""`unmasq train`: a recipe and a problem to a run folder with weights."""

import contextlib
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from unmasq.cli.progress import TrainingDisplay
    from unmasq.decoding.diffusion_decoder import DiffusionDecoder
    from unmasq.evaluation.counts import Counts
    from unmasq.problems.problem import DecodingProblem
    from unmasq.training import TrainConfig
    from unmasq.training.loop import RunTimes

OWN = "own"  # the recipe that is chosen for its problem
COMPARE_MINUTES = 2.0
COMPARISON = "comparison.csv"


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
    compare_shots: Annotated[
        int,
        typer.Option(
            min=0, help="Recipe own: shots for the table beside other decoders at the end."
        ),
    ] = 10_000,
    cpu_devices: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="On a CPU: share each batch among this many cores; faster. All of them for own.",
        ),
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
    elif recipe == OWN and not distributed:
        _use_all_cores()
    _join_processes(distributed, coordinator, num_processes, process_id)
    from unmasq.api import DEFAULT_MINUTES
    from unmasq.cli.progress import TrainingDisplay
    from unmasq.cli.signals import stop_request
    from unmasq.training.loop import RunTimes
    from unmasq.training.loop import train as run_training
    from unmasq.training.run_folder import RunFolder

    target = out or resume
    if target is None or (out and resume):
        raise ValueError("give either --out for a new run or --resume for an existing one.")
    fixed = any(word.startswith("num_updates=") for word in settings or [])
    if recipe == OWN and minutes is None and fit_minutes is None and not fixed:
        fit_minutes = DEFAULT_MINUTES
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
        if recipe == OWN:
            _say_what_comes(decoding_problem, config, times, compare_shots, display)
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
        counts = []
        if recipe == OWN and record["finished"] and compare_shots:
            counts = _counts_beside_rivals(target, decoding_problem, compare_shots, display)
            record["comparison"] = [
                {"decoder": c.point.decoder, "errors": c.errors, "shots": c.shots} for c in counts
            ]
        display.summary(record, target, as_json=json_output)
        if counts and not json_output:
            _print_table(target, counts)
    raise typer.Exit(stop.exit_code)


def _use_all_cores() -> None:
    """As many CPU devices as cores, if a batch can be shared among them."""
    import jax

    from unmasq.evaluation.workers import available_cores

    # Where something has taken hold of the device already, it stays as it is.
    with contextlib.suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", min(1 << (available_cores().bit_length() - 1), 8))


def _say_what_comes(
    problem: "DecodingProblem",
    config: "TrainConfig",
    times: "RunTimes",
    compare_shots: int,
    display: "TrainingDisplay",
) -> None:
    from unmasq.api import rivals
    from unmasq.recipes.chosen import chosen_words

    display.say(chosen_words(problem, config))
    told = f"it takes {config.num_updates} updates"
    if times.fit_minutes is not None:
        told = f"it takes {times.fit_minutes:g} minutes"
    elif times.minutes is not None:
        told += f", or stops after {times.minutes:g} minutes"
    table = f", then comes a table beside {' and '.join(rivals(problem))}" if compare_shots else ""
    display.say(f"{told}{table}")


def _counts_beside_rivals(
    run: Path, problem: "DecodingProblem", shots: int, display: "TrainingDisplay"
) -> "list[Counts]":
    """On the same shots, at the problem's own rate; kept in the run."""
    from unmasq.api import evaluate, rivals

    try:
        decoders: list[str | Path | DiffusionDecoder] = [run, *rivals(problem)]
        return evaluate(
            decoders, problem, max_shots=shots, minutes=COMPARE_MINUTES, save=run / COMPARISON
        )
    except ImportError as error:  # training needs fewer packages than its rivals
        display.say(f"no table: {error}")
        return []


def _print_table(run: Path, counts: "list[Counts]") -> None:
    from unmasq.cli.counts_display import print_counts
    from unmasq.evaluation.failures import compare

    comparisons = compare(counts[0].point.decoder, [(run / COMPARISON, c) for c in counts])
    print_counts(counts, comparisons, json_output=False)


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
        if recipe == OWN:
            import jax

            from unmasq.recipes.chosen import chosen_recipe

            accelerator = jax.default_backend() != "cpu"
            return override(chosen_recipe(problem, accelerator=accelerator), settings), problem
        if base.problem.code is None:
            base = dataclasses.replace(base, noise=dataclasses.replace(base.noise, p=problem.p))
        return override(base, settings), problem
    config = override(base, settings)
    wanted = config.problem
    if wanted.code is None:
        raise ValueError(
            f"recipe {recipe} must be given a problem file: got no --problem. Make one with "
            "`unmasq problem --circuit FILE --out DIR`, or from a code or two check matrices."
        )
    from unmasq.codes import get_code
    from unmasq.problems.building import problem_from_code

    code = get_code(wanted.code)
    return config, problem_from_code(
        code, wanted.noise, config.noise.p, wanted.rounds, wanted.basis
    )
