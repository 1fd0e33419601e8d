"""CSS codes from their two check matrices; algebra only, no noise."""

import dataclasses
import functools
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from unmasq.codes import gf2
from unmasq.codes.bicycle import BicycleShape
from unmasq.codes.gf2 import Bits
from unmasq.codes.symmetry import Symmetry


@dataclasses.dataclass(frozen=True, eq=False)
class CSSCode:
    """An [[n, k]] CSS code with a chosen basis of logical operators.

    Row i of `checks_x` is the support of an X check; rows of `logicals_x` commute with every Z
    check and are independent modulo the X checks. The two logical bases need not be paired.
    `symmetries` holds the known symmetry for the readout of "X", "Z" or both ("XZ") logical bases;
    `bicycle` is set where the code has the polynomials that the memory circuit's schedule needs.
    """

    name: str
    checks_x: Bits
    checks_z: Bits
    logicals_x: Bits
    logicals_z: Bits
    distance: int | None = None
    symmetries: Mapping[str, Symmetry] = dataclasses.field(default_factory=dict)
    bicycle: BicycleShape | None = None

    def __post_init__(self) -> None:
        n = self.checks_x.shape[1]
        for field in ("checks_z", "logicals_x", "logicals_z"):
            if getattr(self, field).shape[1] != n:
                raise ValueError(
                    f"{field} must have the {n} columns of checks_x: "
                    f"got {getattr(self, field).shape[1]}."
                )
        _require_commuting("checks_x and checks_z", self.checks_x, self.checks_z)
        _require_commuting("logicals_x and checks_z", self.logicals_x, self.checks_z)
        _require_commuting("logicals_z and checks_x", self.logicals_z, self.checks_x)
        for kind, checks, logicals in (
            ("x", self.checks_x, self.logicals_x),
            ("z", self.checks_z, self.logicals_z),
        ):
            total = gf2.rank(np.concatenate([checks, logicals]))
            if len(logicals) != self.k or total != gf2.rank(checks) + self.k:
                raise ValueError(
                    f"logicals_{kind} must be {self.k} operators independent modulo the checks: "
                    f"got {len(logicals)} of rank {total - gf2.rank(checks)}."
                )

    @property
    def n(self) -> int:
        return self.checks_x.shape[1]

    @functools.cached_property
    def k(self) -> int:
        return self.n - gf2.rank(self.checks_x) - gf2.rank(self.checks_z)

    @property
    def num_checks(self) -> int:
        """X and Z checks together; dependent ones are measured too."""
        return len(self.checks_x) + len(self.checks_z)

    @property
    def label(self) -> str:
        return f"[[{self.n},{self.k},{self.distance if self.distance else '?'}]]"


def css_code(checks_x: ArrayLike, checks_z: ArrayLike, name: str = "css") -> CSSCode:
    """Any CSS code from its two check matrices, with some (not minimum-weight) logical basis.

    >>> css_code([[1, 1, 1, 1]], [[1, 1, 1, 1]]).label
    '[[4,2,?]]'
    """
    x = gf2.as_bits(checks_x, "checks_x")
    z = gf2.as_bits(checks_z, "checks_z")
    if x.shape[1] != z.shape[1]:
        raise ValueError(
            f"checks_x and checks_z must have equally many columns: got {x.shape[1]} "
            f"and {z.shape[1]}."
        )
    return CSSCode(name, x, z, independent_logicals(x, z), independent_logicals(z, x))


def independent_logicals(checks: Bits, other_checks: Bits) -> Bits:
    """A basis of ker(other_checks) modulo the row space of `checks`."""
    candidates = gf2.kernel(other_checks)
    stacked = np.concatenate([checks, candidates])
    _, pivots = gf2.row_reduce(stacked.T)
    return stacked[[pivot for pivot in pivots if pivot >= len(checks)]]


def _require_commuting(names: str, first: Bits, second: Bits) -> None:
    overlaps = (first.astype(np.int64) @ second.T.astype(np.int64)) & 1
    if overlaps.any():
        i, j = np.argwhere(overlaps)[0]
        raise ValueError(
            f"{names} must commute: got rows {i} and {j}, which overlap on an odd number of "
            "qubits. Check the matrices' column order."
        )
