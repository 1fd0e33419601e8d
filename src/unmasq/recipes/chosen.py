"""A recipe for any problem: network, batch and learning rate by its size and by the device.

Messages along the Tanner graph where the problem has one, with one set of weights for what its
symmetry exchanges; else attention, as in the recipe `own`, which this starts from.
"""

import dataclasses
import re

from unmasq.models import NetworkConfig
from unmasq.problems.problem import DecodingProblem
from unmasq.recipes.own import RECIPE
from unmasq.training.config import (
    RUN_FILES,
    NoiseSchedule,
    OptimizerConfig,
    Stage,
    TrainConfig,
)

SMALL_CPU = 2_000  # detectors times relations, the work of a shot, up to which batches are larger
HARDER = 3.0  # trained is up to this multiple of the problem's p: harder shots teach more
EASIEST = 0.25  # of that
CLOSING = 3  # layers after the last frame, where losses are on that frame alone
TOKENS = 32  # in the masks on translates of a shot: a still decoder reads so many for little
ALL_FRAMES = 0.6  # of a run without symmetry has losses on every frame


def chosen_recipe(problem: DecodingProblem, *, accelerator: bool) -> TrainConfig:
    """What `unmasq train own` and `unmasq.train` run; named after the problem."""
    hardest = min(HARDER * problem.p, 0.5)
    base = dataclasses.replace(
        RECIPE,
        name=model_name(problem.name),
        noise=NoiseSchedule(float(f"{hardest:.4g}"), low=EASIEST),
        evaluate_p=(problem.p,),
    )
    if problem.tanner is None:
        return base
    work = problem.num_detectors * problem.tanner.num_relations
    width = 128 if accelerator else 32
    tied = problem.symmetry is not None
    network = NetworkConfig(
        width=width,
        feedforward=2 * width,
        heads=16,
        encoder_layers=2,
        decoder_layers=2,
        ties="tied" if tied else "free",
        biases=False,
        mixing="messages",
        message_width=width,
        decoder="still",
        closing_layers=CLOSING if tied else 0,
    )
    optimizer = OptimizerConfig(
        "muon", 1e-3, 1e-2, b2=0.98, clip=1.0, warm_up=0.03, flat_until=0.4, last=0.02
    )
    return dataclasses.replace(
        base,
        batch_size=2048 if accelerator else 256 if work < SMALL_CPU else 128,
        network=network,
        optimizer=optimizer,
        masks_per_shot=max(
            RECIPE.masks_per_shot, TOKENS // max(problem.num_logicals, 1) if tied else 0
        ),
        translate_masks=tied,
        # Without translates of a shot, the logicals of its first frames are what more there is.
        stages=() if tied or problem.num_rounds < 2 else (Stage(1, -1, ALL_FRAMES),),
        compute_dtype="bfloat16" if accelerator else "float32",
        generator="rbg" if accelerator else "threefry2x32",
    )


def chosen_words(problem: DecodingProblem, config: TrainConfig) -> str:
    """What was chosen and why, in one line."""
    if problem.tanner is None:
        return f"{config.name}: attention, since no graph of checks and qubits is known"
    symmetry = (
        f"one set of weights for {problem.symmetry.order} symmetric places"
        if problem.symmetry is not None
        else "no symmetry known"
    )
    return (
        f"{config.name}: messages of width {config.network.message_width} along "
        f"{problem.tanner.num_relations} relations, {symmetry}, batches of {config.batch_size}"
    )


def model_name(problem: str) -> str:
    """The problem's name as a plain file name.

    >>> model_name("hgp:hamming7,rep3")
    'hgp-hamming7-rep3'
    """
    plain = re.sub(r"[^\w.+^-]+", "-", problem).strip(" .-") or "own"
    taken = plain.lower() in RUN_FILES or plain.lower().startswith(("step-", "slim-"))
    return f"{plain}-model" if taken else plain
