"""Trained networks as sinter decoders: `--custom_decoders_module_function unmasq:sinter_decoders`.

A network knows one problem. The names say how its weights are chosen:

    unmasq             the known model that was trained for the task's error model
    unmasq-<hash8>     this very model, as it was trained; other error models are refused
    ...,T=6            asked in another way, as in all result files
    ...-discard        with sinter's discard flag on shots of low confidence
    ...-sampler        a `sinter.Sampler` that keeps an accelerator busy

sinter resumes by name: counts collected as `unmasq` go on with whatever weights are found next
time. Take the name with the hash for files that are kept.

sinter pickles decoders and starts new processes for them, so they hold paths and hashes alone, and
jax is imported where the decoding happens.
"""

import dataclasses
import functools
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import sinter
from numpy.typing import NDArray

from unmasq.decoding.asking import Asking
from unmasq.decoding.model_store import find_model, known_models, model_for_problem
from unmasq.decoding.problem_match import mismatch, problem_to_decode
from unmasq.problems.problem import DecodingProblem

if TYPE_CHECKING:
    import stim

    from unmasq.decoding.diffusion_decoder import DiffusionDecoder

DISCARD_BELOW = 0.9  # confidence of the shots that '-discard' keeps, at least
# sinter begins with single shots and compiles a size for each power of two. On an accelerator the
# small ones cost as much as 32; on a CPU 32 would take so long that sinter never asks for more.
SMALLEST_BATCH = 32


def sinter_decoders(
    *,
    steps: Sequence[int] = (),
    thresholds: Sequence[float] = (),
    views: Sequence[int] = (),
    discard_below: float = DISCARD_BELOW,
) -> dict[str, sinter.Decoder | sinter.Sampler]:
    """All known models for sinter, by name.

    'unmasq' asks a model as it is best asked, 'unmasq-<hash8>' about every shot as it was trained.
    Models that begin with belief propagation come again by the full name of their best way, such
    as 'unmasq-<hash8>,tau=4,guess'. Every T in `steps`, every tau in `thresholds` and every number
    of voting `views` adds entries such as 'unmasq,T=1' and 'unmasq-<hash8>,T=1'. A `discard_below`
    other than 0.9 is part of the names: 'unmasq-<hash8>-discard0.99'.

    >>> [name for name in sinter_decoders() if not name.startswith("unmasq-")]
    ['unmasq']
    """
    from unmasq.decoding.sinter_sampler import SinterSampler

    ways = [Asking(num_steps=count) for count in steps]
    ways += [Asking(threshold=tau) for tau in thresholds]
    ways += [Asking(views=count) for count in views]
    files = known_models()
    models = [OneModel(str(file.path), file.model_hash) for file in files]
    asked: dict[str, tuple[Find, Asking]] = {}
    for way in (Asking(), *ways):
        asked[_joined("unmasq", way.label())] = ByStructure(tuple(models)), way
    for file, model in zip(files, models, strict=True):
        for way in (Asking(), *ways):
            name = _joined(file.decoder_name, way.label())
            asked.setdefault(name, (model, way.but(guess=False)))
        best = file.identity.settled(Asking())
        asked.setdefault(file.identity.decoder_name(best), (model, best.but(dtype=None)))
    suffix = "-discard" if discard_below == DISCARD_BELOW else f"-discard{discard_below:g}"
    found: dict[str, sinter.Decoder | sinter.Sampler] = {}
    for name, (find, way) in asked.items():
        kinds = {"": way}
        if not way.guess:  # which has no confidence
            kinds[suffix] = way.but(discard_below=discard_below)
        found |= {name + kind: SinterDecoder(find, each) for kind, each in kinds.items()}
        found |= {
            f"{name}{kind}-sampler": SinterSampler(find, each) for kind, each in kinds.items()
        }
    return found


def _joined(name: str, label: str) -> str:
    return f"{name},{label}" if label else name


Find = Callable[[DecodingProblem], "DiffusionDecoder"]


@dataclasses.dataclass(frozen=True)
class OneModel:
    """Always the same weights; another problem is refused."""

    path: str
    model_hash: str

    def __call__(self, problem: DecodingProblem) -> "DiffusionDecoder":
        identity = find_model(self.path).identity
        if identity.fit(problem) is None:  # before anything is loaded
            raise mismatch(problem, [identity])
        decoder = _load(self.path, self.model_hash)
        if decoder.model_hash != self.model_hash:
            raise ValueError(
                f"{self.path} must hold the weights {self.model_hash[:8]} that the run started "
                f"with: got {decoder.model_hash[:8]}. Counts of two models must not mix."
            )
        return decoder.for_problem(problem)


@dataclasses.dataclass(frozen=True)
class ByStructure:
    """The weights that were trained for the problem at hand."""

    models: tuple[OneModel, ...]

    def __call__(self, problem: DecodingProblem) -> "DiffusionDecoder":
        files = [find_model(model.path) for model in self.models]
        found = model_for_problem(problem, files)
        if found is None:
            raise mismatch(problem, [file.identity for file in files])
        return self.models[files.index(found)](problem)


@dataclasses.dataclass(frozen=True)
class NetworkForSinter:
    """What pickles of a network decoder: a way to find weights, not the weights."""

    find: Find
    asking: Asking = Asking()

    def decoder(self, dem: "stim.DetectorErrorModel") -> "DiffusionDecoder | None":
        """For an error model; None where it has no observables to predict."""
        if dem.num_observables == 0:
            return None
        return self.find(problem_to_decode(dem)).asked(self.asking)


class SinterDecoder(NetworkForSinter, sinter.Decoder):
    """Decodes the shots that sinter samples."""

    def compile_decoder_for_dem(self, *, dem: "stim.DetectorErrorModel") -> sinter.CompiledDecoder:
        """Loads the weights for the error model, or says why none fit."""
        return CompiledNetwork(self.decoder(dem))


class CompiledNetwork(sinter.CompiledDecoder):
    """Packed detection events in, packed observables out; one more column flags discards."""

    def __init__(self, decoder: "DiffusionDecoder | None"):
        self._decoder = decoder
        self._smallest = 1
        if decoder is not None and not decoder.on_cpu:
            self._smallest = min(SMALLEST_BATCH, decoder.max_batch)

    def decode_shots_bit_packed(
        self, *, bit_packed_detection_event_data: np.ndarray
    ) -> NDArray[np.uint8]:
        """(shots, ceil(detectors / 8)) to (shots, ceil(observables / 8)) bytes."""
        from unmasq.shots.batches import pack

        shots = bit_packed_detection_event_data
        if self._decoder is None:
            return np.zeros((len(shots), 0), np.uint8)
        logicals, discarded = self._decoder.decode_or_discard(
            shots, bit_packed_shots=True, at_least=self._smallest
        )
        if self._decoder.asking.discard_below is None:
            return pack(logicals)
        return np.column_stack([pack(logicals), discarded.astype(np.uint8)])


@functools.lru_cache(maxsize=4)
def _load(path: str, model_hash: str) -> "DiffusionDecoder":
    """Once a process: sinter asks again for every task. A changed file has another hash."""
    # Several workers may share one accelerator: none may take three quarters of its memory.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    from unmasq.decoding.diffusion_decoder import load

    return load(path)
