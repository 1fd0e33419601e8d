"""The memory experiment of bivariate bicycle codes as a Stim circuit (8 ticks a round).

One noiseless round, R noisy rounds, one noiseless round, then a noiseless transversal readout of
the logicals of one basis. Detector (r, check) compares the check in rounds r and r + 1: frames
r = 0..R, X checks before Z checks, with coordinates (u, v, type, r).
"""

import dataclasses
import itertools
from typing import TYPE_CHECKING

import numpy as np

from unmasq.circuits.noise import NoiseModel
from unmasq.codes import CSSCode
from unmasq.codes.bicycle import SCHEDULE, Contact

if TYPE_CHECKING:
    import stim


def memory_circuit(code: CSSCode, noise: NoiseModel, rounds: int, basis: str) -> "stim.Circuit":
    """R noisy rounds between noiseless ones; observables are the logicals of `basis`."""
    import stim

    if rounds < 1:
        raise ValueError(f"rounds must be at least 1: got {rounds}.")
    if basis not in ("X", "Z"):
        raise ValueError(f"basis must be X or Z: got '{basis}'.")
    if code.bicycle is None:
        raise ValueError(
            f"code must be a bivariate bicycle code, whose schedule is known: got '{code.name}'. "
            "Write its circuit yourself and use problem_from_circuit."
        )
    if not code.bicycle.has_schedule:
        raise ValueError(
            "code must have three terms in A and three in B, as the schedule of 8 ticks needs: got "
            f"{len(code.bicycle.a)} and {len(code.bicycle.b)}. "
            "Write its circuit yourself and use problem_from_circuit."
        )
    builder = _RoundBuilder(code)
    circuit = stim.Circuit()
    for qubit, coordinates in enumerate(builder.coordinates()):
        circuit.append("QUBIT_COORDS", [qubit], coordinates)
    circuit.append("RX" if basis == "X" else "R", builder.data)
    circuit.append("TICK")
    circuit += builder.round(noise=None)
    # Not a REPEAT block: Stim leaves equal faults of neighbouring repetitions unmerged.
    for _ in range(rounds):
        circuit += builder.round(noise) + builder.detectors()
    circuit += builder.round(noise=None) + builder.detectors()
    circuit.append("MX" if basis == "X" else "M", builder.data)
    logicals = code.logicals_x if basis == "X" else code.logicals_z
    for k, operator in enumerate(logicals):
        records = [stim.target_rec(int(q) - code.n) for q in np.flatnonzero(operator)]
        circuit.append("OBSERVABLE_INCLUDE", records, k)
    return circuit


class _RoundBuilder:
    """One round of syndrome extraction. Qubits: left data, right data, X ancillas, Z ancillas."""

    def __init__(self, code: CSSCode) -> None:
        assert code.bicycle is not None
        self.shape = code.bicycle
        sites = self.shape.sites
        self.left, self.right, self.x, self.z = np.arange(4 * sites).reshape(4, sites)
        self.data = np.concatenate([self.left, self.right])

    def coordinates(self) -> list[tuple[int, int, int]]:
        """(u, v, block) for each qubit."""
        return [
            (int(site) // self.shape.m, int(site) % self.shape.m, block)
            for block in range(4)
            for site in range(self.shape.sites)
        ]

    def round(self, noise: NoiseModel | None) -> "stim.Circuit":
        import stim

        two_qubit, idle, preparation, measurement = (
            dataclasses.astuple(noise) if noise else (0.0, 0.0, 0.0, 0.0)
        )
        circuit = stim.Circuit()
        circuit.append("RX", self.x)
        circuit.append("R", self.z)
        _noise(circuit, "Z_ERROR", self.x, preparation)
        _noise(circuit, "X_ERROR", self.z, preparation)
        for tick, contacts in itertools.groupby(SCHEDULE, key=lambda contact: contact.tick):
            for contact in contacts:
                pairs = self._pairs(contact)
                circuit.append("CX", pairs)
                _noise(circuit, "DEPOLARIZE2", pairs, two_qubit)
            if tick in (1, 7):
                waiting = self.left if tick == 1 else self.right
                _noise(circuit, "DEPOLARIZE1", waiting, idle)
            if tick == 7:
                circuit.append("M", self.z, measurement or ())
            circuit.append("TICK")
        circuit.append("MX", self.x, measurement or ())
        _noise(circuit, "DEPOLARIZE1", self.data, idle)
        circuit.append("TICK")
        return circuit

    def detectors(self) -> "stim.Circuit":
        """Each check against the round before; one round measures Z ancillas, then X ones."""
        import stim

        sites = self.shape.sites
        circuit = stim.Circuit()
        for kind, first in enumerate((-sites, -2 * sites)):
            for site in range(sites):
                records = [stim.target_rec(first + site), stim.target_rec(first + site - 2 * sites)]
                place = (site // self.shape.m, site % self.shape.m, kind, 0)
                circuit.append("DETECTOR", records, place)
        circuit.append("SHIFT_COORDS", [], (0, 0, 0, 1))
        return circuit

    def _pairs(self, contact: Contact) -> np.ndarray:
        """(control, target) of each CNOT: X ancillas control, Z ancillas are targets."""
        touched = self.data[self.shape.touched(contact)]
        pairs = (self.x, touched) if contact.check_type == "X" else (touched, self.z)
        return np.stack(pairs, axis=1).ravel()


def _noise(circuit: "stim.Circuit", name: str, targets: np.ndarray, rate: float) -> None:
    if rate:
        circuit.append(name, targets, rate)
