"""A network for one problem, started from the weights of another: code, rounds, basis may differ.

Messages know relations, not codes: a relation that both Tanner graphs have carries its matrices
over. So do all matrices that act on a token by itself. Of the decoder's attention, values between
checks go by their offset on the torus; those of logicals are kept for the same code, and start anew
for another. From basis X to Z of bicycle codes, or back, everything goes by its dual name: see
`models.duality`. Other codes have no dual names, and logicals of another basis start anew.
"""

import collections
import dataclasses
import re
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from unmasq.files.array_file import Arrays
from unmasq.models.config import NetworkConfig
from unmasq.models.duality import OTHER, dual_names, dual_relations
from unmasq.models.geometry import Geometry
from unmasq.models.messages import Group, Wires
from unmasq.models.tie_names import Origin, TieName, joint_names, kind_names, readout_names

CARRIED, BY_DUALITY, BY_OFFSET, NEW = ("carried over", "by duality", "by offset", "new")
ENCODER, DECODER, CHECK_ATTENTION, LOGICAL_ATTENTION = PARTS = (
    "encoder",
    "decoder",
    "attention among checks",
    "attention of logicals",
)
_MATRICES = re.compile(
    r"encoder\.(?:closing_)?blocks\.\d+\.mixing\.(reduce|to_qubits|to_checks)\.(\d+)\.weight"
)
_ATTENTION = re.compile(r"blocks\.\d+\.mixing\.attention|place_weights\.\d+")
RATES = "encoder.rate_embedding.weight"
BELIEFS = "encoder.told.weight"
LAYERS = {"encoder_layers": "blocks", "closing_layers": "closing_blocks"}  # see `models.growing`
_BY_KIND = ("encoder.embedding.table", RATES)


class NotLiftableError(ValueError):
    """Weights that say nothing about the network they are to start."""


@dataclasses.dataclass(frozen=True, eq=False)
class Side:
    """A network's config and geometry, and which code and logicals it is for."""

    config: NetworkConfig
    geometry: Geometry
    origin: Origin


class Share(NamedTuple):
    """So many numbers of a part of the network had this fate."""

    part: str
    fate: str
    numbers: int


def lifted(
    old: Side, arrays: Mapping[str, np.ndarray], new: Side, fresh: Mapping[str, np.ndarray]
) -> tuple[Arrays, list[Share]]:
    """Weights for `new` from those of `old`; `fresh` ones where those say nothing."""
    _require_likeness(old.config, new.config)
    shared = set(_relations(old)) & set(_relations(new))
    if not shared:
        raise NotLiftableError(
            "init must share a relation with the problem, whose relations are "
            f"{', '.join(_relations(new))}: got {', '.join(_relations(old))}. Train from nothing."
        )
    known = {
        (path, label): array[place]
        for name, array in arrays.items()
        for path, label, place in _Pieces(old).of(name, array)
    }
    pieces, duals = _Pieces(new), _duals(old, new)
    found: Arrays = {}
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    for name, start in fresh.items():
        found[name] = np.array(start)
        for path, label, place in pieces.of(name, start):
            fate, wanted = _fate(label, old.origin, new.origin, duals)
            piece = known.get((path, wanted))
            if piece is None or piece.shape != found[name][place].shape:
                fate = NEW
            else:
                found[name][place] = piece
            counts[_part(name, label), fate] += found[name][place].size
    return found, [Share(part, fate, count) for (part, fate), count in counts.items()]


def fate_table(shares: list[Share]) -> list[str]:
    """What became of the numbers of each part, as lines of text."""
    counts = {(share.part, share.fate): share.numbers for share in shares}
    there = {share.part for share in shares}
    dual = any(share.fate == BY_DUALITY for share in shares)  # by offset, too, if need be
    fates = (CARRIED, BY_DUALITY if dual else BY_OFFSET, NEW)
    lines = [f"{'numbers':24}" + "".join(f"{fate:>14}" for fate in fates)]
    for part in filter(there.__contains__, PARTS):
        cells = (f"{counts.get((part, fate), 0):>14,}" for fate in fates)
        lines.append(f"{part:24}" + "".join(cells))
    return lines


def _require_likeness(old: NetworkConfig, new: NetworkConfig) -> None:
    if old.mixing != "messages":
        raise NotLiftableError(
            "init must be a network of messages (network.mixing=messages) to start one for another "
            f"problem: got {old.mixing}, which belongs to its code. Train from nothing."
        )
    for field in dataclasses.fields(NetworkConfig):
        ours, theirs = getattr(new, field.name), getattr(old, field.name)
        # What the network is told of besides is 0 at first: the others are a start.
        told_now = field.name == "told_rates" and ours
        told_now |= field.name.startswith("bp_") and not _told(old)
        if ours != theirs and not told_now and field.name not in LAYERS:
            raise NotLiftableError(
                f"network.{field.name} must be that of the weights to start from, {theirs}: "
                f"got {ours}. Use --set network.{field.name}={theirs}, or train from nothing."
            )


def _told(config: NetworkConfig) -> bool:
    """Whether weights depend on what belief propagation says."""
    return config.bp_iterations > 0 and config.bp_use != "filter"


def _relations(side: Side) -> tuple[str, ...]:
    return side.geometry.known_tanner().names


def _duals(old: Side, new: Side) -> dict[Hashable, Hashable]:
    """What the names of the new network are called in the dual one; empty where that says nothing.

    Its basis is the old one, and both codes must mean the same relations by it.
    """
    if old.origin.basis != OTHER.get(new.origin.basis):
        return {}
    found, theirs = (dual_relations(side.geometry, side.origin) for side in (new, old))
    if found is None or theirs is None:
        return {}
    if any(theirs.get(name, dual) != dual for name, dual in found.items()):
        return {}
    duals = dual_names(new.geometry, new.origin, found, new.config.decoder == "still")
    # One matrix of all relations of a group of checks bears the name of the first.
    groups = Wires(new.geometry.known_tanner()).check_groups
    names = _relations(new)
    first = {names[r]: names[group.relations[0]] for group in groups for r in group.relations}
    return duals | {_First(name): _First(first[found[name]]) for name in set(first.values())}


class _First(NamedTuple):
    """The name of a matrix that all relations of a group of checks share."""

    relation: str


class _Pieces:
    """Cuts weights into pieces that mean the same in every network with that piece."""

    def __init__(self, side: Side):
        self._side = side
        self._tied = side.config.ties == "tied"
        wires = Wires(side.geometry.known_tanner())
        names = side.geometry.known_tanner().names

        def named(groups: tuple[Group, ...]) -> list[list[str]]:
            return [[names[relation] for relation in group.relations] for group in groups]

        checks, qubits = named(wires.check_groups), named(wires.qubit_groups)
        self._groups = {"reduce": checks, "to_checks": checks, "to_qubits": qubits}
        self._kinds = kind_names(side.geometry, self._tied)
        still = side.config.decoder == "still"
        self._ties: list[TieName] | None = None
        if self._tied:
            self._ties = (readout_names if still else joint_names)(side.geometry, side.origin)

    def of(self, name: str, array: np.ndarray) -> Iterator[tuple[str, Hashable, Any]]:
        """(path, label, place in the array) of each piece."""
        matrix = _MATRICES.fullmatch(name)
        if matrix is not None:
            path = name.replace(f".{matrix[2]}.weight", ".weight")
            relations = self._groups[matrix[1]][int(matrix[2])]
            if matrix[1] == "reduce":  # one for all relations of its checks: the first tells
                yield path, _First(relations[0]), ...
                return
            size = len(array) // len(relations)
            for i, relation in enumerate(relations):
                yield path, relation, slice(i * size, (i + 1) * size)
        elif _ATTENTION.fullmatch(name):
            if self._ties is None:
                yield name, self._side.origin, ...
            else:
                yield from ((name, label, (..., i)) for i, label in enumerate(self._ties))
        elif name == BELIEFS:  # slots of faults differ from code to code
            yield name, self._side.origin, ...
        elif name in _BY_KIND:
            for i, kind in enumerate(self._kinds):
                yield name, kind, i
        else:
            yield name, "", ...


def _fate(
    label: Hashable, old: Origin, new: Origin, duals: Mapping[Hashable, Hashable]
) -> tuple[str, Hashable]:
    """What a piece found by this label would be, and its label among the old ones."""
    if label in duals:
        return BY_DUALITY, _on_torus(duals[label], old, new)[1]
    return _on_torus(label, old, new)


def _on_torus(label: Any, old: Origin, new: Origin) -> tuple[str, Hashable]:
    """Offsets of another torus are those of the old one that stand as far."""
    if not _is_offset(label) or old.torus is None or new.torus is None or old.torus == new.torus:
        return CARRIED, label
    kind, other, place = label
    steps = []
    for step, size, old_size in zip(place, new.torus, old.torus, strict=True):
        centred = step if 2 * step <= size else step - size
        if 2 * abs(centred) > old_size:
            return BY_OFFSET, None  # farther than the old torus reaches
        steps.append(centred % old_size)
    return BY_OFFSET, (kind, other, tuple(steps))


def _is_offset(label: Any) -> bool:
    return isinstance(label, tuple) and len(label) == 3 and {label[0], label[1]} <= {"X", "Z"}


def _part(name: str, label: Hashable) -> str:
    if _ATTENTION.fullmatch(name):
        return CHECK_ATTENTION if _is_offset(label) else LOGICAL_ATTENTION
    return ENCODER if name.startswith("encoder.") else DECODER
