"""Quick compilation, in this process and in those that tests start.

Most of a test's time is compilation: few optimizations, and equal functions come from a cache, bit
for bit. What this process compiled is kept for later runs; JAX finds it by the function itself, the
settings and the versions, so that changed code is compiled anew.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache

_DEFAULTS = {
    "jax_compilation_cache_dir": None,
    "jax_disable_most_optimizations": False,
    "jax_persistent_cache_min_compile_time_secs": 1.0,
    "jax_persistent_cache_min_entry_size_bytes": 0,
    "jax_persistent_cache_enable_xla_caches": "xla_gpu_per_fusion_autotune_cache_dir",
}
_MAX_KEPT = 2**30  # bytes


@contextlib.contextmanager
def quickly_compiled(folder: Path, kept: Path) -> Iterator[dict[str, str]]:
    """Gives the environment of processes that share a cache in `folder`.

    JAX may read what another process has half written, and a killed process leaves such a file: so
    this process has a cache of its own there, and of that alone whole files go to `kept`.
    """
    own, shared = folder / "own", folder / "shared"
    kept.mkdir(parents=True, exist_ok=True)
    for cache in (own, shared):
        cache.mkdir()
        for path in kept.glob("*-cache"):
            (cache / path.name).symlink_to(path)
    # XLA's caches are of GPUs; their folder would be part of what JAX finds a function by.
    settings = dict(zip(_DEFAULTS, (str(own), True, 0.03, -1, "none"), strict=True))
    _apply(settings)
    settings["jax_compilation_cache_dir"] = str(shared)
    try:
        yield {**os.environ, **{name.upper(): str(value) for name, value in settings.items()}}
    finally:
        _apply(_DEFAULTS)
        _keep(own, kept)


def _keep(own: Path, kept: Path) -> None:
    """Files appear whole; where there are too many, the oldest go."""
    for path in own.iterdir():
        if not path.is_symlink():
            part = kept / f"{path.name}.{os.getpid()}"
            shutil.copyfile(path, part)
            part.replace(kept / path.name)
    with contextlib.suppress(FileNotFoundError):  # another process may be clearing up too
        size = 0
        for path in sorted(kept.glob("*-cache"), key=lambda path: -path.stat().st_mtime):
            size += path.stat().st_size
            if size > _MAX_KEPT:
                path.unlink()


@contextlib.contextmanager
def fully_compiled() -> Iterator[None]:
    """For what runs for longer than it compiles; functions compiled before stay as they are."""
    before = jax.config.values["jax_disable_most_optimizations"]
    jax.config.update("jax_disable_most_optimizations", False)
    try:
        yield
    finally:
        jax.config.update("jax_disable_most_optimizations", before)


def _apply(settings: dict) -> None:
    for name, value in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
