"""The decoding problem that a model was trained for: in its run, or built again by its name."""

from unmasq.decoding.model_store import ModelFile
from unmasq.problems.problem import DecodingProblem
from unmasq.problems.problem_file import load_problem

PROBLEM = "problem.safetensors"  # in every run folder, beside the weights


def problem_of_model(model: ModelFile, p: float | None) -> DecodingProblem:
    """At physical error rate p; by default that of the run, if the weights lie in one.

    A catalogue problem is built again, which needs Stim; another one must lie beside the weights.
    """
    beside = model.path.parent / PROBLEM
    if beside.exists():
        problem = load_problem(beside)
        if problem.structure_id == model.structure_id:
            return problem if p is None else problem.at(p)
    if p is None:
        raise ValueError("--p must be given with --model alone: it says how noisy the shots are.")
    facts = model.header.get("problem", {})
    code = facts.get("code")
    if code is None:
        raise ValueError(
            f"problem must be given for model '{model.name}': it was trained on "
            f"'{facts.get('name', 'unknown')}', which is not in the catalogue. Use --problem FILE."
        )
    from unmasq.codes import get_code
    from unmasq.problems.building import problem_from_code

    rounds = facts["num_rounds"] if facts["noise"] != "code-capacity" else None
    try:
        problem = problem_from_code(get_code(code), facts["noise"], p, rounds, facts["basis"])
    except ImportError as error:
        raise ValueError(
            f"problem must be given where Stim is not installed: got {error}. Write it elsewhere "
            "with `unmasq problem` and use --problem FILE."
        ) from error
    if problem.structure_id != model.structure_id:
        raise ValueError(
            f"model '{model.name}' must fit its code {code}, structure {problem.structure_id}: got "
            f"{model.structure_id}. It was trained with another version; use --problem FILE."
        )
    return problem
