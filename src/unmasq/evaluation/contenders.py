"""Decoders that take part in a measurement: by which name, and how any process makes them."""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from unmasq.baselines import baseline_names, is_baseline, make_baseline
from unmasq.decoding.asking import Asking
from unmasq.decoding.decoder import Decoder
from unmasq.decoding.identity import Identity
from unmasq.problems.problem import DecodingProblem
from unmasq.suggest import nearest

if TYPE_CHECKING:
    from unmasq.decoding.diffusion_decoder import DiffusionDecoder


@dataclasses.dataclass(frozen=True)
class Contender:
    """A decoder by its name in result files, and how any process makes it: `make` must pickle.

    A contender that runs `alone` decodes large batches in the main process, where the accelerator
    is; the others share the worker processes.
    """

    name: str
    make: Callable[[DecodingProblem], Decoder]
    alone: bool = False
    identity: Identity | None = None  # of a network, which decodes one problem alone
    model_hash: str | None = None
    asking: Asking | None = None  # of a network, settled


def baseline(name: str) -> Contender:
    """One of `unmasq.baselines` by name; an unknown one is refused here."""
    if not is_baseline(name):
        raise ValueError(
            f"decoders must be unmasq or one of {', '.join(baseline_names())}: got '{name}'."
            f"{nearest(name, ['unmasq', *baseline_names()])}"
        )
    return Contender(name, functools.partial(make_baseline, name))


def network(model: "str | Path | DiffusionDecoder", asking: Asking | None = None) -> Contender:
    """A trained network; one that is in memory already is asked as it is, if not otherwise.

    Other processes load a model by the same name or path, in the same dtype.
    """
    from unmasq.decoding.diffusion_decoder import load

    make: Callable[[DecodingProblem], Decoder]
    if isinstance(model, str | Path):
        decoder = load(model, asking)
        make = functools.partial(_load, str(model), decoder.asking)
    else:
        decoder = model if asking is None else model.asked(asking)
        make = decoder.for_problem
    return Contender(decoder.name, make, True, decoder.identity, decoder.model_hash, decoder.asking)


def _load(model: str, asking: Asking, problem: DecodingProblem) -> Decoder:
    from unmasq.decoding.diffusion_decoder import load

    return load(model, asking).for_problem(problem)
