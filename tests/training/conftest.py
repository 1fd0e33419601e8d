"""Quick compilation for all training runs, in this process and in those that tests start.

Every run compiles its own functions; equal ones come from a cache, bit for bit.
"""

import os

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache

DEFAULTS = {
    "jax_compilation_cache_dir": None,
    "jax_disable_most_optimizations": False,
    "jax_persistent_cache_min_compile_time_secs": 1.0,
    "jax_persistent_cache_min_entry_size_bytes": 0,
}


@pytest.fixture(scope="package", autouse=True)
def quick_compilation(tmp_path_factory):
    """The environment of processes that compile quickly too."""
    folder = str(tmp_path_factory.mktemp("compiled"))
    settings = dict(zip(DEFAULTS, (folder, True, 0.1, -1), strict=True))
    _apply(settings)
    yield {**os.environ, **{name.upper(): str(value) for name, value in settings.items()}}
    _apply(DEFAULTS)


def _apply(settings):
    for name, value in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
