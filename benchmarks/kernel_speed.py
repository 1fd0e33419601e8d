"""How far kernels speed up a block of messages on this GPU, and how exactly they compute.

    python benchmarks/kernel_speed.py              # [[72,12,6]] and [[144,12,12]], half a minute
    python benchmarks/kernel_speed.py --interpret  # no GPU: a tiny size, for errors only

Milliseconds of a block on random bfloat16 data, by XLA and by kernels, forward and with all
gradients: medians of `REPEATS` of `CALLS` calls each, compilation out. An error is |got - want| /
|want| against XLA in float32 on the same inputs, the worst of all gradients.
"""

import argparse
import dataclasses
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr

from unmasq.codes import get_code
from unmasq.models import NetworkConfig, cast_floats, kernels
from unmasq.models.blocks import MessageBlock
from unmasq.models.kernels import products
from unmasq.models.messages import Wires

REPEATS, CALLS = 5, 20
MOST_ERROR = 2e-2  # of bfloat16: XLA's own is about half of it
SIZES = (("bb72", 2048), ("bb144", 1024))
CONFIG = NetworkConfig(
    width=256, feedforward=512, heads=1, biases=False, mixing="messages", message_width=128
)


def milliseconds(call: Callable, *inputs: Any) -> float:
    jax.block_until_ready(call(*inputs))
    found = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(CALLS):
            out = call(*inputs)
        jax.block_until_ready(out)
        found.append(1e3 * (time.perf_counter() - start) / CALLS)
    return statistics.median(found)


def worst_error(got: Any, want: Any) -> float:
    def error(a: jax.Array, b: jax.Array) -> float:
        a, b = a.astype(jnp.float32), b.astype(jnp.float32)
        return float(jnp.linalg.norm(a - b) / jnp.linalg.norm(b))

    return max(map(error, jax.tree.leaves(got), jax.tree.leaves(want)))


def measure(
    code: str, batch: int, norm: str, config: NetworkConfig = CONFIG, timed: bool = True
) -> float:
    """Prints a line for each way; returns the worst error of the kernels."""
    wires = Wires(get_code(code).schedule.tanner_graph())
    config = dataclasses.replace(config, norm=norm)
    wide = MessageBlock(config, wires, key=jr.key(0))
    narrow = cast_floats(wide, jnp.dtype(jnp.bfloat16))
    shape = (wires.check_groups[-1].stop, batch, config.width)
    x, g = (jr.normal(jr.key(seed), shape, jnp.bfloat16) for seed in (1, 2))

    def by_xla(block: MessageBlock, x: jax.Array) -> jax.Array:
        return block._with_residuals(x, lambda y: block.mixing(y, wires))

    def by_kernels(block: MessageBlock, x: jax.Array) -> jax.Array:
        return block.by_kernels(x, wires.routes)

    def gradients(run: Callable) -> Callable:
        def of(block: MessageBlock, x: jax.Array, g: jax.Array) -> Any:
            out, back = jax.vjp(run, block, x)
            return out, back(g.astype(x.dtype))

        return jax.jit(of)

    want = gradients(by_xla)(cast_floats(wide, jnp.dtype(jnp.float32)), x.astype(jnp.float32), g)
    worst = 0.0
    for name, run in (("XLA", by_xla), ("kernels", by_kernels)):
        start = time.perf_counter()
        both = gradients(run)
        worst = worst_error(both(narrow, x, g), want)
        compiling = time.perf_counter() - start
        forward = whole = float("nan")
        if timed:
            forward, whole = milliseconds(jax.jit(run), narrow, x), milliseconds(both, narrow, x, g)
        print(
            f"{code} {batch:5d} {norm:4s} {name:8s} forward {forward:6.3f} ms, with gradients "
            f"{whole:6.3f} ms, error {worst:.1e}, first call {compiling:.1f} s",
            flush=True,
        )
    return worst


def main() -> None:
    """Ends with 1 where a kernel is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interpret", action="store_true")
    if parser.parse_args().interpret:
        products.INTERPRETED = True
        sys.exit(measure("bb18", 128, "post", timed=False) > MOST_ERROR)
    if not kernels.on_such_a_gpu():
        sys.exit(f"error: the GPU must be of capability {kernels.CAPABILITIES}. Use --interpret.")
    worst = [measure(*size, norm) for size in SIZES for norm in ("post", "pre")]
    sys.exit(max(worst) > MOST_ERROR)


if __name__ == "__main__":
    main()
