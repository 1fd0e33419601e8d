"""What the processes of one run decide together, so that none waits for another in vain.

All processes must make the same calls.
"""

import jax
import numpy as np
from jax.experimental import multihost_utils


def agreed(value: int) -> int:
    """The first process's value, in every process."""
    if jax.process_count() == 1:
        return value
    return int(multihost_utils.broadcast_one_to_all(np.int32(value)))


def same_everywhere(value: int) -> bool:
    """Whether all processes have the same value."""
    if jax.process_count() == 1:
        return True
    return bool(np.all(multihost_utils.process_allgather(np.int32(value)) == value))
