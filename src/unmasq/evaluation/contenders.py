"""Decoders that take part in a measurement: by which name, and how any process makes them."""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from unmasq.baselines import baseline_names, is_baseline, make_baseline
from unmasq.decoding.asking import Asking
from unmasq.decoding.decoder import Decoder
from unmasq.problems.problem import DecodingProblem
from unmasq.suggest import nearest

if TYPE_CHECKING:
    from unmasq.decoding.diffusion_decoder import DiffusionDecoder


@runtime_checkable
class DiscardingDecoder(Protocol):
    """A decoder that may give up on shots it is unsure of."""

    def decode_or_discard(self, syndromes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(B, M) bits to (B, K) bits and (B,) discarded flags."""
        ...


@dataclasses.dataclass(frozen=True)
class Contender:
    """A decoder by its name in result files, and how any process makes it: `make` must pickle.

    A contender that runs `alone` decodes large batches in the main process, where the accelerator
    is; the others share the worker processes.
    """

    name: str
    make: Callable[[DecodingProblem], Decoder]
    alone: bool = False
    structure_id: str | None = None  # of the only problem it decodes
    model_hash: str | None = None
    dtype: str | None = None
    num_steps: int | None = None
    threshold: float | None = None
    views: int | None = None
    guess: bool | None = None
    discard_below: float | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """What goes into the `Point` beside the name."""
        names = ("model_hash", "dtype", "num_steps", "threshold", "views", "guess", "discard_below")
        return {name: getattr(self, name) for name in names}


def baseline(name: str) -> Contender:
    """One of `unmasq.baselines` by name; an unknown one is refused here."""
    if not is_baseline(name):
        raise ValueError(
            f"decoders must be unmasq or one of {', '.join(baseline_names())}: got '{name}'."
            f"{nearest(name, ['unmasq', *baseline_names()])}"
        )
    return Contender(name, functools.partial(make_baseline, name))


@dataclasses.dataclass(frozen=True)
class NetworkSettings(Asking):
    """How a trained network is asked, and computed."""

    dtype: str | None = None

    def load(self, model: str | Path) -> "DiffusionDecoder":
        """The decoder for a weight file or a known model's name."""
        from unmasq.decoding.diffusion_decoder import load

        return self(load(model, dtype=self.dtype))


def network(model: str | Path, settings: NetworkSettings | None = None) -> Contender:
    """A trained network. Other processes load it by the same name or path, in the same dtype."""
    settings = settings or NetworkSettings()
    decoder = settings.load(model)
    settings = dataclasses.replace(settings, dtype=decoder.dtype)
    return Contender(
        decoder.name,
        functools.partial(_load, str(model), settings),
        alone=True,
        structure_id=decoder.structure_id,
        model_hash=decoder.model_hash,
        dtype=decoder.dtype,
        num_steps=getattr(decoder.rule, "num_steps", None),
        threshold=getattr(decoder.rule, "threshold", None),
        views=decoder.views if decoder.views > 1 else None,
        guess=decoder.guess or None,
        discard_below=decoder.discard_below,
    )


def _load(model: str, settings: NetworkSettings, problem: DecodingProblem) -> Decoder:
    decoder: Any = settings.load(model)
    return decoder
