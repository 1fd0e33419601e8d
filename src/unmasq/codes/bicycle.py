"""Bivariate bicycle codes: H_X = [A | B], H_Z = [B^T | A^T] on an l x m torus.

x = S_l (x) I and y = I (x) S_m with cyclic shifts S; site i = u*m + v stands for x^u y^v. Qubits
0..lm-1 are the left block L, the others the right block R. X check i touches L sites i + a for the
terms a of A and R sites i + b for those of B; Z check i touches L sites i - b and R sites i - a.
"""

import dataclasses
import re
from typing import NamedTuple

import numpy as np

from unmasq.codes.gf2 import Bits
from unmasq.codes.schedule import Schedule
from unmasq.codes.symmetry import Indices, torus_translations
from unmasq.codes.tanner_graph import TannerGraph

Term = tuple[int, int]  # (u, v) for x^u y^v
_TERM = re.compile(r"1|(?:x\^?(\d*))?(?:y\^?(\d*))?")


class Contact(NamedTuple):
    """All checks of a type touch a data qubit at a tick, each through one term of a polynomial."""

    tick: int
    check_type: str  # "X" or "Z"
    polynomial: str  # "a" or "b"
    term: int  # 0 for A1 or B1

    @property
    def name(self) -> str:
        return f"{self.check_type}{self.tick}"

    @property
    def on_left(self) -> bool:
        """X checks touch left data through A, Z checks through B."""
        return (self.check_type == "X") == (self.polynomial == "a")


# The CNOTs of one round, for three terms each in A and B.
SCHEDULE = (
    Contact(1, "Z", "a", 0),
    Contact(2, "X", "a", 1),
    Contact(2, "Z", "a", 2),
    Contact(3, "X", "b", 1),
    Contact(3, "Z", "b", 0),
    Contact(4, "X", "b", 0),
    Contact(4, "Z", "b", 1),
    Contact(5, "X", "b", 2),
    Contact(5, "Z", "b", 2),
    Contact(6, "X", "a", 0),
    Contact(6, "Z", "a", 1),
    Contact(7, "X", "a", 2),
)


@dataclasses.dataclass(frozen=True)
class BicycleShape:
    """The torus and the two polynomials, term by term (A1, A2, A3 in this order)."""

    l: int  # noqa: E741 - the literature's letter
    m: int
    a: tuple[Term, ...]
    b: tuple[Term, ...]

    def __post_init__(self) -> None:
        if self.l < 1 or self.m < 1:
            raise ValueError(f"l and m must be at least 1: got l = {self.l}, m = {self.m}.")
        for name in ("a", "b"):
            terms = getattr(self, name)
            for u, v in terms:
                if not (0 <= u < self.l and 0 <= v < self.m):
                    raise ValueError(
                        f"exponents of {name.upper()} must fit the {self.l} x {self.m} torus: "
                        f"got x^{u} y^{v}. Reduce x modulo {self.l} and y modulo {self.m}."
                    )
            if len(set(terms)) != len(terms) or not terms:
                raise ValueError(f"terms of {name.upper()} must be distinct: got {terms}.")

    @property
    def sites(self) -> int:
        return self.l * self.m

    def shift(self, term: Term, sign: int = 1) -> Indices:
        """Site i + term (or i - term) for each site i."""
        u, v = np.divmod(np.arange(self.sites), self.m)
        return (((u + sign * term[0]) % self.l) * self.m + (v + sign * term[1]) % self.m).astype(
            np.int32
        )

    def checks(self) -> tuple[Bits, Bits]:
        """H_X and H_Z."""
        a = _sum_of_shifts([self.shift(term) for term in self.a])
        b = _sum_of_shifts([self.shift(term) for term in self.b])
        return np.concatenate([a, b], axis=1), np.concatenate([b.T, a.T], axis=1)

    @property
    def has_schedule(self) -> bool:
        """Whether `SCHEDULE` names all its terms."""
        return len(self.a) == len(self.b) == 3

    def touched(self, contact: Contact) -> Indices:
        """The data qubit that each check, site by site, touches by this contact."""
        term = (self.a if contact.polynomial == "a" else self.b)[contact.term]
        sites = self.shift(term, sign=1 if contact.check_type == "X" else -1)
        return sites if contact.on_left else (sites + self.sites).astype(np.int32)

    def schedule(self) -> Schedule:
        """The ticks of `SCHEDULE`, check by check."""
        assert self.has_schedule
        sites = np.arange(self.sites)
        ticks = {kind: np.zeros((self.sites, 2 * self.sites), np.int32) for kind in "XZ"}
        for contact in SCHEDULE:
            ticks[contact.check_type][sites, self.touched(contact)] = contact.tick
        return Schedule(ticks["X"], ticks["Z"])

    def tanner_graph(self) -> TannerGraph:
        """Checks (X, then Z) and qubits, with one relation for each contact of the schedule."""
        return self.schedule().tanner_graph()

    def qubit_images(self) -> Indices:
        """Translations of the qubits: row g, as in `torus_translations`."""
        sites = torus_translations(self.l, self.m)
        return np.concatenate([sites, sites + self.sites], axis=1).astype(np.int32)

    def dual_qubits(self) -> Indices:
        """The map L i -> R -i, R i -> L -i, which takes X checks i to Z checks -i and back."""
        inverse = self.inverse_sites()
        return np.concatenate([inverse + self.sites, inverse]).astype(np.int32)

    def inverse_sites(self) -> Indices:
        """Site -i for each site i."""
        u, v = np.divmod(np.arange(self.sites), self.m)
        return ((-u % self.l) * self.m + (-v % self.m)).astype(np.int32)


def parse_polynomial(text: str) -> tuple[Term, ...]:
    """Terms of a polynomial in x and y.

    >>> parse_polynomial("x^3 + y + y2")
    ((3, 0), (0, 1), (0, 2))
    """
    terms = []
    for part in text.replace(" ", "").replace("*", "").split("+"):
        match = _TERM.fullmatch(part)
        if match is None or not part:
            raise ValueError(
                f"polynomial must be a sum of terms such as x3, y or x2y: got '{part}' in '{text}'."
            )
        exponents = [
            0 if letter not in part else int(digits or 1)
            for letter, digits in zip("xy", match.groups(), strict=True)
        ]
        terms.append((exponents[0], exponents[1]))
    return tuple(terms)


def _sum_of_shifts(images: list[Indices]) -> Bits:
    matrix = np.zeros((images[0].size, images[0].size), np.uint8)
    for image in images:
        matrix[np.arange(image.size), image] ^= 1
    return matrix
