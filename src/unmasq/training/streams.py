"""Which random numbers a run draws, and how many samples of a chain of runs are distinct.

Update `step` of a run draws from fold_in(key, step), where the key is that of the recipe's seed and
of the run's stream, a number that its manifest keeps. Runs that start from weights (`--init`) have
a stream of their own: with the seed alone they would draw the shots of the runs before them again.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from unmasq.training.config import NoiseSchedule, TrainConfig
from unmasq.training.shot_error_rate import largest_p

PLAIN_STREAM = 0  # the seed's own key
_FIRST_STREAM = 2**32 - 1  # of a run from scratch, where PLAIN_STREAM will not do


def stream_of(config: TrainConfig, init: Mapping[str, np.ndarray] | None) -> int:
    """The stream of a new run: that of the seed, or one that the weights it starts from name.

    The initial weights are drawn with threefry from the same seed. Where training uses threefry
    too, `split(key)[0]` equals `fold_in(key, 0)`, so the seed's own key would draw them again.
    """
    if init is None:
        return _FIRST_STREAM if config.generator == "threefry2x32" else PLAIN_STREAM
    digest = hashlib.sha256()
    for name in sorted(init):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(init[name]).tobytes())
    return 1 + int.from_bytes(digest.digest()[:8], "little") % (_FIRST_STREAM - 1)


def training_key(config: TrainConfig, stream: int) -> PRNGKeyArray:
    """The key of all updates of a run."""
    key = jr.key(config.seed, impl=config.generator)
    return key if stream == PLAIN_STREAM else jr.fold_in(key, jnp.uint32(stream))


def distinct_samples(runs: Iterable[Mapping[str, Any]]) -> int:
    """Samples that a chain of runs drew, the same ones counted once; `runs` as cards tell of them.

    Two updates draw the same shots where stream, seed, generator, number of shots, problem, p and
    step agree. At another p the same random numbers give another shot. A run of which nothing is
    known counts as none.
    """
    updates: dict[tuple, set[tuple[int, float]]] = defaultdict(set)
    for run in runs:
        recipe = run.get("recipe")
        if not recipe or not run.get("updates"):
            continue
        noise = NoiseSchedule(**recipe["noise"])
        length = jnp.float32(recipe["num_updates"])
        steps = jnp.arange(run["updates"], dtype=jnp.int32)
        top = jax.vmap(lambda step, n=noise, u=length: largest_p(n, step, u))(steps)
        kind = (
            recipe["batch_size"],
            recipe.get("pool", 1),
            recipe["seed"],
            recipe["generator"],
            noise.low,
            noise.spread,
            run.get("stream") or PLAIN_STREAM,
            json.dumps([recipe["problem"], recipe.get("rounds", []), recipe.get("endings", [])]),
        )
        updates[kind].update(zip(steps.tolist(), np.asarray(top).tolist(), strict=True))
    return sum(batch * len(drawn) for (batch, *_), drawn in updates.items())
