"""The memory experiment of any CSS code as a Stim circuit, from a schedule of its CNOTs.

One noiseless round, R noisy rounds, one noiseless round, then a noiseless transversal readout of
the logicals of one basis. In each tick of a round every data qubit has one CNOT or idles; ancillas
are prepared in the first tick and measured, type by type, in the tick behind their last CNOT.
Detector (r, check) compares the check in rounds r and r + 1: frames r = 0..R, X checks before Z
checks, with coordinates (u, v, type, r); (check, 0, type, r) for codes without a torus.
"""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from unmasq.circuits.noise import NoiseModel
from unmasq.codes import CSSCode
from unmasq.codes.schedule import Schedule

if TYPE_CHECKING:
    import stim


def memory_circuit(
    code: CSSCode, noise: NoiseModel, rounds: int, basis: str, schedule: Schedule | None = None
) -> "stim.Circuit":
    """R noisy rounds between noiseless ones; observables are the logicals of `basis`.

    The CNOTs follow `schedule`, by default the code's own.

    >>> from unmasq.codes import get_code
    >>> circuit = memory_circuit(get_code("bb18"), NoiseModel.uniform(0.003), rounds=4, basis="X")
    >>> circuit.num_detectors, circuit.num_observables
    (90, 4)
    """
    import stim

    if rounds < 1:
        raise ValueError(f"rounds must be at least 1: got {rounds}.")
    if basis not in ("X", "Z"):
        raise ValueError(f"basis must be X or Z (XZ for a problem of both): got '{basis}'.")
    for kind, checks in (("X", code.checks_x), ("Z", code.checks_z)):
        empty = np.flatnonzero(~checks.any(axis=1))
        if empty.size:
            raise ValueError(
                f"every {kind} check must touch a qubit: got none in row {empty[0]}. Drop the row."
            )
    builder = _RoundBuilder(code, schedule or code.schedule)
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
    """One round of syndrome extraction. Qubits: data, X ancillas, Z ancillas."""

    def __init__(self, code: CSSCode, schedule: Schedule) -> None:
        schedule.require_fits(code.checks_x, code.checks_z)
        self.schedule = schedule
        self.data = np.arange(code.n)
        self.ancillas = {
            "X": code.n + np.arange(len(code.checks_x)),
            "Z": code.n + len(code.checks_x) + np.arange(len(code.checks_z)),
        }
        self.measured_at = {kind: schedule.last(kind) + 1 for kind in self.ancillas}
        self.torus = (code.bicycle.sites, code.bicycle.m) if code.bicycle else (code.n, 1)

    def coordinates(self) -> list[tuple[int, int, int]]:
        """(u, v, block) for each qubit; blocks 0 and 1 are data."""
        sites, width = self.torus
        blocks = [(q // sites, q % sites) for q in self.data.tolist()]
        blocks += [(2, i) for i in range(self.ancillas["X"].size)]
        blocks += [(3, i) for i in range(self.ancillas["Z"].size)]
        return [(i // width, i % width, block) for block, i in blocks]

    def round(self, noise: NoiseModel | None) -> "stim.Circuit":
        import stim

        two_qubit, idle, preparation, measurement = (
            dataclasses.astuple(noise) if noise else (0.0, 0.0, 0.0, 0.0)
        )
        circuit = stim.Circuit()
        circuit.append("RX", self.ancillas["X"])
        circuit.append("R", self.ancillas["Z"])
        _noise(circuit, "Z_ERROR", self.ancillas["X"], preparation)
        _noise(circuit, "X_ERROR", self.ancillas["Z"], preparation)
        for tick in range(1, self.schedule.depth + 2):
            waiting = set(self.data.tolist())
            for kind in ("X", "Z"):
                checks, qubits = self.schedule.gates(kind, tick)
                waiting.difference_update(qubits.tolist())
                ends = [self.ancillas[kind][checks], qubits]  # X ancillas control, Z are targets
                pairs = np.stack(ends if kind == "X" else ends[::-1], axis=1).ravel()
                if pairs.size:
                    circuit.append("CX", pairs)
                    _noise(circuit, "DEPOLARIZE2", pairs, two_qubit)
            _noise(circuit, "DEPOLARIZE1", np.array(sorted(waiting)), idle)
            for kind, name in (("X", "MX"), ("Z", "M")):
                if self.measured_at[kind] == tick:
                    circuit.append(name, self.ancillas[kind], measurement or ())
            circuit.append("TICK")
        return circuit

    def detectors(self) -> "stim.Circuit":
        """Each check against the round before."""
        import stim

        circuit = stim.Circuit()
        in_a_round = sum(ancillas.size for ancillas in self.ancillas.values())
        first, start = {}, -in_a_round
        for kind in sorted(self.ancillas, key=self.measured_at.__getitem__):
            first[kind] = start
            start += self.ancillas[kind].size
        width = self.torus[1]
        for number, (kind, ancillas) in enumerate(self.ancillas.items()):
            for i in range(ancillas.size):
                now = first[kind] + i
                records = [stim.target_rec(now), stim.target_rec(now - in_a_round)]
                circuit.append("DETECTOR", records, (i // width, i % width, number, 0))
        circuit.append("SHIFT_COORDS", [], (0, 0, 0, 1))
        return circuit


def _noise(circuit: "stim.Circuit", name: str, targets: np.ndarray, rate: float) -> None:
    if rate and targets.size:
        circuit.append(name, targets, rate)
