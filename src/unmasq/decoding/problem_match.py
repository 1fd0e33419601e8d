"""Whether a model was trained for a problem: a wrong one is refused here, with what differs.

Other noise of the same structure is never refused, but warned of where it clearly differs.
"""

import dataclasses
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from unmasq.decoding.identity import Identity
from unmasq.problems.faults import fault_columns
from unmasq.problems.layouts import choose_layout, equal_frames
from unmasq.problems.problem import DecodingProblem, ProblemMismatchError
from unmasq.problems.readouts import Fit
from unmasq.problems.rounds import with_rounds
from unmasq.problems.trained_noise import NoiseMismatchWarning

if TYPE_CHECKING:
    import stim

_TRAIN = (
    "Train one: `unmasq problem --circuit FILE.stim --out DIR`, then `unmasq train own "
    "--problem DIR/problem.safetensors`; sinter finds it where UNMASQ_MODELS names its folder."
)


def require_problem(
    model: Identity, source: "DecodingProblem | stim.DetectorErrorModel | stim.Circuit"
) -> tuple[DecodingProblem, Fit]:
    """The problem, and how the model decodes it: refused if not at all; warns of other noise."""
    problem = problem_to_decode(source)
    fit = model.fit(problem)
    if fit is None:
        raise mismatch(problem, [model])
    difference = _noise_difference(model, problem, fit)
    if difference is not None:
        warnings.warn(
            f"model '{model.name}' was trained on other noise than that of '{problem.name}': "
            f"{difference}. It decodes as if the noise were its own; train one for yours.",
            NoiseMismatchWarning,
            stacklevel=2,
        )
    return problem, fit


def problem_to_decode(
    source: "DecodingProblem | stim.DetectorErrorModel | stim.Circuit",
) -> DecodingProblem:
    """What of a circuit or error model decides whether a network fits, and its priors.

    Decomposed faults count as wholes. A network reads no priors: those above 0.5, which a problem
    refuses, are none of its business and count as 0.5.
    """
    if isinstance(source, DecodingProblem):
        return source
    from unmasq.problems.stim_faults import error_model, faults_of_dem

    dem = error_model(source) if hasattr(source, "detector_error_model") else source
    if not hasattr(dem, "num_errors"):
        raise TypeError(
            "problem must be a DecodingProblem, a stim.DetectorErrorModel or a stim.Circuit: got "
            f"{type(source).__name__}."
        )
    faults = {key: min(prior, 0.5) for key, prior in faults_of_dem(dem).items()}
    columns = fault_columns(faults, dem.num_detectors, dem.num_observables)
    try:
        layout = choose_layout(dem.num_detectors, dem.get_detector_coordinates(), None, False)
    except ValueError:  # two detectors at one place and time
        layout = equal_frames(dem.num_detectors, 1)
    return DecodingProblem(*columns[:3], layout, p=0.5, name="dem")


def _noise_difference(model: Identity, problem: DecodingProblem, fit: Fit) -> str | None:
    noise, about = model.noise, model.about
    if noise is None:
        return None
    repeated = fit.readout.any_rounds
    layout = None if repeated is None else repeated.frames_of(problem)
    if layout is not None and layout.num_frames != about["num_rounds"] + 1:
        # The faults that are kept are those of the trained number of rounds.
        alone = dataclasses.replace(problem, layout=layout, symmetry=None, tanner=None)
        try:
            problem = with_rounds(alone, about["num_rounds"])
        except ValueError:  # too few rounds to say
            return None
    return noise.difference(problem)


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
