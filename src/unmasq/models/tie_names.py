"""Names of tied attention values: which two kinds of tokens, and where the second one stands.

A value serves an orbit of pairs. Move a pair of the orbit so that its first token stands where its
kind begins; then the second token's place tells the orbit. Names of checks on a torus mean the same
for every code with these check types: ("X", "Z", (0, 1)) is the Z check one step in y from an X
check. Names of logicals mean something for one code and basis only.
"""

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from unmasq.codes import get_code
from unmasq.codes.symmetry import Indices, Symmetry, pair_orbits
from unmasq.models.geometry import Geometry

TieName = tuple[str, str, tuple[int, ...]]  # kind, kind', place of the second token


@dataclasses.dataclass(frozen=True)
class Origin:
    """What a problem, or a weight file's header, says of the code and its logicals."""

    code: str | None
    basis: str

    @staticmethod
    def of(facts: Mapping[str, Any]) -> "Origin":
        return Origin(facts.get("code"), facts.get("basis", "X"))

    @property
    def torus(self) -> tuple[int, int] | None:
        """(l, m) of a bicycle code."""
        shape = None if self.code is None else get_code(self.code).bicycle
        return None if shape is None else (shape.l, shape.m)


def check_letters(geometry: Geometry) -> list[str]:
    """The type of each check site."""
    return ["XZ"[kind] if kind < 2 else str(kind) for kind in geometry.layout.check_type]


def kind_names(geometry: Geometry, tied: bool) -> list[str]:
    """The types of the checks that share an embedding, for each row of its table."""
    kinds, letters = geometry.check_kinds(tied), np.array(check_letters(geometry))
    return ["".join(np.unique(letters[kinds == kind])) for kind in range(int(kinds.max()) + 1)]


def readout_names(geometry: Geometry, origin: Origin) -> list[TieName]:
    """Of the values of `Symmetry.readout_ties`, by their numbers."""
    return _names(geometry, origin, numbered_pairs(_known(geometry), still=True))


def joint_names(geometry: Geometry, origin: Origin) -> list[TieName]:
    """Of the values of `Symmetry.joint_ties`, by their numbers."""
    return _names(geometry, origin, numbered_pairs(_known(geometry), still=False))


def numbered_pairs(symmetry: Symmetry, still: bool) -> Indices:
    """The value of each pair, (tokens, tokens and checks) or, if not still, of all with all.

    The tokens are all of the symmetry's, not those of the basis alone.
    """
    joint = _joint_images(symmetry)
    return pair_orbits(symmetry.token_images if still else joint, joint)


def _known(geometry: Geometry) -> Symmetry:
    assert geometry.symmetry is not None
    return geometry.symmetry


def _joint_images(symmetry: Symmetry) -> Indices:
    images = [symmetry.token_images, symmetry.num_tokens + symmetry.check_images]
    return np.concatenate(images, axis=1).astype(np.int32)


def _names(geometry: Geometry, origin: Origin, index: Indices) -> list[TieName]:
    """Of the orbits that `index` (rows, tokens and checks) numbers."""
    symmetry = _known(geometry)
    images = _joint_images(symmetry)
    first = images.min(axis=0)  # where the kind of each begins
    kinds, places = _kinds_and_places(geometry, origin)
    names = []
    for flat in np.unique(index, return_index=True)[1]:
        row, column = divmod(int(flat), index.shape[1])
        # Elements that take the row to its first one differ by what leaves that where it is.
        moves = images[images[:, row] == first[row]]
        place = int(moves[:, column].min())
        names.append((kinds[first[row]], kinds[place], places[place]))
    return names


def _kinds_and_places(
    geometry: Geometry, origin: Origin
) -> tuple[list[str], list[tuple[int, ...]]]:
    """Of each logical token, then of each check."""
    symmetry = _known(geometry)
    torus = origin.torus
    if torus is None or 2 * torus[0] * torus[1] != symmetry.num_checks:
        label = f"{origin.code} {origin.basis}" if origin.code else f"symmetry {_digest(symmetry)}"
        kinds, places = _logicals(symmetry.token_images, label)
        kinds += [f"{label} {letter}" for letter in check_letters(geometry)]
        return kinds, [*places, *((site,) for site in range(symmetry.num_checks))]
    bases = [origin.basis]
    if origin.basis == "XZ" and symmetry.check_kinds().max() > 0:
        bases = ["X", "Z"]  # two lists of tokens, duals of each other, that no element joins
    kinds, places = [], []
    for basis, images in zip(bases, np.split(symmetry.token_images, len(bases), 1), strict=True):
        own, where = _logicals(images, f"{origin.code} {basis}")
        kinds, places = kinds + own, places + where
    size = torus[0] * torus[1]
    steps = [np.divmod(site % size, torus[1]) for site in range(symmetry.num_checks)]
    return kinds + check_letters(geometry), [*places, *((int(u), int(v)) for u, v in steps)]


def _logicals(images: Indices, label: str) -> tuple[list[str], list[tuple[int, ...]]]:
    shapes = np.unique(images.min(axis=0), return_inverse=True)[1]
    return [f"{label} logical {shape}" for shape in shapes], [
        (token,) for token in range(len(shapes))
    ]


def _digest(symmetry: Symmetry) -> str:
    content = symmetry.check_images.tobytes() + symmetry.token_images.tobytes()
    return hashlib.sha256(content).hexdigest()[:8]
