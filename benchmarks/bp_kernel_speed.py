"""How far kernels speed up belief propagation on this GPU, and whether they find the same.

    unmasq problem bb144 --p 0.003 --rounds 12 --basis X --out DIR
    python benchmarks/bp_kernel_speed.py DIR/problem.safetensors  # a minute
    python benchmarks/bp_kernel_speed.py --interpret              # no GPU: a tiny one, untimed

First each kernel alone, cut in several ways. Then whole runs of `ITERATIONS` on numbered shots, by
XLA and by kernels, with the mean of the odds that only some networks are told and without: ms an
iteration, medians of `REPEATS`, compilation out. Beside them how many shots are solved, how many by
one way alone, how many have the same odds to the last bit, and by how much odds differ after three
iterations.
"""

import argparse
import functools
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from unmasq.models import kernels, memory_bp
from unmasq.models.kernels import min_sum, products
from unmasq.models.kernels.products import Tiling
from unmasq.models.memory_bp import Found, Neighbours, neighbours_of
from unmasq.problems.fault_graph import fault_graph
from unmasq.problems.problem import DecodingProblem
from unmasq.problems.problem_file import load_problem
from unmasq.shots.sampling import CHUNK_SHOTS, EvaluationShots

ITERATIONS, SCALING, MEMORY = 40, 1.0, 0.15
BATCHES, TRIED_AT = (1024, 3072, 8192), 3072
RATES = (0.003, 0.005)
REPEATS, CALLS = 5, 20
MOST_ERROR = 1e-3  # of odds after three iterations
TRIED = {
    "detectors": [
        Tiling(512, 4, 4, 1),
        Tiling(512, 1, 4, 1),
        Tiling(512, 16, 4, 1),
        Tiling(256, 4, 4, 1),
        Tiling(1024, 4, 8, 1),
        Tiling(128, 4, 1, 1),
    ],
    "faults": [
        Tiling(512, 16, 4, 1),
        Tiling(512, 1, 4, 1),
        Tiling(512, 4, 4, 1),
        Tiling(256, 16, 4, 1),
        Tiling(1024, 16, 8, 1),
        Tiling(128, 16, 1, 1),
    ],
}


class Shots(NamedTuple):
    """Of one physical error rate."""

    prior: jax.Array  # (N,)
    syndrome: jax.Array  # (detectors, B)


def milliseconds(call: Callable[[], Any]) -> float:
    jax.block_until_ready(call())
    found = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        jax.block_until_ready(call())
        found.append(1e3 * (time.perf_counter() - start))
    return statistics.median(found)


def numbered_shots(problem: DecodingProblem, count: int) -> tuple[Neighbours, Shots]:
    faults = fault_graph(problem, problem.symmetry)
    frames, sites, slots = faults.around.shape
    graph = neighbours_of(faults.around.reshape(frames * sites, slots), len(faults.odds))
    chunks = range(-(-count // CHUNK_SHOTS))
    source = EvaluationShots(problem)
    bits = np.concatenate([np.asarray(source.chunk(i).syndrome) for i in chunks])[:count].T
    seen = bits[problem.layout.grid()[:, faults.sites].ravel()]
    return graph, Shots(jnp.asarray(faults.odds), jnp.asarray(seen == 1))


def by_detectors(graph: Neighbours, odds: jax.Array, syndrome: jax.Array) -> Any:
    """`CALLS` times the first kernel alone, on odds that stay."""
    tables, one = min_sum.Tables.of(graph), jnp.ones(1)
    still = jnp.zeros(odds.shape[1], bool)

    def turn(_: Any, state: tuple) -> tuple:
        return min_sum.answer(tables, *state, odds, syndrome, still, one)

    start = min_sum.silent(tables, odds.shape[1]), syndrome
    return jax.lax.fori_loop(0, CALLS, turn, start)


def by_faults(graph: Neighbours, odds: jax.Array, syndrome: jax.Array) -> Any:
    """`CALLS` times the second, on messages that stay."""
    tables, one = min_sum.Tables.of(graph), jnp.ones(1)
    told = min_sum.silent(tables, odds.shape[1])
    still = jnp.any(syndrome > 1, axis=0)  # none

    def turn(_: Any, odds: jax.Array) -> jax.Array:
        return min_sum.update(tables, odds, told, still, odds[:, 0], one)

    return jax.lax.fori_loop(0, CALLS, turn, odds)


def try_tilings(graph: Neighbours) -> None:
    """Prints the time of each kernel by each tiling, and keeps the fastest."""
    odds = 5 + jax.random.normal(jax.random.key(0), (graph.messages.shape[1], TRIED_AT))
    inputs = odds, jnp.zeros((graph.faults.shape[1], TRIED_AT), jnp.int8)
    for name, run in (("detectors", by_detectors), ("faults", by_faults)):
        times = {}
        for tiling in TRIED[name]:
            min_sum.TILINGS[name] = tiling
            call = functools.partial(jax.jit(functools.partial(run, graph)), *inputs)
            start = time.perf_counter()
            try:
                times[tiling] = milliseconds(call) / CALLS
            except Exception as error:  # one that the compiler refuses is no reason to stop
                print(f"{name:9s} {tuple(tiling)}: {str(error)[:300]}", flush=True)
                continue
            print(
                f"{name:9s} rows {tiling.rows:4d} chunk {tiling.chunk:2d} warps {tiling.warps} "
                f"{times[tiling]:7.4f} ms, all in {time.perf_counter() - start:.1f} s",
                flush=True,
            )
        if not times:
            sys.exit(f"error: no tiling of the kernel of {name} could be run.")
        min_sum.TILINGS[name] = min(times, key=lambda tiling: times[tiling])


def compiled(graph: Neighbours, shots: Shots, by_kernels: bool, mean: bool = False) -> Callable:
    """`believe` of so many shots, in one way. Prior, syndrome and iterations are arguments."""
    memory_bp.serve_beliefs = lambda *_: by_kernels

    def run(prior: jax.Array, syndrome: jax.Array, iterations: jax.Array) -> tuple:
        found: Found = memory_bp._believe(
            graph, prior, syndrome, iterations=iterations, scaling=SCALING, memory=MEMORY
        )
        return found.odds, found.solved, *((found.mean,) if mean else ())

    return jax.jit(run).lower(*shots, jnp.int32(ITERATIONS)).compile()


def compare(graph: Neighbours, all_shots: dict[float, Shots], batch: int, timed: bool) -> float:
    """Prints a line for each rate and way; returns the greatest difference of odds."""
    cut = {p: Shots(each.prior, each.syndrome[:, :batch]) for p, each in all_shots.items()}
    some = next(iter(cut.values()))
    ways = {}
    for name, by_kernels, mean in (
        ("XLA", False, False),
        ("kernels", True, False),
        *((("with mean", True, True),) if batch == TRIED_AT else ()),
    ):
        start = time.perf_counter()
        ways[name] = compiled(graph, some, by_kernels, mean)
        print(f"{batch} {name}: compiled in {time.perf_counter() - start:.1f} s", flush=True)
    worst = 0.0
    for p, shots in cut.items():
        early = [ways[name](*shots, jnp.int32(3))[0] for name in ("XLA", "kernels")]
        error = float(jnp.max(jnp.abs(early[0] - early[1])))
        worst = max(worst, error)
        of_xla = None
        for name, way in ways.items():
            odds, solved = way(*shots, jnp.int32(ITERATIONS))[:2]
            took = float("nan")
            if timed:
                call = functools.partial(way, *shots, jnp.int32(ITERATIONS))
                took = milliseconds(call) / ITERATIONS
            of_xla = of_xla or (odds, solved)
            other = int(jnp.sum(solved != of_xla[1]))
            same = int(jnp.sum(jnp.all(odds == of_xla[0], axis=0)))
            print(
                f"p = {p} {batch:5d} {name:9s} {took:7.4f} ms an iteration, solved "
                f"{int(solved.sum())}, otherwise than XLA {other}, same bits {same}, "
                f"error after three {error:.1e}",
                flush=True,
            )
    return worst


def main() -> None:
    """Ends with 1 where kernels say something else."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problem", nargs="?", help="problem.safetensors")
    parser.add_argument("--interpret", action="store_true")
    asked = parser.parse_args()
    if asked.interpret:
        from unmasq.codes import get_code
        from unmasq.problems.building import problem_from_code  # needs stim, which few GPUs have

        products.INTERPRETED = True
        graph, shots = numbered_shots(problem_from_code(get_code("bb18"), "circuit", 0.006, 3), 128)
        sys.exit(not compare(graph, {0.006: shots}, 128, timed=False) <= MOST_ERROR)
    if asked.problem is None:
        parser.error("a problem file, or --interpret")
    if not kernels.on_such_a_gpu():
        sys.exit(f"error: the GPU must be of capability {kernels.CAPABILITIES}. Use --interpret.")
    problem = load_problem(asked.problem)
    found = {p: numbered_shots(problem.at(p), max(BATCHES)) for p in RATES}
    graph = found[RATES[0]][0]
    all_shots = {p: shots for p, (_, shots) in found.items()}
    try_tilings(graph)
    worst = [compare(graph, all_shots, batch, timed=True) for batch in BATCHES]
    sys.exit(not max(worst) <= MOST_ERROR)


if __name__ == "__main__":
    main()
