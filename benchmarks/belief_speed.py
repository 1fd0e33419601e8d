"""How long belief propagation takes for a guess; its numbers go to the log.

    python benchmarks/belief_speed.py RECIPE problem.safetensors [iterations]

Prints one JSON record a line: milliseconds of processor time a shot for numbered shots in batches
of several sizes, the median of `REPEATS` (on a GPU: milliseconds), compilation out. For circuit
noise beside the package `relay-bp`: its min-sum of as many iterations on the same faults, shot
after shot. One thread: `taskset -c 0`, and
XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1".
"""

import dataclasses
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import scipy.sparse

from unmasq.baselines.adapter import import_extra
from unmasq.models import MaskedDenoiser, build_network, geometry_for
from unmasq.problems.problem import DecodingProblem
from unmasq.problems.problem_file import load_problem
from unmasq.recipes import get_recipe
from unmasq.shots.batches import cut
from unmasq.shots.sampling import EvaluationShots

BATCHES = (1, 16, 64, 256)
SHOTS = 256
REPEATS = 5


def milliseconds(call: Callable[[], object]) -> float:
    """For each of the shots; the first call, which compiles, is not counted."""
    clock = time.process_time if jax.default_backend() == "cpu" else time.perf_counter
    call()
    seconds = []
    for _ in range(REPEATS):
        start = clock()
        call()
        seconds.append(clock() - start)
    return 1000 * statistics.median(seconds) / SHOTS


def our_times(network: MaskedDenoiser, syndromes: np.ndarray) -> Iterator[dict]:
    guess = eqx.filter_jit(MaskedDenoiser.guess)
    solved = np.asarray(guess(network, syndromes).solved).mean()
    for batch in BATCHES:

        def run(batch: int = batch) -> None:
            for part in cut(SHOTS, batch):
                jax.block_until_ready(guess(network, syndromes[part]))

        yield {"batch": batch, "ms_per_shot": milliseconds(run), "solved": float(solved)}


def relay_time(
    problem: DecodingProblem, syndromes: np.ndarray, iterations: int, memory: float
) -> dict:
    relay_bp = import_extra("relay_bp", "relay-bp")
    kind = "XZ".index(problem.basis)
    _, seen = problem.restricted_to_type(kind)
    decoder = relay_bp.RelayDecoderF32(
        scipy.sparse.csr_matrix(seen.check_matrix),
        error_priors=seen.priors,
        alpha=1.0,
        gamma0=memory,
        pre_iter=iterations,
        num_sets=0,
    )
    layout = problem.layout
    bits = np.ascontiguousarray(syndromes[:, layout.check_type[layout.check] == kind])
    found = decoder.decode_detailed_batch(bits)
    return {
        "ms_per_shot": milliseconds(lambda: decoder.decode_batch(bits)),
        "solved": sum(each.success for each in found) / SHOTS,
        "mean_iterations": sum(each.iterations for each in found) / SHOTS,
    }


def main(recipe: str, path: str, iterations: int | None) -> None:
    config = get_recipe(recipe).network
    config = dataclasses.replace(config, bp_iterations=iterations or config.bp_iterations)
    problem = load_problem(path)
    network = build_network(config, geometry_for(config, problem), key=jr.key(0))
    syndromes = np.asarray(EvaluationShots(problem).chunk(0).syndrome)[:SHOTS]
    facts = {"device": jax.devices()[0].device_kind, "iterations": config.bp_iterations}
    for record in our_times(network, syndromes):
        print(json.dumps({**facts, "decoder": "unmasq", **record}))
    if config.bp_scaling == 1 and problem.basis in ("X", "Z"):
        record = relay_time(problem, syndromes, config.bp_iterations, config.bp_memory)
        print(json.dumps({**facts, "decoder": "relay-bp", **record}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else None)
