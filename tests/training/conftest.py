"""One compilation cache for all training runs, in this process and in those that tests start.

Every run compiles its own functions; equal ones come from the cache, bit for bit.
"""

import os

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache

SETTINGS = {
    "jax_persistent_cache_min_compile_time_secs": 0.1,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory):
    """The environment of processes that share the cache."""
    settings = {**SETTINGS, "jax_compilation_cache_dir": str(tmp_path_factory.mktemp("compiled"))}
    before = {name: getattr(jax.config, name) for name in settings}
    _apply(settings)
    yield {**os.environ, **{name.upper(): str(value) for name, value in settings.items()}}
    _apply(before)


def _apply(settings):
    for name, value in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
