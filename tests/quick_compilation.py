"""Quick compilation, in this process and in those that tests start.

Most of a test's time is compilation: few optimizations, and equal functions come from a cache, bit
for bit.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache

_DEFAULTS = {
    "jax_compilation_cache_dir": None,
    "jax_disable_most_optimizations": False,
    "jax_persistent_cache_min_compile_time_secs": 1.0,
    "jax_persistent_cache_min_entry_size_bytes": 0,
}


@contextlib.contextmanager
def quickly_compiled(folder: Path) -> Iterator[dict[str, str]]:
    """Gives the environment of processes that share the cache in `folder`."""
    settings = dict(zip(_DEFAULTS, (str(folder), True, 0.1, -1), strict=True))
    _apply(settings)
    try:
        yield {**os.environ, **{name.upper(): str(value) for name, value in settings.items()}}
    finally:
        _apply(_DEFAULTS)


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
