"""Geometries of the catalogue's experiments, without building their circuits."""

import numpy as np

from unmasq.codes import get_code
from unmasq.models.geometry import Geometry
from unmasq.problems.pauli_channel import Qubits
from unmasq.problems.problem import Layout


def memory_geometry(code: str, rounds: int, basis: str = "X") -> Geometry:
    """As `Geometry.of` the memory experiment, with its Tanner graph."""
    found = get_code(code)
    graph = found.schedule.tanner_graph()
    symmetry = found.symmetries[basis]
    return Geometry(_layout(found.n, rounds + 1), found.k, symmetry, tanner=graph)


def capacity_geometry(code: str) -> Geometry:
    """As `Geometry.of` the code-capacity problem: X and Z logicals, one frame.

    With qubits of the right shape, but neither their order nor their logicals.
    """
    found = get_code(code)
    checks = np.concatenate([found.checks_x, found.checks_z])
    qubits = np.stack([np.flatnonzero(row) for row in checks]).astype(np.int32)
    logicals = np.zeros((2, 2 * found.k, found.n), np.uint8)
    symmetry = found.symmetries["XZ"]
    return Geometry(_layout(found.n, 1), 2 * found.k, symmetry, Qubits(qubits, *logicals))


def _layout(checks: int, frames: int) -> Layout:
    frame, check = np.divmod(np.arange(frames * checks, dtype=np.int32), np.int32(checks))
    types = np.repeat(np.array([0, 1], np.int32), checks // 2)
    return Layout(frame, check, types, frames)
