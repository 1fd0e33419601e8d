"""The Tanner graph of any circuit: which data qubits each check's ancilla meets, and when.

Ancillas are the qubits that are measured more than once, data qubits those that they meet in gates
of two. A check's ancilla is the one whose measurements its detectors compare. The gates between an
ancilla's first two measurements are its edges; (type, tick) is the relation, ticks counted from the
ancilla's reset, so that a circuit of `memory_circuit` has just the names of its schedule.
"""

import dataclasses
from collections import defaultdict

import numpy as np

from unmasq.circuits.timelines import Event, Timelines
from unmasq.codes.symmetry import Indices
from unmasq.codes.tanner_graph import TannerGraph, labelled_graph

_CNOT = {"CX", "CNOT", "ZCX"}


@dataclasses.dataclass(frozen=True, eq=False)
class CircuitGraph:
    """The graph, and which of the circuit's qubits its qubits are."""

    tanner: TannerGraph
    data: Indices  # (num_qubits,)
    check_type: Indices  # (num_checks,): 1 where CNOTs end on the ancilla (Z checks), else 0


def circuit_graph(lines: Timelines, check: Indices, num_checks: int) -> CircuitGraph | None:
    """The graph of the check sites; `check[d]` is that of detector d. None where there is none."""
    ancillas = _ancillas(lines, check, num_checks)
    if ancillas is None:
        return None
    places: list[tuple[int, int, str]] = []
    for site, ancilla in enumerate(ancillas):
        meetings = _first_round(lines, ancilla)
        places += [(site, e.partner, f"{_letter(e)}{tick}") for e, tick in meetings]
    data = np.unique([qubit for _, qubit, _ in places]).astype(np.int32)
    if not places or np.isin(data, ancillas).any():
        return None
    sites, qubits, labels = zip(*places, strict=True)
    try:
        tanner = labelled_graph(
            np.array(sites), np.searchsorted(data, qubits), labels, num_checks, len(data)
        )
    except ValueError:  # a qubit with two gates of one type and tick: no relation to speak of
        return None
    types = np.zeros(num_checks, np.int32)
    types[[site for site, _, label in places if label.startswith("Z")]] = 1
    return CircuitGraph(tanner, data, types)


def _ancillas(lines: Timelines, check: Indices, num_checks: int) -> list[int] | None:
    """The ancilla of each check site, if each has one of its own."""
    measured = [sum(event.record >= 0 for event in events) for events in lines.events]
    owner = {event.record: q for q, events in enumerate(lines.events) for event in events}
    found: dict[int, set[int]] = defaultdict(set)
    for site, records in zip(check.tolist(), lines.detectors, strict=True):
        found[site] |= {q for r in records if measured[q := owner[r]] > 1}
    ancillas = [min(found[site], default=-1) for site in range(num_checks)]
    if any(len(found[site]) != 1 for site in range(num_checks)):
        return None
    return ancillas if len(set(ancillas)) == num_checks else None


def _first_round(lines: Timelines, ancilla: int) -> list[tuple[Event, int]]:
    """The gates between the first and the second measurement, with ticks since the reset."""
    meetings: list[tuple[Event, int]] = []
    rounds = start = 0
    for event in lines.events[ancilla]:
        is_reset = event.name in ("R", "RX", "RY", "RZ", "MR", "MRX", "MRY", "MRZ")
        if event.record >= 0:
            rounds += 1
        elif rounds == 1 and event.partner >= 0 and not event.name.startswith(("DEP", "PAULI")):
            meetings.append((event, event.tick - start + 1))
        if is_reset:
            start = event.tick
    if lines.num_ticks == 0:
        return [(event, i) for i, (event, _) in enumerate(meetings, start=1)]
    return meetings


def _letter(event: Event) -> str:
    """X for a check whose ancilla controls CNOTs, Z for one on which they end."""
    if event.name in _CNOT:
        return "X" if event.is_first else "Z"
    return f"{event.name}." if event.is_first else f".{event.name}."
