"""Whether a model was trained for a problem: a wrong one is refused here, with what differs."""

from collections.abc import Sequence

from unmasq.decoding.identity import Identity
from unmasq.problems.problem import DecodingProblem, ProblemMismatchError

_TRAIN = (
    "Train one: `unmasq problem --circuit FILE.stim --out DIR`, then `unmasq train RECIPE "
    "--problem DIR/problem.safetensors`; sinter finds it where UNMASQ_MODELS names its folder."
)


def require_structure(model: Identity, problem: DecodingProblem) -> None:
    """Refuses a problem other than the one that a model was trained for."""
    if problem.structure_id != model.structure_id:
        raise mismatch(problem, [model])


def mismatch(problem: DecodingProblem, models: Sequence[Identity]) -> ProblemMismatchError:
    """Says what differs from the model that comes nearest, and how to train one."""
    got = (
        f"got structure {problem.structure_id} ({problem.num_detectors} detectors, "
        f"{problem.num_logicals} logicals, {problem.num_faults} faults)"
    )
    if not models:
        return ProblemMismatchError(
            f"problem must be one that a model was trained for: {got}, and no model is "
            f"installed. {_TRAIN}"
        )
    nearest = min(models, key=lambda model: _distance(problem, model))
    return ProblemMismatchError(
        f"problem must be one that a model was trained for: {got}. "
        f"{_difference(problem, nearest)} {_TRAIN}"
    )


def _distance(problem: DecodingProblem, model: Identity) -> tuple[int, int]:
    return (
        abs(model.num_logicals - problem.num_logicals),
        abs(model.num_detectors - problem.num_detectors),
    )


def _difference(problem: DecodingProblem, model: Identity) -> str:
    who = f"Model '{model.name}'" + (f" ({model.trained_for})" if model.trained_for else "")
    if _distance(problem, model) != (0, 0):
        return (
            f"{who} has structure {model.structure_id}, with {model.num_detectors} detectors and "
            f"{model.num_logicals} logicals."
        )
    return (
        f"{who} has as many detectors and logicals, but was trained on structure "
        f"{model.structure_id}: other faults, or another order of detectors or observables."
    )
