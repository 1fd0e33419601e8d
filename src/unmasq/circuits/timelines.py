"""A Stim circuit as the timelines of its qubits: what happens to each, and with whom.

Only the order of events on each qubit counts: how a circuit's lines are split or sorted does not.
"""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from unmasq.codes.symmetry import Indices

if TYPE_CHECKING:
    import stim

_SILENT = {"QUBIT_COORDS", "SHIFT_COORDS", "OBSERVABLE_INCLUDE"}


@dataclasses.dataclass(frozen=True)
class Event:
    """One gate, noise channel, reset or measurement, as one of its qubits sees it."""

    name: str
    kind: tuple  # all that must agree: name, arguments, this qubit's part in it
    tick: int
    partner: int = -1  # the other qubit of a pair
    is_first: bool = True  # of the pair: the control of a CX
    record: int = -1  # number of the measurement it makes


@dataclasses.dataclass(frozen=True, eq=False)
class Timelines:
    """`events[q]` in time order; `detectors[d]` are the measurements that detector d compares."""

    events: list[list[Event]]
    detectors: list[tuple[int, ...]]
    num_ticks: int

    @property
    def num_qubits(self) -> int:
        return len(self.events)

    def table(self, field: str) -> Indices:
        """(qubits, longest timeline): partner or record of each event, -1 behind the last."""
        table = np.full((self.num_qubits, self._longest), -1, np.int32)
        for q, events in enumerate(self.events):
            table[q, : len(events)] = [getattr(event, field) for event in events]
        return table

    def kinds(self) -> Indices:
        """(qubits, longest timeline): equal numbers for equal kinds of events."""
        number: dict[tuple, int] = {}
        table = np.full((self.num_qubits, self._longest), -1, np.int32)
        for q, events in enumerate(self.events):
            table[q, : len(events)] = [number.setdefault(e.kind, len(number)) for e in events]
        return table

    @property
    def _longest(self) -> int:
        return max(map(len, self.events), default=0)


def timelines_of(circuit: "stim.Circuit") -> Timelines:
    """Reads a circuit, repeated blocks written out."""
    import stim

    events: list[list[Event]] = [[] for _ in range(circuit.num_qubits)]
    detectors = []
    tick = records = 0
    for instruction in circuit.flattened():
        name = instruction.name
        if name == "TICK":
            tick += 1
        elif name == "DETECTOR":
            detectors.append(tuple(records + t.value for t in instruction.targets_copy()))
        elif name not in _SILENT:
            data = stim.gate_data(name)
            arguments = tuple(instruction.gate_args_copy())
            for group in instruction.target_groups():
                measured = records if data.produces_measurements else -1
                records += data.produces_measurements
                _add(events, name, arguments, group, tick, measured)
    return Timelines(events, detectors, tick)


def _add(
    events: list[list[Event]],
    name: str,
    arguments: tuple[float, ...],
    group: "list[stim.GateTarget]",
    tick: int,
    record: int,
) -> None:
    """One event for each qubit of a gate's targets; combiners and bits stay in the kind."""
    parts = [t for t in group if not t.is_combiner]
    qubits = [t.value for t in parts if t.qubit_value is not None]
    bits = sum(t.qubit_value is None for t in parts)  # a measurement or a sweep bit that controls
    for place, target in enumerate(parts):
        if target.qubit_value is None:
            continue
        pair = len(qubits) == 2
        role = place if pair or bits else 0  # targets of a product have no order
        detail = (target.pauli_type, target.is_inverted_result_target, role, len(parts))
        partner = qubits[1 - qubits.index(target.value)] if pair else -1
        events[target.value].append(
            Event(name, (name, arguments, *detail), tick, partner, place == 0, record)
        )
