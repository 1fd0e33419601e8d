"""A weight file of a small untrained network: enough to test everything around networks."""

import dataclasses
from pathlib import Path

import jax.random as jr

from unmasq.models import NetworkConfig, build_network, geometry_for
from unmasq.models.weights import save_weights
from unmasq.problems.any_rounds import AnyRounds
from unmasq.problems.problem import DecodingProblem
from unmasq.problems.readouts import readouts_of
from unmasq.problems.trained_noise import TrainedNoise

CONFIG = NetworkConfig(
    width=16, feedforward=16, heads=2, encoder_layers=0, decoder_layers=1, ties="tied"
)


def write_tiny_network(
    path: Path,
    problem: DecodingProblem,
    *,
    seed: int = 0,
    objective: str = "masked",
    bp_iterations: int = 0,
    encoder_layers: int = 0,
    trained_at: tuple[float, float] | None = None,
    messages: bool = False,
) -> None:
    """Random weights for the problem; another seed makes another model.

    Files of old say nothing of the noise; with a range of p this one does.
    """
    config = dataclasses.replace(CONFIG, bp_iterations=bp_iterations, encoder_layers=encoder_layers)
    if messages:
        config = dataclasses.replace(config, mixing="messages", message_width=8, encoder_layers=1)
    geometry = geometry_for(config, problem)
    facts = ("name", "noise", "basis", "code", "num_rounds")
    header = {
        "name": path.stem,
        "structure_id": problem.structure_id,
        "objective": objective,
        "num_steps": problem.num_logicals,
        "problem": {fact: getattr(problem, fact) for fact in facts},
    }
    if trained_at is not None:
        header["noise"] = TrainedNoise.of(problem, *trained_at).facts()
    if messages:
        header["rounds"] = AnyRounds.of(problem).facts()
    header["readouts"] = [readout.facts() for readout in readouts_of(problem, messages)]
    network = build_network(config, geometry, key=jr.key(seed))
    save_weights(path, network, config, geometry, header)
