"""`shot_by_shot`: each shot of a batch by itself, where that beats taking all of them together."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array


def shot_by_shot(run: Callable[..., Any], *arrays: Array) -> Any:
    """`run(*arrays)`, whose arguments and results have the shots last.

    An accelerator takes all shots at once. A CPU takes one after the other: each then leaves its
    loops when it is done, not when the last one is, and what it needs stays in the cache.
    """

    def alone(*arrays: Array) -> Any:
        shots = tuple(jnp.moveaxis(each, -1, 0)[..., None] for each in arrays)
        found = jax.lax.map(lambda shot: run(*shot), shots)
        return jax.tree.map(lambda each: jnp.moveaxis(each[..., 0], 0, -1), found)

    return jax.lax.platform_dependent(*arrays, cpu=alone, default=run)
