"""How long decoding takes: single shots as a distribution, batches as a throughput.

Compilation and the first calls are left out of every number. Shots are real ones at a given p:
the time of iterative decoders depends on the noise.
"""

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from unmasq.decoding.decoder import Decoder
from unmasq.evaluation.jobs import warm_up
from unmasq.evaluation.workers import available_cores

if TYPE_CHECKING:
    from unmasq.decoding.diffusion_decoder import DiffusionDecoder

WARM_UP_CALLS = 3
MIN_CALLS = 20  # single shots, however slow
MIN_BATCHES = 2
BINS_A_DECADE = 100  # of a latency's histogram


@dataclasses.dataclass(frozen=True, eq=False)
class Latency:
    """Wall time of single shots (batch 1), in the order they were decoded."""

    seconds: np.ndarray  # (calls,)

    def quantile(self, share: float) -> float:
        """The time that this share of the shots did not exceed: always one that occurred."""
        return float(np.quantile(self.seconds, share, method="higher"))

    @property
    def record(self) -> dict[str, Any]:
        """Milliseconds, for tables and JSON."""
        return {
            "calls": len(self.seconds),
            "mean_ms": 1e3 * float(self.seconds.mean()),
            "p50_ms": 1e3 * self.quantile(0.5),
            "p99_ms": 1e3 * self.quantile(0.99),
            "max_ms": 1e3 * float(self.seconds.max()),
            "histogram_ms": self.histogram(),
        }

    @property
    def microseconds(self) -> list[float]:
        """Every call, in the order they were made."""
        return [round(1e6 * float(seconds), 1) for seconds in self.seconds]

    def histogram(self) -> list[tuple[float, int]]:
        """[low, calls] of the bins that are not empty; low in ms, each bin 2.3 % wide."""
        bins = np.floor(BINS_A_DECADE * np.log10(np.maximum(1e3 * self.seconds, 1e-6)))
        numbers, calls = np.unique(bins, return_counts=True)
        lows = 10 ** (numbers / BINS_A_DECADE)
        return [(float(f"{low:.4g}"), int(n)) for low, n in zip(lows, calls, strict=True)]


@dataclasses.dataclass(frozen=True)
class Throughput:
    """Shots a second in batches of one size."""

    batch: int
    shots: int
    seconds: float

    @property
    def record(self) -> dict[str, Any]:
        return {
            "batch": self.batch,
            "shots": self.shots,
            "shots_per_second": self.shots / self.seconds,
            "us_per_shot": 1e6 * self.seconds / self.shots,
        }


def measure_latency(
    decoder: Decoder,
    syndromes: np.ndarray,
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> Latency:
    """Decodes one shot at a time for about `seconds`, going round the syndromes."""
    warm_up(decoder, syndromes[:1])
    for i in range(WARM_UP_CALLS):
        decoder.decode_batch(syndromes[i % len(syndromes)][None])
    times: list[float] = []
    end = clock() + seconds
    while len(times) < MIN_CALLS or clock() < end:
        shot = syndromes[len(times) % len(syndromes)][None]
        start = clock()
        decoder.decode_batch(shot)
        times.append(clock() - start)
    return Latency(np.array(times))


@dataclasses.dataclass(frozen=True, eq=False)
class StreamLatency:
    """Single shots frame by frame: the time of a frame, and from the last frame to the answer."""

    push: Latency
    finish: Latency

    @property
    def record(self) -> dict[str, Any]:
        return {"push": self.push.record, "finish": self.finish.record}


def measure_stream(
    decoder: "DiffusionDecoder",
    syndromes: np.ndarray,
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> StreamLatency:
    """Streams one shot at a time for about `seconds`; the last frame counts with the answer."""
    stream = decoder.stream()
    pushes: list[float] = []
    answers: list[float] = []
    shots, end = -WARM_UP_CALLS, clock() + seconds
    while len(answers) < MIN_CALLS or clock() < end:
        *earlier, last = decoder.frames(syndromes[shots % len(syndromes)][None])
        times = []
        for frame in earlier:
            start = clock()
            stream.push(frame)
            stream.wait()
            times.append(clock() - start)
        start = clock()
        stream.push(last)
        stream.finish()
        if shots >= 0:
            answers.append(clock() - start)
            pushes += times
        shots += 1
    return StreamLatency(Latency(np.array(pushes)), Latency(np.array(answers)))


def measure_throughput(
    decoder: Decoder,
    syndromes: np.ndarray,
    batch: int,
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> Throughput:
    """Decodes whole batches for about `seconds`, after one that is not counted."""
    rows = np.arange(batch) % len(syndromes)
    warm_up(decoder, syndromes[rows])
    decoder.decode_batch(syndromes[rows])
    done = 0
    start = clock()
    while done < MIN_BATCHES or clock() - start < seconds:
        decoder.decode_batch(syndromes[(rows + done * batch) % len(syndromes)])
        done += 1
    return Throughput(batch, done * batch, clock() - start)


@dataclasses.dataclass(frozen=True, eq=False)
class Timing:
    """All measurements of one decoder."""

    decoder: str
    device: str
    dtype: str | None
    latency: Latency
    throughputs: tuple[Throughput, ...]
    mean_steps: float | None = None  # unmasking steps a shot took, where that varies
    stream: StreamLatency | None = None  # where shots can come frame by frame

    @property
    def record(self) -> dict[str, Any]:
        """For JSON: names device, dtype and batch, and says that compilation is out."""
        return {
            "decoder": self.decoder,
            "device": self.device,
            "dtype": self.dtype,
            "compilation_included": False,
            "latency_batch_1": self.latency.record,
            "throughput": [throughput.record for throughput in self.throughputs],
            "mean_steps": self.mean_steps,
            **({} if self.stream is None else {"stream_batch_1": self.stream.record}),
        }


def time_decoder(
    decoder: Decoder, syndromes: np.ndarray, batches: Sequence[int], seconds: float, device: str
) -> Timing:
    """Latency at batch 1 and throughput at every batch size, about `seconds` each."""
    if not len(syndromes):
        raise ValueError("syndromes must hold at least one shot: got none.")
    if min(batches) < 1:
        raise ValueError(f"batch must be at least 1: got {min(batches)}.")
    steps = None
    if hasattr(decoder, "decode_soft"):
        steps = float(decoder.decode_soft(syndromes[: max(batches)]).steps.mean())
    return Timing(
        decoder.name,
        device,
        getattr(decoder, "dtype", None),
        measure_latency(decoder, syndromes, seconds),
        tuple(measure_throughput(decoder, syndromes, batch, seconds) for batch in batches),
        steps,
        measure_stream(decoder, syndromes, seconds) if _streams(decoder) else None,
    )


def _streams(decoder: Any) -> TypeGuard["DiffusionDecoder"]:
    """Whether single shots may come frame by frame; votes need whole ones."""
    return getattr(decoder, "streams", False) and (decoder.asking.views or 1) == 1


def cpu_name(cores: int | None = None) -> str:
    """The processor as the system names it, with the cores in use; else all that may be used."""
    name = "CPU"
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.partition(":")[2] for line in file if line.startswith("model name")]
        name = names[0].strip() if names else name
    except OSError:
        pass
    count = available_cores() if cores is None else cores
    return f"{name}, {count} core{'s' if count > 1 else ''}"


def accelerator_name() -> str:
    """What JAX computes on: 'NVIDIA H200', or the processor's name."""
    import jax

    device = jax.devices()[0]
    return cpu_name() if device.platform == "cpu" else str(device.device_kind)
