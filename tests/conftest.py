"""Settings for all tests: JAX on the CPU and strict, few threads, fixed seeds.

Nothing here imports unmasq: jaxtyping's import hook is not yet in place when this file loads.
"""

import os
import random

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

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

hypothesis.settings.register_profile(
    "unmasq",
    deadline=None,  # the first example pays for compilation
    derandomize=True,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("unmasq")


@pytest.fixture(autouse=True)
def _fixed_seeds() -> None:
    """Our code takes keys and generators; this is for third-party code that does not."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
