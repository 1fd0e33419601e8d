"""A `sinter.Sampler` that keeps an accelerator busy.

sinter's own loop samples, decodes and counts one batch after the other, at most 1024 shots. Here
the device decodes one batch while the circuit's next one is sampled, in batches of one size (a
smaller rest is padded to it), so that one function is compiled and nothing waits.
"""

import collections
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import sinter
from numpy.typing import NDArray

from unmasq.decoding.sinter_adapter import NetworkForSinter
from unmasq.problems.stim_faults import error_model
from unmasq.shots.batches import pack

if TYPE_CHECKING:
    from unmasq.decoding.diffusion_decoder import DiffusionDecoder
    from unmasq.decoding.soft_output import SoftOutput

TARGET_SECONDS = 1.0  # between two reports to sinter
_MAX_BATCHES = 1024
_CPU_BATCH = 64  # a CPU gains nothing from more
_NO_DECODER_BATCH = 1024
_IN_FLIGHT = 2


class SinterSampler(NetworkForSinter, sinter.Sampler):
    """Samples circuits with Stim and decodes with a network. Use one worker an accelerator."""

    def compiled_sampler_for_task(self, task: sinter.Task) -> sinter.CompiledSampler:
        """Loads the weights for the task's error model, or says why none fit."""
        dem = task.detector_error_model
        dem = error_model(task.circuit) if dem is None else dem
        return CompiledNetworkSampler(task, self.decoder(dem))


class CompiledNetworkSampler(sinter.CompiledSampler):
    """Chooses its own number of shots, so that each call takes about a second."""

    def __init__(self, task: sinter.Task, decoder: "DiffusionDecoder | None"):
        self._task = task
        self._decoder = decoder
        self._source = task.circuit.compile_detector_sampler()
        self._batch = _batch_size(decoder)
        self._batches = 1

    def handles_throttling(self) -> bool:
        """Without this sinter would start with single shots and stop at 1024."""
        return True

    def sample(self, suggested_shots: int) -> sinter.AnonTaskStats:
        """At most the suggested shots."""
        start = time.monotonic()
        shots = min(suggested_shots, self._batches * self._batch)
        waiting: collections.deque[Callable[[], sinter.AnonTaskStats]] = collections.deque()
        total = sinter.AnonTaskStats()
        for first in range(0, shots, self._batch):
            waiting.append(self._start(min(self._batch, shots - first)))
            if len(waiting) == _IN_FLIGHT:
                total += waiting.popleft()()
        while waiting:
            total += waiting.popleft()()
        seconds = time.monotonic() - start
        if shots == self._batches * self._batch:
            self._adapt(seconds)
        return total + sinter.AnonTaskStats(seconds=seconds)

    def _adapt(self, seconds: float) -> None:
        if seconds < TARGET_SECONDS / 2:
            self._batches = min(2 * self._batches, _MAX_BATCHES)
        elif seconds > 2 * TARGET_SECONDS:
            self._batches = max(self._batches // 2, 1)

    def _start(self, shots: int) -> Callable[[], sinter.AnonTaskStats]:
        """Samples a batch and sends it to the device; the returned call counts it."""
        detectors, actual = self._source.sample(shots, separate_observables=True, bit_packed=True)
        if self._task.postselection_mask is not None:
            kept = ~np.any(detectors & self._task.postselection_mask, axis=1)
            detectors, actual = detectors[kept], actual[kept]
        if self._decoder is None or not len(detectors):
            return lambda: sinter.AnonTaskStats(shots=shots, discards=shots - len(detectors))
        soft = self._decoder.start(detectors, bit_packed_shots=True, at_least=self._batch)
        return lambda: self._count(shots, actual, soft())

    def _count(
        self, shots: int, actual: NDArray[np.uint8], soft: "SoftOutput"
    ) -> sinter.AnonTaskStats:
        assert self._decoder is not None
        wrong = pack(soft.logicals) ^ actual
        kept = ~soft.discarded(self._decoder.asking.discard_below)
        if self._task.postselected_observables_mask is not None:
            kept &= ~np.any(wrong & self._task.postselected_observables_mask, axis=1)
        return sinter.AnonTaskStats(
            shots=shots,
            errors=int((wrong.any(axis=1) & kept).sum()),
            discards=shots - int(kept.sum()),
        )


def _batch_size(decoder: "DiffusionDecoder | None") -> int:
    if decoder is None:
        return _NO_DECODER_BATCH
    return min(decoder.max_batch, _CPU_BATCH) if decoder.on_cpu else decoder.max_batch
