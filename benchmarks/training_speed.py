"""Training samples per second and where the time goes; its numbers go to the log.

    python benchmarks/training_speed.py RECIPE problem.safetensors [key=value ...] [--profile]

Prints one JSON record: samples/s and model FLOP/s of the recipe's last stage (fresh shots, forward,
backward, optimizer), compilation not timed. With --profile on a GPU a second record gives the
time of the kernels of one update by kind: matrix products, transposes, reductions, the rest. Under
it come the longest kernels, with the milliseconds and the calls of one update.
"""

import collections
import gzip
import json
import sys
import tempfile
import time
from pathlib import Path

import jax

from unmasq.models import Geometry, NetworkConfig
from unmasq.problems.problem_file import load_problem
from unmasq.recipes import get_recipe
from unmasq.training import override
from unmasq.training.curriculum import frame_ranges
from unmasq.training.make_trainer import make_trainer

CALLS = 5
LISTED = 70  # kernels


def forward_flops(config: NetworkConfig, geometry: Geometry) -> int:
    """Multiplications and additions of one shot through the masked denoiser's matrix products."""
    sites, frames = geometry.layout.num_checks, geometry.layout.num_frames
    tokens = sites + geometry.num_logicals

    def block(n: int) -> int:
        return 2 * n * config.width * (2 * config.width + 2 * config.feedforward + n)

    encoder = frames * config.encoder_layers + config.closing_layers
    return encoder * block(sites) + config.decoder_layers * block(tokens)


def kernel_times(trace: Path) -> dict[str, list[float]]:
    """Microseconds of each call of each GPU kernel, from a Perfetto trace."""
    events = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
    names = {
        (e["pid"], e.get("tid") if e["name"] == "thread_name" else None): e["args"]["name"]
        for e in events
        if e.get("ph") == "M" and e["name"] in ("process_name", "thread_name")
    }
    times: dict[str, list[float]] = collections.defaultdict(list)
    for event in events:
        if event.get("ph") != "X" or "GPU" not in names.get((event["pid"], None), ""):
            continue
        if "Stream" in names.get((event["pid"], event["tid"]), ""):
            times[event["name"]].append(event["dur"])
    return times


def print_profile(times: dict[str, list[float]], updates: int) -> None:
    kinds: collections.Counter[str] = collections.Counter()
    for name, spent in times.items():
        kinds[_kind(name)] += sum(spent)
    print(json.dumps({kind: round(us / 1e3 / updates, 3) for kind, us in kinds.most_common()}))
    for name, spent in sorted(times.items(), key=lambda item: -sum(item[1]))[:LISTED]:
        print(f"{sum(spent) / 1e3 / updates:8.3f} {len(spent) / updates:6.1f} {name[:80]}")


def _kind(kernel: str) -> str:
    for kind, marks in (
        ("matrix products", ("nvjet", "gemm", "cutlass", "cublas")),
        ("transposes", ("transpose",)),
        ("reductions", ("reduce",)),
    ):
        if any(mark in kernel for mark in marks):
            return kind
    return "other"


def main(recipe: str, path: str, settings: list[str], profile: bool) -> None:
    problem = load_problem(path)
    config = override(get_recipe(recipe), settings)
    trainer = make_trainer(config, problem)
    frames = frame_ranges(config, problem.layout.num_frames)[-1]
    state = trainer.start()
    for _ in range(2):
        state, losses = trainer.advance(state, frames, config.updates_per_call)
    jax.block_until_ready(losses)
    start = time.perf_counter()
    for _ in range(CALLS):
        state, losses = trainer.advance(state, frames, config.updates_per_call)
    jax.block_until_ready(losses)
    seconds = (time.perf_counter() - start) / (CALLS * config.updates_per_call)
    flops = 3 * forward_flops(config.network, trainer.geometry) * config.batch_size / seconds
    record = {
        "recipe": recipe,
        "settings": settings,
        "device": jax.devices()[0].device_kind,
        "dtype": config.compute_dtype,
        "batch": config.batch_size,
        "ms_per_update": round(1e3 * seconds, 3),
        "samples_per_second": round(config.batch_size / seconds),
        "model_tflops_per_second": round(flops / 1e12, 1),
    }
    print(json.dumps(record), flush=True)
    if profile:
        with tempfile.TemporaryDirectory() as folder:
            with jax.profiler.trace(folder, create_perfetto_trace=True):
                state, losses = trainer.advance(state, frames, config.updates_per_call)
                jax.block_until_ready(losses)
            trace = next(Path(folder).rglob("perfetto_trace.json.gz"))
            print_profile(kernel_times(trace), config.updates_per_call)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--profile"]
    if len(words) < 2:
        sys.exit(__doc__)
    main(words[0], words[1], words[2:], "--profile" in sys.argv)
