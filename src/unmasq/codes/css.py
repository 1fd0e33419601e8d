"""CSS codes from their two check matrices; algebra only, no noise."""

import dataclasses
import functools
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from unmasq.codes import gf2
from unmasq.codes.automorphisms import free_automorphisms
from unmasq.codes.bicycle import BicycleShape
from unmasq.codes.gf2 import Bits
from unmasq.codes.logicals import Tokens, light_basis
from unmasq.codes.schedule import Schedule
from unmasq.codes.scheduling import automatic_schedule
from unmasq.codes.symmetry import Indices, Symmetry, joined


@dataclasses.dataclass(frozen=True, eq=False)
class CSSCode:
    """An [[n, k]] CSS code with a chosen basis of logical operators.

    Row i of `checks_x` is the support of an X check; rows of `logicals_x` commute with every Z
    check and are independent modulo the X checks. The two logical bases need not be paired.
    `symmetries` holds the known symmetry for the readout of "X", "Z" or both ("XZ") logical bases,
    `translations` its action on (X checks, Z checks, qubits); `bicycle` is set where the code has
    polynomials, `own_schedule` where the CNOTs of a round are not left to `automatic_schedule`.

    >>> from unmasq.codes import get_code
    >>> code = get_code("bb72")
    >>> code
    CSSCode(bb72: [[72,12,6]], 72 checks)
    >>> code.checks_x.shape, code.logicals_x.sum(axis=1).tolist()
    ((36, 72), [6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6])
    """

    name: str
    checks_x: Bits
    checks_z: Bits
    logicals_x: Bits
    logicals_z: Bits
    distance: int | None = None
    symmetries: Mapping[str, Symmetry] = dataclasses.field(default_factory=dict)
    bicycle: BicycleShape | None = None
    own_schedule: Schedule | None = None
    translations: Indices | None = None  # (G, checks + n)
    known: bool = False  # `get_code` makes it from its name

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

    def __repr__(self) -> str:
        return f"CSSCode({self.name}: {self.label}, {self.num_checks} checks)"

    @functools.cached_property
    def k(self) -> int:
        return self.n - gf2.rank(self.checks_x) - gf2.rank(self.checks_z)

    @property
    def num_checks(self) -> int:
        """X and Z checks together; dependent ones are measured too."""
        return len(self.checks_x) + len(self.checks_z)

    @functools.cached_property
    def schedule(self) -> Schedule:
        """The CNOTs of a round of syndrome extraction."""
        if self.own_schedule is not None:
            return self.own_schedule
        return automatic_schedule(self.checks_x, self.checks_z, self.translations)

    @property
    def label(self) -> str:
        return f"[[{self.n},{self.k},{self.distance if self.distance else '?'}]]"


def css_code(
    checks_x: ArrayLike,
    checks_z: ArrayLike,
    name: str = "css",
    *,
    distance: int | None = None,
    schedule: Schedule | None = None,
    known: bool = False,
) -> CSSCode:
    """Any CSS code from its two check matrices, with light logicals and its translations.

    The search for light logicals is deterministic; how light they are is not proven.

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
    _require_commuting("checks_x and checks_z", x, z)
    num_checks = len(x) + len(z)
    images = free_automorphisms(x, z)
    qubit_images = images[:, num_checks:] - num_checks
    bases = [
        Tokens.of(light_basis(checks, other, qubit_images), qubit_images)
        for checks, other in ((x, z), (z, x))
    ]
    symmetries = {}
    if len(images) > 1:
        each = [Symmetry(images[:, :num_checks], basis.images, basis.basis) for basis in bases]
        symmetries = {"X": each[0], "Z": each[1], "XZ": joined(*each)}
    return CSSCode(
        name,
        x,
        z,
        bases[0].operators(x.shape[1]),
        bases[1].operators(x.shape[1]),
        distance,
        symmetries,
        own_schedule=schedule,
        translations=images,
        known=known,
    )


def _require_commuting(names: str, first: Bits, second: Bits) -> None:
    overlaps = (first.astype(np.int64) @ second.T.astype(np.int64)) & 1
    if overlaps.any():
        i, j = np.argwhere(overlaps)[0]
        raise ValueError(
            f"{names} must commute: got rows {i} and {j}, which overlap on an odd number of "
            "qubits. Check the matrices' column order."
        )
