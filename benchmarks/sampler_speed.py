"""Shots per second of the device samplers on one problem file; its numbers go to the log.

    python benchmarks/sampler_speed.py problem.safetensors [batch ...]

Prints one JSON record a line: training shots of (s, l) with an error rate of its own for each shot
(`rbg` generator), for each batch size, then the numbered evaluation chunks with the hash of chunks
0 and 5, which must be the same on every machine. Compilation is not timed; calls are queued and
the clock stops when the last one is done.
"""

import hashlib
import json
import sys
import time
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from unmasq.problem_file import load_problem
from unmasq.sampling import CHUNK_SHOTS, EvaluationShots, ShotSampler

SECONDS = 3.0
ERROR_RATES = (0.003, 0.006)


def seconds_per_call(function: Callable[[int], object]) -> float:
    """Mean over as many queued calls as take about `SECONDS`."""
    jax.block_until_ready(function(0))
    start = time.perf_counter()
    jax.block_until_ready(function(1))
    calls = max(3, int(SECONDS / (time.perf_counter() - start)))
    start = time.perf_counter()
    jax.block_until_ready([function(number) for number in range(2, 2 + calls)][-1])
    return (time.perf_counter() - start) / calls


def main(path: str, batches: list[int]) -> None:
    problem = load_problem(path)
    facts = {"device": jax.devices()[0].device_kind, "jax": jax.__version__, "path": path}
    for intermediate in (False, True):
        sampler = ShotSampler(problem, intermediate=intermediate)
        for batch in batches:

            @eqx.filter_jit
            def draw(sampler: ShotSampler, key: jax.Array, batch: int = batch) -> object:
                p_key, shot_key = jr.split(key)
                low, high = ERROR_RATES
                return sampler(jr.uniform(p_key, (batch,), jnp.float32, low, high), key=shot_key)

            key = jr.key(0, impl="rbg")
            seconds = seconds_per_call(lambda n: draw(sampler, jr.fold_in(key, n)))  # noqa: B023
            record = {"kind": "training", "intermediate": intermediate, "batch": batch}
            print(json.dumps({**facts, **record, "shots_per_second": round(batch / seconds)}))
    shots = EvaluationShots(problem)
    seconds = seconds_per_call(shots.chunk)
    digest = hashlib.sha256()
    for number in (0, 5):
        for part in shots.chunk(number):
            digest.update(np.asarray(part).tobytes())
    record = {"kind": "evaluation", "shots_per_second": round(CHUNK_SHOTS / seconds)}
    print(json.dumps({**facts, **record, "sha256": digest.hexdigest()}))


if __name__ == "__main__":
    main(sys.argv[1], [int(word) for word in sys.argv[2:]] or [2048])
