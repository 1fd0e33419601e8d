"""Error counts of a network under training, on numbered evaluation shots."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unmasq.decoding.diffusion_decoder import DiffusionDecoder, Identity
from unmasq.models import Denoiser
from unmasq.problems.problem import DecodingProblem
from unmasq.shots.sampling import CHUNK_SHOTS, EvaluationShots
from unmasq.training.config import TrainConfig
from unmasq.training.update import training_steps

TRAINING_SEED = 1  # published numbers use another seed's shots


def error_counts(
    network: Denoiser,
    problem: DecodingProblem,
    config: TrainConfig,
    error_rates: Sequence[float],
    shots: int,
) -> list[dict[str, Any]]:
    """Failures among `shots` (whole chunks) at each p, asked as trained; masked also with T = 1."""
    identity = Identity(
        config.name,
        "not yet known",
        problem.structure_id,
        config.objective,
        training_steps(config, problem.num_logicals),
        problem.num_detectors,
        problem.num_logicals,
    )
    decoder = DiffusionDecoder(network, identity, dtype=config.compute_dtype)
    decoders = {"failures": decoder}
    if config.objective == "masked":
        decoders["failures_T1"] = decoder.with_steps(1)
    chunks = -(-shots // CHUNK_SHOTS)
    results = []
    for p in error_rates:
        source = EvaluationShots(problem.at(p), TRAINING_SEED)
        row = {"p": p, "shots": chunks * CHUNK_SHOTS, **dict.fromkeys(decoders, 0)}
        for number in range(chunks):
            syndrome, logicals = (np.asarray(bits) for bits in source.chunk(number))
            for name, decoder in decoders.items():
                wrong = decoder.decode_batch(syndrome) != logicals
                row[name] += int(wrong.any(axis=1).sum())
        results.append(row)
    return results
