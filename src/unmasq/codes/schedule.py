"""When each CNOT of a round of syndrome extraction happens.

A `Schedule` is the tick of every Tanner edge. It is right if no check and no qubit has two gates in
one tick, and if X and Z checks that share qubits do not disturb each other: on an even number of
the shared qubits the X check comes first.
"""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmasq.codes.gf2 import Bits
from unmasq.codes.tanner_graph import TannerGraph, labelled_graph

Ticks = NDArray[np.int32]


@dataclasses.dataclass(frozen=True, eq=False)
class Schedule:
    """Ticks count from 1; 0 stands where a check does not touch a qubit."""

    x: Ticks  # (X checks, n)
    z: Ticks  # (Z checks, n)

    def __post_init__(self) -> None:
        for name in "xz":
            ticks = getattr(self, name)
            if ticks.ndim != 2 or (ticks < 0).any():
                raise ValueError(
                    f"schedule {name.upper()} must be a matrix of ticks, 0 where there is no CNOT: "
                    f"got shape {ticks.shape}, smallest entry {ticks.min(initial=0)}."
                )
            _require_single(ticks, f"{name.upper()} check", 1)
        if self.x.shape[1] != self.z.shape[1]:
            raise ValueError(
                "schedule must have equally many columns for X and Z checks: got "
                f"{self.x.shape[1]} and {self.z.shape[1]}."
            )
        _require_single(np.concatenate([self.x, self.z]), "qubit", 0)
        odd = first_on_shared_qubits(self.x, self.z) % 2
        if odd.any():
            i, j = np.argwhere(odd)[0]
            raise ValueError(
                "schedule must let X and Z checks pass each other: got X check "
                f"{i} before Z check {j} on an odd number of the qubits they share. "
                "Do all CNOTs of X checks first, then those of Z checks."
            )

    @property
    def depth(self) -> int:
        """Ticks with CNOTs; one more measures the ancillas that are busy in the last."""
        return max(self.last("X"), self.last("Z"))

    def of(self, check_type: str) -> Ticks:
        """The ticks of "X" or of "Z" checks."""
        return self.x if check_type == "X" else self.z

    def last(self, check_type: str) -> int:
        """The last tick in which a check of this type has a CNOT."""
        return int(self.of(check_type).max(initial=0))

    def gates(self, check_type: str, tick: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Checks and qubits of one type's CNOTs in a tick, by check."""
        checks, qubits = np.nonzero(self.of(check_type) == tick)
        return checks, qubits

    def tanner_graph(self) -> TannerGraph:
        """Checks (X, then Z) and qubits; a relation is (check type, tick), named such as X2."""
        ticks = np.concatenate([self.x, self.z])
        check, qubit = np.nonzero(ticks)
        labels = [
            f"{'X' if i < len(self.x) else 'Z'}{ticks[i, q]}"
            for i, q in zip(check, qubit, strict=True)
        ]
        return labelled_graph(check, qubit, labels, *ticks.shape)

    def require_fits(self, checks_x: Bits, checks_z: Bits) -> None:
        """Refuses the schedule of another code."""
        for name, ticks, checks in (("X", self.x, checks_x), ("Z", self.z, checks_z)):
            if ticks.shape != checks.shape:
                raise ValueError(
                    f"schedule must have the shape of the {name} checks, {checks.shape}: "
                    f"got {ticks.shape}."
                )
            wrong = np.argwhere((ticks > 0) != (checks > 0))
            if len(wrong):
                i, q = wrong[0]
                raise ValueError(
                    f"schedule must have a tick exactly where {name} checks touch qubits: got "
                    f"{ticks[i, q]} at check {i}, qubit {q}, where the check has {checks[i, q]}."
                )

    def __str__(self) -> str:
        """'7 ticks: X 2-7, Z 1-6', or 'X 1-4, then Z 5-8'."""
        spans = {
            kind: (int(self.of(kind)[self.of(kind) > 0].min(initial=self.depth)), self.last(kind))
            for kind in "XZ"
        }
        apart = spans["X"][1] < spans["Z"][0]
        return (
            f"{self.depth} ticks of CNOTs: X {spans['X'][0]}-{spans['X'][1]}, "
            f"{'then ' if apart else ''}Z {spans['Z'][0]}-{spans['Z'][1]}"
        )


def schedule_from(x: ArrayLike, z: ArrayLike) -> Schedule:
    """From any two matrices of whole numbers."""
    matrices = []
    for name, ticks in (("X", np.asarray(x)), ("Z", np.asarray(z))):
        if not np.issubdtype(ticks.dtype, np.number) or (ticks != np.floor(ticks)).any():
            raise ValueError(f"schedule {name} must hold whole numbers: got {ticks.dtype}.")
        matrices.append(ticks.astype(np.int32))
    return Schedule(*matrices)


def first_on_shared_qubits(x: Ticks, z: Ticks) -> NDArray[np.int64]:
    """(X checks, Z checks): on how many shared qubits the X check's CNOT comes first."""
    counts = np.zeros((len(x), len(z)), np.float32)
    for tick in np.unique(x[x > 0]):
        counts += (x == tick).astype(np.float32) @ (z > tick).astype(np.float32).T
    return counts.astype(np.int64)


def _require_single(ticks: Ticks, what: str, axis: int) -> None:
    for tick in np.unique(ticks[ticks > 0]):
        busy = np.flatnonzero((ticks == tick).sum(axis=axis) > 1)
        if busy.size:
            raise ValueError(
                f"schedule must give each {what} at most one CNOT a tick: "
                f"got two for {what} {busy[0]} in tick {tick}."
            )
