"""Error counts of a network under training, on numbered evaluation shots."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from unmasq.decoding.unmasking import unmask, unmask_in_order
from unmasq.models import Denoiser, MaskedDenoiser, cast_floats
from unmasq.problem import DecodingProblem
from unmasq.sampling import CHUNK_SHOTS, EvaluationShots

TRAINING_SEED = 1  # published numbers use another seed's shots


def error_counts(
    network: Denoiser,
    problem: DecodingProblem,
    p_values: Sequence[float],
    shots: int,
    *,
    in_order: bool = False,
    dtype: str = "float32",
) -> list[dict[str, Any]]:
    """Failures among `shots` (whole chunks) at each p, with T = n_l and with T = 1."""
    if not isinstance(network, MaskedDenoiser):
        return []
    compute: MaskedDenoiser = cast_floats(network, jnp.dtype(dtype))
    size = problem.num_logicals

    @eqx.filter_jit
    def failures(network: MaskedDenoiser, syndrome: jax.Array, logicals: jax.Array) -> list:
        memory = network.encode(syndrome)

        def denoise(tokens):
            return network.denoise(memory, tokens)

        full = (
            unmask_in_order(denoise, len(syndrome), size)
            if in_order
            else unmask(denoise, len(syndrome), size, size)
        )
        once = unmask(denoise, len(syndrome), size, 1)
        return [jnp.any(r.logicals != logicals, axis=1).sum() for r in (full, once)]

    results = []
    for p in p_values:
        source = EvaluationShots(problem.at(p), TRAINING_SEED)
        counts = np.zeros(2, np.int64)
        chunks = -(-shots // CHUNK_SHOTS)
        for number in range(chunks):
            chunk = source.chunk(number)
            counts += np.asarray(failures(compute, chunk.syndrome, chunk.logicals))
        results.append(
            {
                "p": p,
                "shots": chunks * CHUNK_SHOTS,
                "failures": int(counts[0]),
                "failures_T1": int(counts[1]),
            }
        )
    return results
