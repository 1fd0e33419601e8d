"""Families of CSS codes by name: toric, rotated surface, hypergraph products.

They are built as matrices: `css_code` finds logicals, translations and schedule by itself. Only the
surface code brings its schedule: the order of its CNOTs decides whether faults of an ancilla spread
along a logical operator.
"""

import re

import numpy as np

from unmasq.codes.css import CSSCode, css_code
from unmasq.codes.gf2 import Bits
from unmasq.codes.schedule import Schedule

_CLASSICAL = re.compile(r"(ring|rep)(\d+)|hamming7")
_HAMMING = ((1, 0, 1, 0, 1, 0, 1), (0, 1, 1, 0, 0, 1, 1), (0, 0, 0, 1, 1, 1, 1))


def hypergraph_product(first: Bits, second: Bits) -> tuple[Bits, Bits]:
    """H_X = [A (x) I | I (x) B^T] and H_Z = [I (x) B | A^T (x) I] of check matrices A and B."""
    (m1, n1), (m2, n2) = first.shape, second.shape
    eye = {size: np.eye(size, dtype=np.uint8) for size in (m1, n1, m2, n2)}
    return (
        np.concatenate([np.kron(first, eye[n2]), np.kron(eye[m1], second.T)], axis=1),
        np.concatenate([np.kron(eye[n1], second), np.kron(first.T, eye[m2])], axis=1),
    )


def classical_checks(name: str) -> Bits:
    """Check matrix of ringN (repetition on a circle, N checks), repN (N - 1 checks) or hamming7."""
    match = _CLASSICAL.fullmatch(name.strip())
    if match is None or (match[1] and int(match[2]) < 2):
        raise ValueError(
            f"classical code must be ringN or repN with N of at least 2, or hamming7: got '{name}'."
        )
    if not match[1]:
        return np.array(_HAMMING, np.uint8)
    identity = np.eye(int(match[2]), dtype=np.uint8)
    ring = identity ^ np.roll(identity, 1, axis=1)
    return ring if match[1] == "ring" else ring[1:]


def toric_code(height: int, width: int, name: str = "toric") -> CSSCode:
    """Qubits on the edges of a height x width torus: [[2 height width, 2]]."""
    _require_size("torus", min(height, width))
    rings = [classical_checks(f"ring{size}") for size in (height, width)]
    return css_code(*hypergraph_product(*rings), name, distance=min(height, width), known=True)


def rotated_surface_code(distance: int, name: str = "surface") -> CSSCode:
    """Qubits on a distance x distance square, checks of weight 4 inside and 2 on the border."""
    _require_size("surface code", distance)
    ticks: dict[str, list[np.ndarray]] = {"X": [], "Z": []}
    for i, j in np.ndindex(distance + 1, distance + 1):
        kind = "X" if (i + j) % 2 == 0 else "Z"
        across, upright = i in (0, distance), j in (0, distance)
        if (across and upright) or (across and kind == "Z") or (upright and kind == "X"):
            continue  # X checks close the top and the bottom, Z checks the sides
        row = np.zeros((distance, distance), np.int32)
        # Two faults of an X ancilla's second half lie side by side, across the upright X logical.
        order = [(-1, -1), (-1, 0), (0, -1), (0, 0)]
        for tick, step in enumerate(order if kind == "X" else sorted(order, key=lambda s: s[::-1])):
            place = (i + step[0], j + step[1])
            if min(place) >= 0 and max(place) < distance:
                row[place] = tick + 1
        ticks[kind].append(row.ravel())
    schedule = Schedule(np.array(ticks["X"]), np.array(ticks["Z"]))
    checks = (schedule.x > 0).astype(np.uint8), (schedule.z > 0).astype(np.uint8)
    return css_code(*checks, name, distance=distance, schedule=schedule, known=True)


def code_of_family(name: str) -> CSSCode:
    """'toric:3' or 'toric:3,4', 'surface:5', 'hgp:ring3,hamming7'.

    >>> code_of_family("toric:3,4").label
    '[[24,2,3]]'
    """
    family, _, text = name.partition(":")
    parts = text.split(",")
    if family == "hgp" and len(parts) == 2:
        first, second = (classical_checks(part) for part in parts)
        return css_code(*hypergraph_product(first, second), name, known=True)
    if all(part.strip().isdigit() for part in parts):
        sizes = [int(part) for part in parts]
        if family == "toric" and len(sizes) in (1, 2):
            return toric_code(sizes[0], sizes[-1], name)
        if family == "surface" and len(sizes) == 1:
            return rotated_surface_code(sizes[0], name)
    raise ValueError(f"code must have the form {FAMILIES[family]}: got '{name}'.")


FAMILIES = {
    "toric": "toric:L or toric:L,M, such as toric:4",
    "surface": "surface:D, such as surface:5",
    "hgp": "hgp:A,B of ringN, repN and hamming7, such as hgp:hamming7,rep3",
}


def _require_size(what: str, size: int) -> None:
    if size < 2:
        raise ValueError(f"{what} must have a size of at least 2: got {size}.")
