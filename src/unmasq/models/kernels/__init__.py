"""Blocks of messages by kernels of their own, on GPUs for which these were measured.

Blocks: what `unmasq.models.messages` and `layers` say, to the digits of bfloat16, in half the time.
XLA writes what it gathers to memory, and reads it back. UNMASQ_KERNELS=0 turns them off.

Belief propagation (`min_sum`): what `unmasq.models.memory_bp` says, to the digits of float32. No
GPU has run these yet: only UNMASQ_KERNELS=trial turns them on.
"""

import os

import jax
import jax.numpy as jnp

from unmasq.models.kernels.tables import Routes

CAPABILITIES = ("9.0",)  # of NVIDIA's GPUs: tiles are cut for the shared memory of these
ALIGNED = 128  # what batches must be a multiple of; see `products.TILINGS`


def serve(x: jax.Array, routes: Routes | None, *widths: int) -> bool:
    """Whether there are kernels for such a block, on this device."""
    return (
        routes is not None
        and x.dtype == jnp.bfloat16
        and x.shape[1] % ALIGNED == 0
        and all(width >= 64 and width.bit_count() == 1 for width in (x.shape[-1], *widths))
        and os.environ.get("UNMASQ_KERNELS") != "0"
        and on_such_a_gpu()
    )


def serve_beliefs(batch: int, *values: jax.Array) -> bool:
    """Whether there are kernels for belief propagation on so many shots, on this device.

    Not on several: XLA shares the work of its own kernels out to them, not that of ours.
    """
    return (
        jax.device_count() == 1
        and batch > 0
        and batch % ALIGNED == 0
        and all(each.dtype == jnp.float32 for each in values)
        and os.environ.get("UNMASQ_KERNELS") == "trial"
        and on_such_a_gpu()
    )


def on_such_a_gpu() -> bool:
    """Whether jax computes on one."""
    if jax.default_backend() != "gpu":
        return False
    return getattr(jax.devices()[0], "compute_capability", None) in CAPABILITIES
