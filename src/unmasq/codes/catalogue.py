"""The codes that unmasq knows by name, each with its canonical logical basis as data.

Per code: torus, polynomials, distance (as published; for the two small ones by brute force), and
the X logicals as shapes (supports at translation 0) with the translations that are kept. The Z
logicals are their images under the duality L i <-> R -i. `canonical_basis` explains the choice and
`tests/codes/test_catalogue.py` repeats it.
"""

import dataclasses
import functools

import numpy as np

from unmasq.codes.bicycle import BicycleShape, parse_polynomial
from unmasq.codes.css import CSSCode
from unmasq.codes.families import FAMILIES, code_of_family
from unmasq.codes.logicals import Shapes, Tokens, light_basis, moved_support
from unmasq.codes.symmetry import Indices, Symmetry, joined
from unmasq.suggest import nearest


@dataclasses.dataclass(frozen=True)
class CatalogueEntry:
    """A bivariate bicycle code with its chosen X logicals: {shape: kept translations}."""

    l: int  # noqa: E741 - the literature's letter
    m: int
    a: str
    b: str
    n: int
    k: int
    distance: int
    logicals: Shapes

    @property
    def shape(self) -> BicycleShape:
        return BicycleShape(self.l, self.m, parse_polynomial(self.a), parse_polynomial(self.b))


CATALOGUE = {
    "bb18": CatalogueEntry(
        3, 3, "1+x+y", "1+x2+y2", 18, 4, 4, {(0, 1, 7, 10): (0, 1), (0, 1, 16, 17): (0, 1)}
    ),
    "bb36": CatalogueEntry(
        3, 6, "1+y+y2", "y3+x+x2", 36, 8, 4,
        {(0, 3, 6, 9): (0, 1, 6, 7), (0, 9, 30, 31): (0, 1, 6, 7)},
    ),
    "bb72": CatalogueEntry(
        6, 6, "x3+y+y2", "y3+x+x2", 72, 12, 6,
        {
            (0, 3, 6, 12, 27, 30): (0, 1, 2, 3, 6, 7),
            (0, 14, 28, 38, 52, 60): (0, 1, 2, 3),
            (36, 37, 38, 39, 55, 59): (0, 1),
        },
    ),
    "bb90": CatalogueEntry(
        15, 3, "x9+y+y2", "1+x2+x7", 90, 8, 10,
        {
            (0, 3, 9, 12, 18, 21, 27, 30, 36, 39): (0, 1, 3, 4),
            (45, 46, 54, 55, 63, 64, 72, 73, 81, 82): (0, 1, 3, 4),
        },
    ),
    "bb108": CatalogueEntry(
        9, 6, "x3+y+y2", "y3+x+x2", 108, 8, 10,
        {
            (0, 7, 22, 45, 63, 71, 80, 87, 96, 101): (0, 1, 6, 7),
            (0, 3, 6, 9, 18, 21, 24, 27, 36, 39, 42, 45): (0, 1, 6, 7),
        },
    ),
    "bb144": CatalogueEntry(
        12, 6, "x3+y+y2", "y3+x+x2", 144, 12, 12,
        {
            (0, 3, 6, 12, 27, 30, 36, 39, 42, 48, 63, 66): (0, 1, 2, 3, 6, 7),
            (0, 1, 2, 3, 6, 8, 12, 16, 74, 76, 78, 82): (0, 1, 2, 3, 6, 7),
        },
    ),
    "bb288": CatalogueEntry(
        12, 12, "x3+y2+y7", "y3+x+x2", 288, 12, 18,
        {
            (0, 3, 6, 12, 24, 27, 36, 48, 81, 90, 99, 102, 108, 120, 123, 129, 132, 138):
                (0, 1, 2, 3, 12, 13),
            (0, 12, 43, 52, 64, 95, 104, 116, 135, 172, 183, 190, 224, 230, 235, 264, 282, 287):
                (0, 1, 2, 3),
            (144, 145, 146, 147, 149, 151, 152, 154, 180, 186, 188, 190, 219, 222, 226, 227, 256,
             260): (0, 1),
        },
    ),
}  # fmt: skip


def code_names() -> tuple[str, ...]:
    """Catalogue names, smallest code first.

    >>> code_names()[:2]
    ('bb18', 'bb36')
    """
    return tuple(CATALOGUE)


@functools.cache
def get_code(name: str) -> CSSCode:
    """A catalogue code by name, a bicycle code by its polynomials, or one of a family.

    >>> get_code("bb72").label
    '[[72,12,6]]'
    >>> get_code("bb:6,6,x3+y+y2,y3+x+x2").k
    12
    >>> get_code("toric:3").label
    '[[18,2,3]]'
    """
    family = name.partition(":")[0]
    if name.startswith("bb:"):
        return _code_from_text(name)
    if name != family and family in FAMILIES:
        return code_of_family(name)
    if name not in CATALOGUE:
        raise ValueError(
            f"code must be one of {', '.join(CATALOGUE)}, or bb:l,m,A,B such as "
            "bb:6,6,x3+y+y2,y3+x+x2, or one of the families "
            f"{', '.join(FAMILIES)}: got '{name}'.{nearest(name, CATALOGUE)}"
        )
    entry = CATALOGUE[name]
    return bicycle_code(entry.shape, name, entry.logicals, entry.distance)


def _code_from_text(text: str) -> CSSCode:
    parts = text.removeprefix("bb:").split(",")
    if len(parts) != 4 or not (parts[0].strip().isdigit() and parts[1].strip().isdigit()):
        raise ValueError(f"code must have the form bb:l,m,A,B: got '{text}'.")
    shape = BicycleShape(
        int(parts[0]), int(parts[1]), parse_polynomial(parts[2]), parse_polynomial(parts[3])
    )
    logicals = light_basis(*shape.checks(), shape.qubit_images())
    if not logicals:
        raise ValueError(f"code must encode at least one logical qubit: got k = 0 for '{text}'.")
    return bicycle_code(shape, text, logicals)


def bicycle_code(
    shape: BicycleShape,
    name: str,
    logicals: Shapes,
    distance: int | None = None,
) -> CSSCode:
    """The code of the two polynomials with X logicals {shape: kept translations}.

    A shape is the support of an X logical, as qubits; `get_code("bb:...")` finds shapes by itself.

    >>> from unmasq.codes import BicycleShape, parse_polynomial
    >>> shape = BicycleShape(3, 3, parse_polynomial("1+x+y"), parse_polynomial("1+x2+y2"))
    >>> bicycle_code(shape, "small", CATALOGUE["bb18"].logicals, distance=4)
    CSSCode(small: [[18,4,4]], 18 checks)
    """
    checks_x, checks_z = shape.checks()
    images = shape.qubit_images()
    negative = shape.inverse_sites()
    dual = shape.dual_qubits()
    duals = {
        moved_support(support, dual): tuple(negative[list(kept)].tolist())
        for support, kept in logicals.items()
    }
    x, z = Tokens.of(logicals, images), Tokens.of(duals, images)
    checks = images  # X check i moves as left qubit i, Z check i as right qubit i
    each = [Symmetry(checks, tokens.images, tokens.basis) for tokens in (x, z)]
    symmetries = {"X": each[0], "Z": each[1], "XZ": _with_duality(joined(*each), dual, x, z)}
    return CSSCode(
        name,
        checks_x,
        checks_z,
        x.operators(2 * shape.sites),
        z.operators(2 * shape.sites),
        distance,
        symmetries,
        shape,
        shape.schedule() if shape.has_schedule else None,
        np.concatenate([checks, checks.shape[1] + images], axis=1).astype(np.int32),
        known=True,
    )


def _with_duality(both: Symmetry, dual: Indices, x: Tokens, z: Tokens) -> Symmetry:
    """Translations and, after each, the duality that swaps X with Z.

    It swaps X check i with Z check -i just as it swaps qubits L i with R -i, and an X token with
    its dual Z token: the tokens of both bases lie in one list whose first half is X.
    """
    half = len(x.supports)
    number = {support: t for t, support in enumerate(z.supports)}
    partner = [number[moved_support(support, dual)] for support in x.supports]
    swap_tokens = np.empty(2 * half, np.int32)
    swap_tokens[:half] = half + np.array(partner)
    swap_tokens[swap_tokens[:half]] = np.arange(half)
    return Symmetry(
        np.concatenate([both.check_images, dual[both.check_images]]),
        np.concatenate([both.token_images, swap_tokens[both.token_images]]),
        both.basis_tokens,
    )
