"""Which decoders a command runs, and on which problem: for `evaluate`, `bench` and `predict`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmasq.problems.problem import DecodingProblem

NETWORK = "unmasq"  # stands for the model's own name, unmasq-<hash8>


def require_heeded(names: Sequence[str], network_options: Mapping[str, Any]) -> None:
    """Refuses unknown decoders, and options of the network where it does not take part."""
    from unmasq.evaluation.contenders import baseline

    for name in names:
        if name != NETWORK:
            baseline(name)
    given = [option for option, value in network_options.items() if value is not None]
    if given and NETWORK not in names:
        raise ValueError(
            f"{given[0]} must be given with decoder {NETWORK}: got {', '.join(names)}, which "
            "would ignore it."
        )


def problem_and_model(
    names: Sequence[str], model: str | None, problem_file: Path | None, p: Sequence[float] | None
) -> "tuple[DecodingProblem, str | None]":
    """What to decode, and the weights if the network takes part."""
    from unmasq.decoding.model_store import find_model, known_models, model_for_problem
    from unmasq.evaluation.model_problem import problem_of_model
    from unmasq.problems.problem_file import load_problem

    if problem_file is None:
        if model is None:
            raise ValueError("--model or --problem must be given: they say what to decode.")
        return problem_of_model(find_model(model), p[0] if p else None), model
    require_heeded(names, {"--model": model})
    problem = load_problem(problem_file)
    if NETWORK in names and model is None:
        found = model_for_problem(problem, known_models())
        if found is None:
            raise ValueError(
                f"--model must be given to decode with {NETWORK}: no known model was trained for "
                f"{problem_file} (structure {problem.structure_id}). Or name --decoders without it."
            )
        model = str(found.path)
    return problem, model
