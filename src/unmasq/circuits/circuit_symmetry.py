"""The symmetry of any circuit, found by following its gates.

A qubit meets one partner at a time, so a symmetry that takes one qubit to another says where every
qubit goes that gates connect with it: the first partner to the first partner, and so on. Each
candidate is kept if all timelines agree (gates, noise and its rates, resets, measurements) and if
detectors go to detectors. Logicals are no part of it: see `problems.found_symmetry`.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from unmasq.circuits.timelines import Timelines
from unmasq.codes import gf2
from unmasq.codes.lookup import Lookup, random_words, xor_at_ones
from unmasq.codes.symmetry import Indices

MAX_ELEMENTS = 4096


class GroupTooLargeError(ValueError):
    """More elements than can be listed."""


@dataclasses.dataclass(frozen=True, eq=False)
class CircuitSymmetry:
    """Row g: where element g takes each qubit and each detector; the identity is among them."""

    qubit_images: Indices  # (G, Q)
    detector_images: Indices  # (G, M)


def circuit_symmetry(lines: Timelines) -> CircuitSymmetry:
    """All permutations of the qubits that leave a circuit and its detectors as they are."""
    partners, kinds = lines.table("partner"), lines.kinds()
    compared = {record for records in lines.detectors for record in records}
    elements = np.arange(lines.num_qubits, dtype=np.int32)[None, :]
    placed: list[int] = []
    for component in _components(partners):
        seen = any(event.record in compared for q in component for event in lines.events[q])
        if seen:  # what no detector sees may stay where it is
            maps = _maps(component, partners, kinds)
            elements = _combined(elements, placed, component, maps)
            placed += component
    bijective = (np.sort(elements, axis=1) == np.arange(lines.num_qubits)).all(axis=1)
    elements = elements[bijective]
    detectors, kept = _detector_images(lines, elements)
    return CircuitSymmetry(elements[kept], detectors[kept])


def _components(partners: Indices) -> list[list[int]]:
    """Qubits that gates connect, each list from its smallest one on by neighbourhood."""
    seen: set[int] = set()
    components = []
    for root in range(len(partners)):
        if root in seen:
            continue
        seen.add(root)
        component = [root]
        for q in component:  # grows as it is read
            for other in np.unique(partners[q]).tolist():
                if other >= 0 and other not in seen:
                    seen.add(other)
                    component.append(other)
        components.append(component)
    return components


def _maps(component: list[int], partners: Indices, kinds: Indices) -> Indices:
    """Images of the component's qubits, one row for each place its first qubit can go to."""
    root = component[0]
    candidates = np.flatnonzero((kinds == kinds[root]).all(axis=1))
    images = np.full((len(candidates), len(partners)), -1, np.int32)
    images[:, root] = candidates
    known = {root}
    for q in component:
        for slot, other in enumerate(partners[q].tolist()):
            if other >= 0 and other not in known:
                known.add(other)
                images[:, other] = partners[images[:, q], slot]
                images = images[images[:, other] >= 0]
    good = np.ones(len(images), bool)
    for q in component:
        good &= (kinds[images[:, q]] == kinds[q]).all(axis=1)
        slots = np.flatnonzero(partners[q] >= 0)
        expected = images[:, partners[q, slots]]
        good &= (partners[images[:, q]][:, slots] == expected).all(axis=1)
    return images[good][:, component]


def _combined(elements: Indices, placed: list[int], component: list[int], maps: Indices) -> Indices:
    """Every element with every image of one more component that no placed one has taken."""
    parts = []
    total = 0
    for element in elements:
        free = maps[~np.isin(maps[:, 0], element[placed])]
        total += len(free)
        if total > MAX_ELEMENTS:
            raise GroupTooLargeError(
                f"symmetry must have at most {MAX_ELEMENTS} elements to be listed: got more. "
                "Leave it out, or connect what the circuit keeps apart."
            )
        rows = np.repeat(element[None, :], len(free), axis=0)
        rows[:, component] = free
        parts.append(rows)
    return np.concatenate(parts)


def _detector_images(lines: Timelines, elements: Indices) -> tuple[Indices, NDArray[np.bool_]]:
    """Where each element takes the detectors, and whether it takes all of them to detectors."""
    records = lines.table("record")
    places = np.argwhere(records >= 0)
    count = int(records.max(initial=-1)) + 1
    owner = np.zeros((count, 2), np.int64)  # one qubit of each measurement, and its event
    owner[records[places[:, 0], places[:, 1]]] = places
    compared = gf2.sparse_columns(lines.detectors, count)
    words = random_words(count, np.random.default_rng(0))
    own = xor_at_ones(compared, words)
    by_measurements = Lookup(own)
    images = np.empty((len(elements), len(own)), np.int32)
    kept = np.ones(len(elements), bool)
    for g, element in enumerate(elements):
        moved = words[records[element[owner[:, 0]], owner[:, 1]]]
        goals, found = by_measurements.find(xor_at_ones(compared, moved))
        images[g] = np.where(own == 0, np.arange(len(own)), goals)  # empty: it never fires
        kept[g] = found.all() and len(np.unique(images[g])) == len(own)
    return images, kept
