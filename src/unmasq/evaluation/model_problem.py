"""The decoding problem that a model was trained for, built again from its own description."""

from unmasq.decoding.model_store import ModelFile
from unmasq.problems.problem import DecodingProblem


def problem_of_model(model: ModelFile, p: float) -> DecodingProblem:
    """From the catalogue, at physical error rate p; needs Stim. Refused for own circuits."""
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
