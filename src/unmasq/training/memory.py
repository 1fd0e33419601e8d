"""Whether an update fits in memory: asked of the compiler before the first one runs.

On a CPU a process that takes too much is killed by the system without a word.
"""

from pathlib import Path
from typing import Any

import jax

from unmasq.training.config import TrainConfig

_MEMORY = Path("/proc/meminfo")


class OutOfMemoryError(ValueError):
    """An update that does not fit."""


def require_memory(compiled: Any, config: TrainConfig) -> None:
    """Refuses a compiled update that needs more than there is; says which setting to lower."""
    needed, available = needed_bytes(compiled), available_bytes()
    if needed is None or available is None or needed <= available:
        return
    raise OutOfMemoryError(
        f"an update must fit in memory: it needs {_gigabytes(needed)} more, and "
        f"{_gigabytes(available)} are free. {_way_out(config, available / needed)}"
    )


def out_of_memory(error: BaseException, config: TrainConfig) -> OutOfMemoryError | None:
    """What to say where `error` tells of memory that ran out; None for all other errors."""
    text = str(error)
    if not isinstance(error, MemoryError) and "RESOURCE_EXHAUSTED" not in text:
        return None
    reason = text.splitlines()[0] if text else "no more could be had"
    return OutOfMemoryError(
        f"an update must fit in memory: {reason.rstrip('.')}. {_way_out(config, 0.5)}"
    )


def needed_bytes(compiled: Any) -> int | None:
    """Beyond what is there already: results and everything in between, on all devices here."""
    stats = compiled.memory_analysis()
    if stats is None:
        return None
    one = stats.temp_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes
    return one * (jax.local_device_count() if jax.default_backend() == "cpu" else 1)


def available_bytes() -> int | None:
    """Free memory of an accelerator, or of this machine; None where nobody tells."""
    if jax.default_backend() != "cpu":
        stats = jax.local_devices()[0].memory_stats() or {}
        if "bytes_limit" not in stats:
            return None
        return stats["bytes_limit"] - stats.get("bytes_in_use", 0)
    try:
        lines = _MEMORY.read_text().splitlines()
        free = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(free.split()[1]) * 1024
    except (OSError, StopIteration, ValueError, IndexError):
        return None


def _way_out(config: TrainConfig, share: float) -> str:
    devices = jax.device_count()
    smaller = int(config.batch_size * min(share, 0.5)) // devices * devices
    if smaller >= 1:
        return f"Lower the batch: --set batch_size={smaller} (now {config.batch_size})."
    return "Use a smaller network (network.width) or fewer masks (masks_per_shot)."


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.3g} GB"
