"""Matrices of 0 and 1 (numpy uint8), and linear algebra modulo 2 on dense, not too large ones."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Bits = NDArray[np.uint8]


def as_bits(matrix: ArrayLike, name: str = "matrix") -> Bits:
    """The matrix as uint8, refused unless it is two-dimensional with entries 0 and 1."""
    array = np.asarray(matrix)
    if array.ndim != 2:
        raise ValueError(f"{name} must have two dimensions: got shape {array.shape}.")
    wrong = np.argwhere((array != 0) & (array != 1))
    if len(wrong):
        i, j = wrong[0]
        raise ValueError(
            f"{name} must hold only 0 and 1: got {name}[{i}, {j}] = {array[i, j]}. "
            "Reduce it modulo 2."
        )
    return array.astype(np.uint8)


def from_supports(supports: Sequence[Sequence[int]], columns: int) -> Bits:
    """One row for each support, with ones at the listed columns."""
    return sparse_columns(supports, columns).T.toarray()


def sparse_columns(supports: Sequence[Sequence[int]], rows: int) -> sparse.csc_array:
    """One column for each support, with ones at the listed rows."""
    lengths = np.fromiter(map(len, supports), np.int64, len(supports))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.fromiter((i for support in supports for i in support), np.int64, indptr[-1])
    data = np.ones(indptr[-1], np.uint8)
    return sparse.csc_array((data, indices, indptr), shape=(rows, len(supports)))


def row_reduce(matrix: Bits) -> tuple[Bits, list[int]]:
    """Reduced row echelon form and its pivot columns; zero rows are dropped."""
    reduced = matrix.astype(np.uint8).copy()
    pivots: list[int] = []
    for column in range(reduced.shape[1]):
        row = len(pivots)
        if row == reduced.shape[0]:
            break
        candidates = np.flatnonzero(reduced[row:, column])
        if candidates.size == 0:
            continue
        swap = row + candidates[0]
        reduced[[row, swap]] = reduced[[swap, row]]
        others = np.flatnonzero(reduced[:, column])
        reduced[others[others != row]] ^= reduced[row]
        pivots.append(column)
    return reduced[: len(pivots)], pivots


def rank(matrix: Bits) -> int:
    """Dimension of the row space."""
    return len(row_reduce(matrix)[1])


def kernel(matrix: Bits) -> Bits:
    """A basis, as rows, of all v with matrix @ v = 0 (mod 2)."""
    reduced, pivots = row_reduce(matrix)
    free = np.setdiff1d(np.arange(matrix.shape[1]), pivots)
    basis = np.zeros((free.size, matrix.shape[1]), np.uint8)
    basis[np.arange(free.size), free] = 1
    basis[:, pivots] = reduced[:, free].T
    return basis


def combine(rows: Bits, target: Bits) -> Bits:
    """Coefficients c with c @ rows = target (mod 2), one row of c for each row of `target`.

    Where `rows` are dependent, the later ones get coefficient 0.
    """
    count = rows.shape[0]
    reduced, pivots = row_reduce(np.concatenate([rows.T, target.T], axis=1))
    if any(pivot >= count for pivot in pivots):
        raise ValueError("target must lie in the span of rows: got a vector outside it.")
    coefficients = np.zeros((target.shape[0], count), np.uint8)
    coefficients[:, pivots] = reduced[:, count:].T
    return coefficients
