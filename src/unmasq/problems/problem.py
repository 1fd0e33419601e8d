"""`DecodingProblem`: which faults flip which detectors and logicals, and how often.

The waist of the package: Stim and numpy above it, JAX below it. Faults are kept in one canonical
order (by detectors, then logicals), so problems of equal structure have equal columns, and shots
drawn by column index are the same wherever the problem was built.
"""

import dataclasses
import functools
import hashlib
import itertools

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmasq.codes.symmetry import Indices, Symmetry
from unmasq.codes.tanner_graph import TannerGraph
from unmasq.error_rate import require_error_rate
from unmasq.problems.faults import (
    Channels,
    FaultKey,
    column_supports,
    fault_columns,
    merge_faults,
    require_priors,
)
from unmasq.problems.symmetry_check import require_symmetry


class ProblemMismatchError(ValueError):
    """Weights, or a run, of another decoding problem."""


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """Where each detector stands: its frame (round) and its check site.

    A frame may lack some sites; the networks see those as detectors that never fire.
    """

    frame: Indices  # (M,) in 0..num_frames-1
    check: Indices  # (M,) in 0..num_checks-1
    check_type: Indices  # (num_checks,): 0 for X, 1 for Z; all 0 where unknown
    num_frames: int

    def __post_init__(self) -> None:
        if len(self.frame) != len(self.check):
            raise ValueError(
                f"frame and check must have equal lengths: got {len(self.frame)} and "
                f"{len(self.check)}."
            )
        for name, limit in (("frame", self.num_frames), ("check", self.num_checks)):
            outside = np.flatnonzero((getattr(self, name) < 0) | (getattr(self, name) >= limit))
            if outside.size:
                raise ValueError(
                    f"{name} must lie in 0..{limit - 1}: got {name}[{outside[0]}] = "
                    f"{getattr(self, name)[outside[0]]}."
                )
        if len(np.unique(self._places)) != len(self._places):
            raise ValueError("layout must give each detector a place of its own: got one twice.")

    @property
    def num_checks(self) -> int:
        return len(self.check_type)

    @property
    def _places(self) -> NDArray[np.int64]:
        return self.frame.astype(np.int64) * self.num_checks + self.check

    def grid(self) -> Indices:
        """Detector number at (frame, check), or -1 where there is none."""
        grid = np.full((self.num_frames, self.num_checks), -1, np.int32)
        grid[self.frame, self.check] = np.arange(len(self.frame))
        return grid

    def moved(self, check_images: Indices) -> Indices:
        """Where each detector goes with its check, in its frame; -1 where the frame lacks it."""
        return self.grid()[self.frame, check_images[self.check]]


@dataclasses.dataclass(frozen=True, eq=False)
class DecodingProblem:
    """Sparse H and L over the same faults, their priors, and what the networks need to know.

    Made by `problem_from_code` and its relatives; see there for examples.

    >>> from unmasq.codes import get_code
    >>> from unmasq.problems.building import problem_from_code
    >>> problem = problem_from_code(get_code("bb18"), "code-capacity", p=0.05)
    >>> problem.check_matrix.shape, problem.logical_matrix.shape, problem.priors.shape
    ((18, 54), (8, 54), (54,))
    """

    check_matrix: sparse.csc_array  # H (M, N) uint8
    logical_matrix: sparse.csc_array  # L (K, N) uint8
    priors: NDArray[np.float64]  # (N,)
    layout: Layout
    p: float  # nominal physical error rate of the priors
    name: str  # "bb72", or a circuit file's stem
    noise: str = "custom"  # "circuit" | "circuit 1:0.1:1:1" (`NoiseModel.label`) | "code-capacity"
    basis: str = "?"  # logicals read out: "X", "Z", "XZ", or "?" where only their circuit knows
    code: str | None = None  # catalogue name
    channels: Channels | None = None
    symmetry: Symmetry | None = None
    tanner: TannerGraph | None = None  # of the check sites; where known

    def __post_init__(self) -> None:
        require_error_rate(self.p)
        if self.check_matrix.shape[1] != self.logical_matrix.shape[1]:
            raise ValueError(
                "check_matrix and logical_matrix must have one column for each fault: got "
                f"{self.check_matrix.shape[1]} and {self.logical_matrix.shape[1]}."
            )
        if self.priors.shape != (self.num_faults,):
            raise ValueError(
                f"priors must have shape ({self.num_faults},): got {self.priors.shape}."
            )
        if self.num_logicals == 0:
            raise ValueError(
                "problem must have at least one logical observable: got none. "
                "Add OBSERVABLE_INCLUDE to the circuit."
            )
        require_priors(self.priors)
        if len(self.layout.frame) != self.num_detectors:
            raise ValueError(
                f"layout must place the {self.num_detectors} detectors: "
                f"got {len(self.layout.frame)}."
            )
        if self.channels is not None and len(self.channels.counts) != self.num_faults:
            raise ValueError(
                f"channels must count for each of the {self.num_faults} faults: "
                f"got {len(self.channels.counts)}."
            )
        if self.tanner is not None and self.tanner.num_checks != self.layout.num_checks:
            raise ValueError(
                f"tanner must have the layout's {self.layout.num_checks} checks: "
                f"got {self.tanner.num_checks}."
            )
        self._require_canonical_order()
        require_symmetry(self)

    def _require_canonical_order(self) -> None:
        for j, (one, following) in enumerate(itertools.pairwise(self.faults())):
            if one >= following:
                raise ValueError(
                    "columns must be distinct and sorted by detectors, then logicals: got "
                    f"column {j + 1} out of order. Use problem_from_matrices, which merges and "
                    "sorts them."
                )

    def __repr__(self) -> str:
        rounds = f"{self.num_rounds} round{'s' * (self.num_rounds > 1)}, " * bool(self.num_rounds)
        return (
            f"DecodingProblem({self.name}, {self.noise} noise, {rounds}basis {self.basis}, "
            f"p = {self.p:g}: {self.num_detectors} detectors, {self.num_faults} faults, "
            f"{self.num_logicals} logical{'s' * (self.num_logicals > 1)})"
        )

    @property
    def num_detectors(self) -> int:
        return self.check_matrix.shape[0]

    @property
    def num_faults(self) -> int:
        return self.check_matrix.shape[1]

    @property
    def num_logicals(self) -> int:
        return self.logical_matrix.shape[0]

    @property
    def num_rounds(self) -> int:
        """R noisy rounds give R + 1 frames; code capacity has 0."""
        return self.layout.num_frames - 1

    @functools.cached_property
    def structure_id(self) -> str:
        """Hash of H and L; priors and layout are left out."""
        digest = hashlib.sha256()
        for matrix in (self.check_matrix, self.logical_matrix):
            digest.update(np.array(matrix.shape, "<i8").tobytes())
            digest.update(matrix.indptr.astype("<i8").tobytes())
            digest.update(matrix.indices.astype("<i8").tobytes())
        return digest.hexdigest()[:16]

    @functools.cached_property
    def priors_id(self) -> str:
        """Hash of the priors as the evaluation sampler uses them (`thresholds`)."""
        return hashlib.sha256(self.thresholds().astype("<u4").tobytes()).hexdigest()[:16]

    def thresholds(self) -> NDArray[np.uint32]:
        """round(prior * 2^32): fault j happens when a uniform 32-bit word lies below it."""
        return np.rint(self.priors * 2.0**32).astype(np.uint32)

    def at(self, p: float) -> "DecodingProblem":
        """The same problem with its exact priors at another physical error rate."""
        require_error_rate(p)
        if p == self.p:
            return self
        if self.channels is None:
            raise ValueError(
                f"p must be {self.p:.6g}, the only rate at which the priors of '{self.name}' are "
                f"known: got {p}. Build it again at that p, from a circuit whose only noise is "
                "DEPOLARIZE1, DEPOLARIZE2 and flips to have them at every rate."
            )
        return dataclasses.replace(self, p=p, priors=self.channels.priors(p))

    def faults(self) -> list[FaultKey]:
        """(detectors, logicals) of each fault, in column order."""
        return list(
            zip(
                column_supports(self.check_matrix),
                column_supports(self.logical_matrix),
                strict=True,
            )
        )

    def restricted_to_type(self, check_type: int) -> tuple[Indices, "DecodingProblem"]:
        """The detectors of one check type, and the problem that sees only those.

        Faults that become equal on (detectors, logicals) merge; invisible ones go.
        """
        rows = np.flatnonzero(self.layout.check_type[self.layout.check] == check_type)
        if not rows.size:
            raise ValueError(f"check_type must occur in the layout: got {check_type}.")
        sites = np.flatnonzero(self.layout.check_type == check_type)
        seen = sparse.csc_array(self.check_matrix.tocsr()[rows])
        keys = list(zip(column_supports(seen), column_supports(self.logical_matrix), strict=True))
        merged = merge_faults(zip(keys, self.priors.tolist(), strict=True))
        check_matrix, logical_matrix, priors, order = fault_columns(
            merged, len(rows), self.num_logicals
        )
        layout = Layout(
            self.layout.frame[rows],
            np.searchsorted(sites, self.layout.check[rows]).astype(np.int32),
            np.zeros(len(sites), np.int32),
            self.layout.num_frames,
        )
        problem = dataclasses.replace(
            self,
            check_matrix=check_matrix,
            logical_matrix=logical_matrix,
            priors=priors,
            layout=layout,
            channels=self.channels.merged(keys, order) if self.channels else None,
            symmetry=None,
            tanner=None,
        )
        return rows.astype(np.int32), problem
