"""A weight file: one safetensors file with a network's weights, its config and its geometry.

It loads without the problem or Stim. Here it is arrays and a header; `unmasq.models.weights` makes
a network of them. Nothing here imports jax: a listing must not take hold of an accelerator.
"""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from unmasq.files.array_file import ArrayFormat, Arrays, Header


class BrokenWeightsError(ValueError):
    """A weight file that is cut off, altered or foreign."""


WEIGHTS = ArrayFormat(
    "unmasq-weights-2",
    "weight file",
    "`unmasq train` writes them.",
    error=BrokenWeightsError,
    undigested="unmasq-weights-1",
)
_PREFIX = "network."


@dataclasses.dataclass(frozen=True, eq=False)
class WeightFile:
    """What a weight file holds."""

    header: Header  # name, structure_id, objective, num_steps, network, num_logicals, ...
    weights: Arrays  # of the network, by their path, such as 'encoder.blocks.0.norm.weight'
    arrays: Arrays  # geometry and translates, such as 'layout.frame'

    @functools.cached_property
    def model_hash(self) -> str:
        """Of config and weights; result files name a model by it."""
        return model_hash(self.header["network"], self.weights)


def write_weight_file(path: str | Path, file: WeightFile) -> None:
    """The whole file, or nothing; the weights keep their dtype."""
    weights = {f"{_PREFIX}{name}": array for name, array in file.weights.items()}
    WEIGHTS.write(path, {**weights, **file.arrays}, file.header)


def read_weight_file(path: str | Path) -> WeightFile:
    """Weights come back as float32, whatever they are stored as."""
    header, arrays = WEIGHTS.read(path)
    weights = {
        name.removeprefix(_PREFIX): array.astype(np.float32)
        for name, array in arrays.items()
        if name.startswith(_PREFIX)
    }
    rest = {name: array for name, array in arrays.items() if not name.startswith(_PREFIX)}
    missing = {"name", "structure_id", "num_logicals", "num_steps", "network"} - header.keys()
    if missing or not isinstance(header["network"], dict):
        raise BrokenWeightsError(
            f"{path} must be a weight file that this version knows: its header has no "
            f"{', '.join(sorted(missing)) or 'network config'}. Update unmasq."
        )
    return WeightFile(header, weights, rest)


def model_hash(config: Mapping[str, object], weights: Mapping[str, np.ndarray]) -> str:
    """Of the config as it was saved: options that come later must not change the hash."""
    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
    for name in sorted(weights):
        digest.update(name.encode())
        digest.update(weights[name].astype("<f4").tobytes())
    return digest.hexdigest()


def glance_at(path: str | Path) -> tuple[Header, int, int] | None:
    """The header, the numbers of detectors and parameters, without reading the weights.

    None for any other file, or one that is cut off.
    """
    found = WEIGHTS.glance(path)
    if found is None or len(found[1].get("layout.frame", ())) != 1:
        return None
    header, shapes = found
    if not {"name", "structure_id", "num_logicals"} <= header.keys():
        return None
    parameters = sum(
        int(np.prod(shape)) for name, shape in shapes.items() if name.startswith(_PREFIX)
    )
    return header, shapes["layout.frame"][0], parameters
