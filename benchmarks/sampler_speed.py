"""Shots per second of the device samplers on one problem file; its numbers go to the log.

    python benchmarks/sampler_speed.py problem.safetensors [batch ...]

Prints one JSON record a line: training shots of (s, l) with an error rate of its own for each shot
(`rbg` generator), for each batch size, then the numbered evaluation chunks with the hash of chunks
0 and 5, which must be the same on every machine. Compilation is not timed; calls are queued and
the clock stops when the last one is done.
"""

import functools
import hashlib
import json
import sys
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from unmasq.problems.problem_file import load_problem
from unmasq.shots.sampling import CHUNK_SHOTS, EvaluationShots, ShotSampler

SECONDS = 2.0
LOOP = 50  # batches in one call, as in training: a loop on the device
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


@functools.partial(jax.jit, static_argnums=(2, 3))
def draw_batches(
    sampler: ShotSampler, key: PRNGKeyArray, batch: int, batches: int
) -> tuple[jax.Array, jax.Array]:
    """How often each detector and logical fired: nothing of a batch can be left out."""

    def draw(_: None, key: PRNGKeyArray) -> tuple[None, tuple[jax.Array, jax.Array]]:
        p_key, shot_key = jr.split(key)
        low, high = ERROR_RATES
        shots = sampler(jr.uniform(p_key, (batch,), jnp.float32, low, high), key=shot_key)
        return None, (shots.syndrome.sum(0), shots.logicals.sum(0))

    return jax.lax.scan(draw, None, jr.split(key, batches))[1]


def main(path: str, batches: list[int]) -> None:
    problem = load_problem(path)
    facts = {"device": jax.devices()[0].device_kind, "jax": jax.__version__, "path": path}
    for intermediate in (False, True):
        sampler = ShotSampler(problem, intermediate=intermediate)
        for batch in batches:
            draw = functools.partial(draw_batches, sampler)
            keys = [jr.key(number, impl="rbg") for number in range(1000)]
            seconds = seconds_per_call(lambda n: draw(keys[n % 1000], batch, LOOP)) / LOOP  # noqa: B023
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
