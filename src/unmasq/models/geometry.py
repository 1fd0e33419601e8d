"""What a network must know of its problem: places of detectors, number of logicals, ties.

A `Geometry` travels inside a checkpoint, so that weights load without the problem or Stim.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from unmasq.codes.symmetry import Indices, Symmetry, TieTable, free_ties
from unmasq.codes.tanner_graph import TannerGraph
from unmasq.models.config import NetworkConfig
from unmasq.problems.fault_graph import FaultGraph, fault_graph
from unmasq.problems.frames import check_correlations
from unmasq.problems.pauli_channel import Qubits, qubits_of
from unmasq.problems.problem import DecodingProblem, Layout
from unmasq.problems.rates import NominalRates


@dataclasses.dataclass(frozen=True, eq=False)
class Geometry:
    """Frames of check sites, and the logicals to predict."""

    layout: Layout
    num_logicals: int
    symmetry: Symmetry | None
    qubits: Qubits | None = None  # for networks that begin with belief propagation ...
    faults: FaultGraph | None = None  # ... under code-capacity noise, or a circuit's
    tanner: TannerGraph | None = None  # for networks that pass messages
    rates: NominalRates | None = None  # for networks that are told other ones

    def __post_init__(self) -> None:
        faults = self.faults
        if faults is None:
            return
        found = (faults.around.shape[0], len(faults.logicals))
        if found != (self.layout.num_frames, self.num_logicals):
            raise ValueError(
                f"fault graph must have {self.layout.num_frames} frames and {self.num_logicals} "
                f"logicals: got {found[0]} and {found[1]}. Its file was altered."
            )

    @staticmethod
    def of(problem: DecodingProblem) -> "Geometry":
        return Geometry(problem.layout, problem.num_logicals, problem.symmetry)

    def on(self, problem: DecodingProblem, layout: Layout) -> "Geometry":
        """The same network's, for a problem of other rounds, whose detectors stand so."""
        types = dataclasses.replace(layout, check_type=self.layout.check_type)
        faults = None
        if self.faults is not None:
            basis = "XZ"[int(types.check_type[self.faults.sites[0]])]
            there = dataclasses.replace(problem, layout=types, basis=basis, symmetry=None)
            faults = fault_graph(there, self.symmetry, self.faults)
        rates = None if self.rates is None else self.rates.on(layout)
        return dataclasses.replace(self, layout=types, faults=faults, rates=rates)

    @property
    def num_detectors(self) -> int:
        return len(self.layout.frame)

    def check_kinds(self, tied: bool) -> Indices:
        """Which checks share an embedding: those of a type, or those the symmetry exchanges."""
        return self._known_symmetry().check_kinds() if tied else self.layout.check_type

    def check_ties(self, tied: bool) -> TieTable:
        """Places of encoder attention, (n_c, n_c)."""
        if tied:
            return self._known_symmetry().check_ties()
        return free_ties(self.layout.num_checks, self.layout.num_checks)

    def joint_ties(self, tied: bool) -> TieTable:
        """Places of decoder attention over (logicals, checks)."""
        if tied:
            return self._known_symmetry().joint_ties()
        size = self.num_logicals + self.layout.num_checks
        return free_ties(size, size)

    def readout_ties(self, tied: bool) -> TieTable:
        """Places of attention from logicals to (logicals, checks)."""
        if tied:
            return self._known_symmetry().readout_ties()
        return free_ties(self.num_logicals, self.num_logicals + self.layout.num_checks)

    def known_tanner(self) -> TannerGraph:
        if self.tanner is None:
            raise ValueError(
                "mixing must be 'attention' for a problem whose Tanner graph is not known: got "
                "'messages'. Set network.mixing=attention, or build the problem from a code."
            )
        return self.tanner

    def _known_symmetry(self) -> Symmetry:
        if self.symmetry is None:
            raise ValueError(
                "ties must be 'free' for a problem without a known symmetry: got 'tied'. "
                "Set network.ties=free."
            )
        return self.symmetry


def geometry_for(config: NetworkConfig, problem: DecodingProblem) -> Geometry:
    """With the Tanner graph for messages, and with the qubits for belief propagation."""
    if problem.num_detectors == 0:
        raise ValueError(
            f"problem '{problem.name}' must have at least one detector, which the network reads: "
            "got none. Without any, nothing can be decoded."
        )
    geometry = Geometry.of(problem)
    if config.mixing == "messages":
        geometry = dataclasses.replace(geometry, tanner=problem.tanner)
    if config.told_rates:
        geometry = dataclasses.replace(geometry, rates=NominalRates.of(problem))
    if config.bp_iterations and problem.noise == "code-capacity":
        return dataclasses.replace(geometry, qubits=qubits_of(problem))
    if config.bp_iterations:
        return dataclasses.replace(geometry, faults=fault_graph(problem, problem.symmetry))
    return geometry


def initial_code_weights(problem: DecodingProblem) -> NDArray[np.float32]:
    """K[r] = (H~[r] H~[r]^T)^(1/8), elementwise (R+1, n_c, n_c)."""
    return (check_correlations(problem) ** (1 / 8)).astype(np.float32)
