"""Settings for all tests: JAX on the CPU and strict, compiled quickly, few threads, fixed seeds.

Nothing here imports unmasq: jaxtyping's import hook is not yet in place when this file loads.
"""

import gc
import os
import platform
import random
from collections.abc import Iterator

# Before jax is imported, and for the processes that tests start. `JAX_PLATFORMS=cuda` from outside
# wins: that is how the tests marked `device` reach one.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "PYTEST_XDIST_WORKER" in os.environ:
    # The workers of pytest-xdist already fill the cores.
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
os.environ.setdefault("MPLBACKEND", "Agg")

import hypothesis
import jax
import numpy as np
import pytest

from quick_compilation import fully_compiled, quickly_compiled

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# JAX and the tests are millions of objects that live to the end: looking through them again and
# again for garbage was a tenth of the time.
gc.set_threshold(10_000, 10, 10)


def pytest_collection_finish() -> None:
    gc.freeze()


hypothesis.settings.register_profile(
    "unmasq",
    deadline=None,  # the first example pays for compilation
    derandomize=True,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("unmasq")


@pytest.fixture(scope="session", autouse=True)
def quick_compilation(request, tmp_path_factory) -> Iterator[dict[str, str]]:
    """The environment of processes that compile quickly too.

    Processes that get no such environment compile as those of a user do.
    """
    if os.environ["JAX_PLATFORMS"] != "cpu":
        yield dict(os.environ)
        return
    # What one machine has compiled, another may not have the instructions for.
    kept = request.config.cache.mkdir("compiled") / platform.node()
    with quickly_compiled(tmp_path_factory.mktemp("compiled"), kept) as environment:
        yield environment


@pytest.fixture(scope="module")
def full_compilation() -> Iterator[None]:
    """`pytestmark = pytest.mark.usefixtures("full_compilation")` where tests run for long."""
    with fully_compiled():
        yield


@pytest.fixture(autouse=True)
def _fixed_seeds() -> None:
    """Our code takes keys and generators; this is for third-party code that does not."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
