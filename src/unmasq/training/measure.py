"""Error counts of a network under training, on numbered evaluation shots."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from unmasq.decoding.asking import Asking
from unmasq.decoding.diffusion_decoder import DiffusionDecoder
from unmasq.decoding.identity import Identity
from unmasq.evaluation.contenders import Contender
from unmasq.evaluation.jobs import Bench, Job
from unmasq.models import Denoiser, geometry_for
from unmasq.problems.problem import DecodingProblem
from unmasq.shots.sampling import CHUNK_SHOTS
from unmasq.training.config import TrainConfig
from unmasq.training.pool import trusts_guess
from unmasq.training.update import training_steps

TRAINING_SEED = 1  # published numbers use another seed's shots


def error_counts(
    network: Denoiser,
    problem: DecodingProblem,
    config: TrainConfig,
    error_rates: Sequence[float],
    shots: int,
) -> list[dict[str, Any]]:
    """Failures among `shots` (whole chunks) at each p, asked by default; masked also with T = 1."""
    identity = Identity(
        config.name,
        "not yet known",
        problem.structure_id,
        config.objective,
        training_steps(config, problem.num_logicals),
        problem.num_detectors,
        problem.num_logicals,
        begins_with_guess=config.network.bp_iterations > 0,
        trusts_guess=trusts_guess(config),
        attempts=tuple(dataclasses.astuple(attempt) for attempt in config.attempts),
    )
    asking = Asking(dtype=config.compute_dtype)
    geometry = geometry_for(config.network, problem)
    ways = {"failures": DiffusionDecoder(network, identity, asking, geometry=geometry)}
    if config.objective == "masked":
        ways["failures_T1"] = ways["failures"].with_steps(1)
    whole = -(-shots // CHUNK_SHOTS) * CHUNK_SHOTS
    results = []
    for p in error_rates:
        row: dict[str, Any] = {"p": p, "shots": whole}
        for name, decoder in ways.items():
            there = problem.at(p)
            row[name] = _failures(decoder.for_problem(there), there, whole)
        results.append(row)
    return results


def _failures(decoder: DiffusionDecoder, problem: DecodingProblem, shots: int) -> int:
    contender = Contender(decoder.name, lambda _: decoder, model_hash=decoder.model_hash)
    decoded = Bench(Job(contender, problem, TRAINING_SEED)).decode(0, shots)
    return int(decoded.wrong.any(axis=1).sum())
