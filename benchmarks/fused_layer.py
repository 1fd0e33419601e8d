"""Would fused kernels speed up a block of messages? Errors and times of `fused_kernels.py`.

    python benchmarks/fused_layer.py                          # one GPU, about four minutes
    python benchmarks/fused_layer.py --candidates 3 --sections block --seconds 100
    python benchmarks/fused_layer.py --interpret              # no GPU: tiny sizes, for errors only

Sections, in this order. `kernels` (always): each kernel alone with some tilings, beside XLA.
`block`: the whole block, plain and with kernels, forward and with all gradients, for [[72,12,6]];
at the end also for [[144,12,12]] and for half the batch. `variants`: the plain block with norms in
bfloat16, rematerialised, with messages of 64. `scan`: three blocks on 7 frames, rolled and
unrolled, plain and fused. `cublaslt`: the plain block under
XLA_FLAGS=--xla_gpu_enable_cublaslt=true, which the section sets for itself.

Milliseconds are medians of `REPEATS` of `CALLS` calls each, on random data, compilation out.
TFLOP/s counts products (what is computed again counts for kernels alone, not for blocks), GB/s each
input and output once. An error is |got - want| / |want| against float32 on the same bfloat16
inputs, the worst of all outputs or gradients. Each kernel and each other section is a process, so
one that crashes takes none with it. They start together and compile what needs no tuning, then wait
for their turn: nothing else is timed, or tuned by the compiler, at the same time. A kernel that
fails is one line, and the block does without it.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from fused_block import KERNELS, Plan, fused_block
from fused_cases import BFLOAT16, CANDIDATES, GROUPS, Setting, cases
from fused_kernels import (
    Tiling,
)
from fused_process import Child, in_turn
from fused_tables import Parameters, Routes

from unmasq.models.blocks import MessageBlock
from unmasq.models.layers import cast_floats

REPEATS, CALLS = 5, 20
FRAMES, LAYERS = 7, 3


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


def compiled(function: Callable, *inputs: Any) -> Callable | str:
    """The program, or in one line why there is none."""
    try:
        return jax.jit(function).lower(*inputs).compile()
    except Exception as error:  # whatever a compiler says
        return _line(error)


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"


def errors(got: Any, want: Any) -> list[float]:
    """Of each array; NaN where there is one."""

    def error(a: jax.Array, b: jax.Array) -> float:
        a, b = a.astype(jnp.float32), b.astype(jnp.float32)
        return float(jnp.linalg.norm(a - b) / jnp.linalg.norm(b))

    return [error(*pair) for pair in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True)]


def _bytes(tree: Any) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def _wide(tree: Any) -> Any:
    return cast_floats(tree, jnp.dtype(jnp.float32))


def _row(name: str, how: str, ms: float, flops: float, size: float, error: float) -> None:
    print(
        f"{name:21} {how:26} {ms:8.3f} ms {flops / ms / 1e9:6.0f} TFLOP/s "
        f"{size / ms / 1e6:6.0f} GB/s  error {error:.1e}",
        flush=True,
    )


def _named(tiling: Tiling | None) -> str:
    if tiling is None:
        return "XLA"
    marks = ["/".join(str(n) for n in tiling[:4])]
    marks += [f"splits {tiling.splits}"] if tiling.splits > 1 else []
    return " ".join(marks + (["quick"] if tiling.quick else []))


def wait_for_turn() -> None:
    print("READY", flush=True)
    sys.stdin.readline()


# Sections: each runs in a process of its own.


def kernel_section(setting: Setting, name: str, most: int) -> None:
    """Times the first `most` candidates; the last line tells the best."""
    case = cases(setting)[name]()
    programs: dict[Tiling | None, Callable | str] = {}
    for tiling in CANDIDATES[name][:most]:
        programs[tiling] = compiled(case.call(tiling), *case.inputs)
    with jax.default_matmul_precision("highest"):
        want = jax.block_until_ready(jax.jit(case.call(None))(*_wide(case.inputs)))
    wait_for_turn()
    programs[None] = compiled(case.call(None), *case.inputs)
    times = {}
    for tiling, program in programs.items():
        try:
            if isinstance(program, str):
                raise RuntimeError(program)
            got = program(*case.inputs)
            error = float(np.max(errors(got, want)))
            ms = milliseconds(program, *case.inputs)
        except Exception as failure:  # whatever a compiler or a launch says
            print(f"{name:21} {_named(tiling):26} {_line(failure)}", flush=True)
            continue
        _row(name, _named(tiling), ms, case.flops, _bytes(case.inputs) + _bytes(got), error)
        if error < 0.02:
            times[tiling] = ms
    ours = {t: ms for t, ms in times.items() if t is not None}
    if ours:
        tiling = min(ours, key=lambda t: ours[t])
        found = {name: [list(tiling), ours[tiling], times.get(None)]}
        print("BEST " + json.dumps(found), flush=True)


def ceilings_section(setting: Setting) -> None:
    """What the machine gives: a call, a copy and a large product."""
    tiny, size = jnp.zeros(8), 256 if setting.interpret else 8192
    x = jr.normal(jr.key(0), (4 * size, size), jnp.bfloat16)
    wait_for_turn()
    print(f"a call that does nothing: {milliseconds(jax.jit(lambda x: x + 1), tiny):.4f} ms")
    _row("copy", "negated", milliseconds(jax.jit(lambda x: -x), x), 0, 2 * _bytes(x), 0)
    a, b = x[:size], x[-size:]
    _row("product", str(size), milliseconds(jax.jit(lambda a, b: a @ b), a, b), 2 * size**3, 0, 0)


def _with_gradients(run: Callable) -> Callable:
    """(model, x, g) -> the block's output and the gradients of <output, g> by model and x."""

    def both(model: Any, x: jax.Array, g: jax.Array) -> Any:
        out, back = jax.vjp(run, model, x)
        return out, back(g.astype(out.dtype))

    return both


def _time_block(
    name: str, setting: Setting, run: Callable, inputs: tuple, want: Any, forward: bool = True
) -> None:
    """A line for the forward pass, and one with gradients."""
    flops = setting.flops(setting.block()[1])
    try:
        if forward:
            ms = milliseconds(jax.jit(run), *inputs[:2])
            rate = f"{flops / ms / 1e9:5.0f} TFLOP/s"
            print(f"{name:28} forward        {ms:9.3f} ms {rate}", flush=True)
        program, said = jax.jit(_with_gradients(run)), ""
        if want is not None:
            out, *rest = errors(program(*inputs), want)
            said = f"  error of output {out:.1e}, worst of gradients {np.max(rest):.1e}"
        ms = milliseconds(program, *inputs)
        rate = f"{3 * flops / ms / 1e9:5.0f} TFLOP/s"
        print(f"{name:28} with gradients {ms:9.3f} ms {rate}{said}", flush=True)
    except Exception as failure:  # whatever a compiler or a launch says
        print(f"{name:28} {_line(failure)}", flush=True)


def _runs(setting: Setting, plan: Plan, part: str = "all") -> tuple[Callable, Any]:
    """(run, model) of the plain block (`part` "plain") or of one with kernels."""
    block, wires = setting.block()
    model = cast_floats(block, BFLOAT16)
    if part == "plain":
        return lambda model, x: model(x, wires), model
    names = KERNELS if part == "all" else GROUPS[part]
    fused = fused_block(
        Routes.of(wires), {n: plan[n] for n in names if n in plan}, setting.interpret
    )
    return lambda model, x: fused(Parameters.of(model), x), model


def _plans(best: dict[str, list]) -> tuple[Plan, Plan]:
    """The kernels that work, and those of them that beat XLA."""
    all_of: Plan = {name: Tiling(*tiling) for name, (tiling, _, _) in best.items()}
    faster: Plan = {
        name: all_of[name] for name, (_, ms, xla) in best.items() if xla is None or ms < xla
    }
    return all_of, faster


def block_section(setting: Setting, best: dict[str, list], short: bool) -> None:
    wires = setting.block()[1]
    x, g = setting.input(wires), setting.input(wires, 2)
    ways = [("plain", "plain", {}), ("no Pallas, own gradients", "all", {})]
    all_of, faster = _plans(best)
    ways.append(("kernels that beat XLA", "all", faster))
    if not short:
        ways.append(("all kernels", "all", all_of))
        ways += [(f"only {group}", group, all_of) for group in GROUPS]
    run, model = _runs(setting, {}, "plain")
    with jax.default_matmul_precision("highest"):
        want = jax.jit(_with_gradients(run))(_wide(model), _wide(x), _wide(g))
    wait_for_turn()
    for name, part, plan in ways:
        run, model = _runs(setting, plan, part)
        _time_block(name, setting, run, (model, x, g), want, forward=not name.startswith("only"))


class NarrowNorm(eqx.Module):
    """The plain norm with its sums in the type of what comes in."""

    def __call__(self, x: jax.Array) -> jax.Array:
        x = x - jax.lax.stop_gradient(x[..., :1])
        mean = jnp.mean(x, axis=-1, keepdims=True, dtype=x.dtype)
        variance = jnp.mean(jnp.square(x), axis=-1, keepdims=True, dtype=x.dtype) - mean * mean
        return (x - mean) * jax.lax.rsqrt(jnp.maximum(variance, 0) + 1e-5)


def variants_section(setting: Setting) -> None:
    wires = setting.block()[1]
    x, g = setting.input(wires), setting.input(wires, 2)
    run, model = _runs(setting, {}, "plain")

    def norms(block: MessageBlock) -> tuple:
        return block.mixing_norm, block.feedforward_norm

    narrow = eqx.tree_at(norms, model, (NarrowNorm(), NarrowNorm()))
    wait_for_turn()
    _time_block("plain", setting, run, (model, x, g), None)
    _time_block("norms in bfloat16", setting, run, (narrow, x, g), None)
    _time_block("jax.checkpoint", setting, jax.checkpoint(run), (model, x, g), None, False)
    small = setting._replace(message=setting.message // 2)
    run, model = _runs(small, {}, "plain")
    _time_block(f"message width {small.message}", small, run, (model, x, g), None)


def cublaslt_section(setting: Setting) -> None:
    wires = setting.block()[1]
    x, g = setting.input(wires), setting.input(wires, 2)
    run, model = _runs(setting, {}, "plain")
    wait_for_turn()
    _time_block("plain with cublaslt", setting, run, (model, x, g), None)


def scan_section(setting: Setting, best: dict[str, list]) -> None:
    """Three blocks on each of 7 frames, as the encoder runs them."""
    wires = setting.block()[1]
    x, g = setting.input(wires), setting.input(wires, 2)
    frames = jr.normal(jr.key(3), (FRAMES, len(x), 1, setting.width), jnp.bfloat16)
    wait_for_turn()
    faster = _plans(best)[1]
    for name, part, unroll in (
        ("plain, rolled", "plain", 1),
        ("fused, rolled", "all", 1),
        ("fused, unrolled", "all", FRAMES),
        ("plain, unrolled", "plain", FRAMES),
    ):
        run, model = _runs(setting, faster, part)

        def encoder(
            models: list, x: jax.Array, run: Callable = run, unroll: int = unroll
        ) -> jax.Array:
            def step(state: jax.Array, frame: jax.Array) -> tuple[jax.Array, None]:
                state = state + frame
                for one in models:
                    state = run(one, state)
                return state, None

            return jax.lax.scan(step, x, frames, unroll=unroll)[0]

        start = time.perf_counter()
        program = compiled(_with_gradients(encoder), [model] * LAYERS, x, g)
        seconds = time.perf_counter() - start
        if isinstance(program, str):
            print(f"{name:28} {program}", flush=True)
            continue
        try:
            ms = milliseconds(program, [model] * LAYERS, x, g)
        except Exception as failure:
            print(f"{name:28} {_line(failure)}", flush=True)
            continue
        flops = 3 * FRAMES * LAYERS * setting.flops(wires)
        rate = 1e3 * setting.batch / ms
        print(
            f"{name:28} with gradients {ms:9.3f} ms {flops / ms / 1e9:5.0f} TFLOP/s  "
            f"{rate:8.0f} samples/s  compiled in {seconds:.0f} s",
            flush=True,
        )


# The process that starts the others.


def every_section(arguments: argparse.Namespace) -> None:
    deadline = time.monotonic() + arguments.seconds
    settings = [Setting(code, n) for code, n in (("bb72", 2048), ("bb144", 1024), ("bb72", 1024))]
    if arguments.interpret:
        settings = [Setting("bb18", 32, 32, 64, 16, True)]
    main_setting, *others = settings
    print("kernels: tile of shots / chunk of the sum / warps / stages")
    common = {"setting": main_setting, "most": arguments.candidates}
    kernels = [Child(__file__, "ceilings", {"section": "ceilings", **common})]
    for name in KERNELS:
        kernels.append(Child(__file__, name, {"section": "kernel", "name": name, **common}))
    in_turn(kernels, deadline)
    best = {name: found for child in kernels for name, found in child.best.items()}
    print("\nbest: " + json.dumps({name: _named(Tiling(*t)) for name, (t, _, _) in best.items()}))
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_enable_cublaslt=true"

    def child(section: str, setting: Setting, **environment: str) -> Child:
        job = {"section": section, "setting": setting, "best": best}
        job["short"] = setting != main_setting
        title = f"{section}: {setting.code}, batch {setting.batch}"
        return Child(__file__, title, job, **environment)

    later = [
        child(section, main_setting, **({"XLA_FLAGS": flags.strip()} if "cub" in section else {}))
        for section in ("block", "variants", "scan", "cublaslt")
        if section in arguments.sections
    ]
    if "block" in arguments.sections:
        later += [child("block", setting) for setting in others]
    in_turn(later, deadline)


def run_job(job: dict) -> None:
    setting = Setting(*job["setting"])
    match job["section"]:
        case "ceilings":
            ceilings_section(setting)
        case "kernel":
            kernel_section(setting, job["name"], job["most"])
        case "block":
            block_section(setting, job["best"], job["short"])
        case "variants":
            variants_section(setting)
        case "scan":
            scan_section(setting, job["best"])
        case "cublaslt":
            cublaslt_section(setting)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sections = ("kernels", "block", "variants", "scan", "cublaslt")
    parser.add_argument("--sections", nargs="+", choices=sections, default=sections)
    parser.add_argument("--seconds", type=float, default=240, help="no section begins after that")
    parser.add_argument("--candidates", type=int, default=9, help="tilings of each kernel, at most")
    parser.add_argument("--interpret", action="store_true", help="tiny sizes, without a GPU")
    parser.add_argument("--job", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        run_job(arguments.job)
    else:
        every_section(arguments)


if __name__ == "__main__":
    main()
