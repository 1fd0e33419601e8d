"""Training runs that take seconds: small problems and a network of a few hundred numbers."""

import sys

import numpy as np

from unmasq.models import NetworkConfig
from unmasq.problems.building import problem_from_matrices
from unmasq.problems.problem import DecodingProblem
from unmasq.training import OptimizerConfig, TrainConfig, to_json
from unmasq.training.config import NoiseSchedule

TINY = TrainConfig(
    name="tiny",
    num_updates=40,
    batch_size=16,
    network=NetworkConfig(width=8, feedforward=8, heads=2, encoder_layers=0, decoder_layers=1),
    optimizer=OptimizerConfig(learning_rate=3e-3),
    noise=NoiseSchedule(0.2),  # of `repetition_problem`
    updates_per_call=4,
    evaluate_shots=1024,
)


def repetition_problem(distance: int = 3, p: float = 0.2) -> DecodingProblem:
    """Bits in a row, a check between neighbours; the logical is the first bit."""
    checks = np.eye(distance - 1, distance, dtype=np.uint8)
    checks += np.eye(distance - 1, distance, k=1, dtype=np.uint8)
    logical = np.eye(1, distance, dtype=np.uint8)
    return problem_from_matrices(checks, logical, [p] * distance, name="repetition")


def framed_problem(seed: int = 0) -> DecodingProblem:
    """Random faults on 3 frames of 3 sites, with 2 logicals: small enough to list everything."""
    generator = np.random.default_rng(seed)
    checks = (generator.random((9, 14)) < 0.25).astype(np.uint8)
    logicals = (generator.random((2, 14)) < 0.4).astype(np.uint8)
    priors = generator.uniform(0.05, 0.2, 14)
    return problem_from_matrices(checks, logicals, priors, frames=3, name="framed")


_PROGRAM = """
import sys
sys.modules.update(stim=None, sinter=None, ldpc=None)  # training needs none of them
from unmasq.cli import main
from unmasq.recipes import RECIPES
from unmasq.training import from_json
recipe = from_json(sys.argv.pop(1))
RECIPES[recipe.name] = recipe
main()
"""


def train_command(config: TrainConfig, *words: object) -> list[str]:
    """`unmasq train WORDS` for another process, with `config` among the recipes."""
    return [sys.executable, "-c", _PROGRAM, to_json(config), "train", *map(str, words)]
