"""More layers than the weights have that a network starts from: the added ones change nothing yet.

They follow the old ones, and what leads out of them is 0. A block that normalizes last would take
away the scale and shift of the block before it; so the last added one has these from the start, and
the last old one gives them up: LN(LN(x)) = LN(x).
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import equinox as eqx
import numpy as np

from unmasq.files.array_file import Arrays
from unmasq.models import Denoiser, MaskedDenoiser
from unmasq.models.blocks import MessageBlock
from unmasq.models.lifting import LAYERS, NotLiftableError
from unmasq.models.weights import named_arrays


class Grown(NamedTuple):
    """A network whose added blocks change nothing, and weights for all its other ones."""

    network: Denoiser
    arrays: Arrays
    added: Arrays  # of the network's own
    words: list[str]  # what was added


def grown(network: Denoiser, arrays: Mapping[str, np.ndarray]) -> Grown:
    """Makes room in a network of messages for weights of one with as many layers, or fewer."""
    old = dict(arrays)
    prefixes: list[str] = []
    words: list[str] = []
    if not isinstance(network, MaskedDenoiser) or network.encoder.wires is None:
        return Grown(network, old, {}, words)
    encoder = network.encoder
    for setting, part in LAYERS.items():
        blocks = getattr(encoder, part)
        layers, known = len(blocks), _num_blocks(arrays, f"encoder.{part}.")
        if layers < known:
            raise NotLiftableError(
                f"network.{setting} must be at least that of the weights to start from, {known}: "
                f"got {layers}. Use --set network.{setting}={known}, or train from nothing."
            )
        if layers == known:
            continue
        if not blocks[0].pre_norm:
            old |= _norm_moved(old, known, layers)
        silent = [*blocks[:known], *(block.silent() for block in blocks[known:])]
        network = eqx.tree_at(_blocks_of(part), network, silent)
        prefixes += [f"encoder.{part}.{i}." for i in range(known, layers)]
        words.append(f"{setting}: {known} carried over, {layers - known} added as the identity")
    weights = named_arrays(eqx.filter(network, eqx.is_inexact_array))
    added = {
        name: array
        for name, array in weights.items()
        if name.startswith(tuple(prefixes)) and name not in old
    }
    return Grown(network, old, added, words)


def _blocks_of(part: str) -> Callable[[MaskedDenoiser], list[MessageBlock]]:
    return lambda network: getattr(network.encoder, part)


def _num_blocks(arrays: Mapping[str, np.ndarray], prefix: str) -> int:
    found = (name.removeprefix(prefix) for name in arrays if name.startswith(prefix))
    return 1 + max((int(rest.partition(".")[0]) for rest in found), default=-1)


def _norm_moved(arrays: Mapping[str, np.ndarray], known: int, layers: int) -> Arrays:
    """The last norm of the last old block, for the last new one; 1 and 0 in its place."""
    if not known:
        raise NotLiftableError(
            f"network.encoder_layers must be 0, as of the weights to start from: got {layers}. "
            f"Use network.closing_layers={layers} instead, or train from nothing."
        )
    moved: Arrays = {}
    for field, plain in (("scale", 1), ("shift", 0)):
        source, target = (
            f"encoder.blocks.{number}.feedforward_norm.{field}"
            for number in (known - 1, layers - 1)
        )
        if source in arrays:  # networks without biases have none
            moved[target] = arrays[source]
            moved[source] = np.full_like(arrays[source], plain)
    return moved
