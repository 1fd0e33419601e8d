"""Bivariate bicycle codes: H_X = [A | B], H_Z = [B^T | A^T] on an l x m torus.

x = S_l (x) I and y = I (x) S_m with cyclic shifts S; site i = u*m + v stands for x^u y^v. Qubits
0..lm-1 are the left block L, the others the right block R. X check i touches L sites i + a for the
terms a of A and R sites i + b for those of B; Z check i touches L sites i - b and R sites i - a.
"""

import dataclasses
import re

import numpy as np
from numpy.typing import ArrayLike

from unmasq.codes.gf2 import Bits
from unmasq.codes.schedule import Schedule
from unmasq.codes.symmetry import Indices

Term = tuple[int, int]  # (u, v) for x^u y^v
_TERM = re.compile(r"1|(?:x\^?(\d*))?(?:y\^?(\d*))?")


# A round of CNOTs, for three terms each in A and B: the term by which all checks of a type touch
# their qubit in ticks 1 to 7.
SCHEDULE = {
    "X": (None, "A2", "B2", "B1", "B3", "A1", "A3"),
    "Z": ("A1", "A3", "B1", "B2", "B3", "A2", None),
}


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

    def site(self, u: ArrayLike, v: ArrayLike) -> Indices:
        """The number of x^u y^v, exponents taken modulo l and m."""
        return (np.asarray(u) % self.l * self.m + np.asarray(v) % self.m).astype(np.int32)

    def shift(self, term: Term, sign: int = 1) -> Indices:
        """Site i + term (or i - term) for each site i."""
        u, v = np.divmod(np.arange(self.sites), self.m)
        return self.site(u + sign * term[0], v + sign * term[1])

    def checks(self) -> tuple[Bits, Bits]:
        """H_X and H_Z."""
        a = _sum_of_shifts([self.shift(term) for term in self.a])
        b = _sum_of_shifts([self.shift(term) for term in self.b])
        return np.concatenate([a, b], axis=1), np.concatenate([b.T, a.T], axis=1)

    @property
    def has_schedule(self) -> bool:
        """Whether `SCHEDULE` names all its terms."""
        return len(self.a) == len(self.b) == 3

    def schedule(self) -> Schedule:
        """The ticks of `SCHEDULE`, check by check."""
        assert self.has_schedule
        ticks = {kind: np.zeros((self.sites, 2 * self.sites), np.int32) for kind in "XZ"}
        for kind, names in SCHEDULE.items():
            for tick, name in enumerate(names, start=1):
                if name is not None:
                    ticks[kind][np.arange(self.sites), self._touched(kind, name)] = tick
        return Schedule(ticks["X"], ticks["Z"])

    def _touched(self, kind: str, name: str) -> Indices:
        """The qubit that each check of a type touches by a term, such as A2."""
        term = (self.a if name[0] == "A" else self.b)[int(name[1]) - 1]
        if kind == "X":
            return self.shift(term) + (0 if name[0] == "A" else self.sites)
        return self.shift(term, sign=-1) + (0 if name[0] == "B" else self.sites)

    def qubit_images(self) -> Indices:
        """Translations of the qubits: row g = u*m + v moves each site i by x^u y^v."""
        u, v = np.divmod(np.arange(self.sites), self.m)
        sites = self.site(u[:, None] + u, v[:, None] + v)
        return np.concatenate([sites, sites + self.sites], axis=1).astype(np.int32)

    def dual_qubits(self) -> Indices:
        """The map L i -> R -i, R i -> L -i, which takes X checks i to Z checks -i and back."""
        inverse = self.inverse_sites()
        return np.concatenate([inverse + self.sites, inverse]).astype(np.int32)

    def inverse_sites(self) -> Indices:
        """Site -i for each site i."""
        u, v = np.divmod(np.arange(self.sites), self.m)
        return self.site(-u, -v)


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
