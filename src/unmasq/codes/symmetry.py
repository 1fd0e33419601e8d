"""Translations of a code, and the tie tables they give to factored attention.

A `Symmetry` is a finite group that permutes check sites and logical tokens. The tokens are all
translates of the basis operators, not the basis alone: the basis is not closed under translation.
`pair_orbits` numbers the orbits of pairs, so that one trainable value serves each orbit. Nothing
here knows about noise; `problems.symmetry_check` refuses a problem that lacks its symmetry.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int32]


@dataclasses.dataclass(frozen=True, eq=False)
class Symmetry:
    """A group acting on check sites and on logical tokens by permutations.

    `check_images[g, i]` is the site that element g takes check i to; `token_images` likewise for
    the closed set of logical tokens. Basis logical k is token `basis_tokens[k]`.
    """

    check_images: Indices  # (G, n_c)
    token_images: Indices  # (G, U)
    basis_tokens: Indices  # (K,)

    def __post_init__(self) -> None:
        for name in ("check_images", "token_images"):
            images = getattr(self, name)
            if not (np.sort(images, axis=1) == np.arange(images.shape[1])).all():
                raise ValueError(f"{name} must hold one permutation a row.")
        if len(self.check_images) != len(self.token_images):
            raise ValueError(
                "check_images and token_images must have one row for each group element: got "
                f"{len(self.check_images)} and {len(self.token_images)}."
            )
        if len(np.unique(self.basis_tokens)) != len(self.basis_tokens):
            raise ValueError("basis_tokens must be distinct: got a token twice.")

    @property
    def order(self) -> int:
        return len(self.check_images)

    @property
    def num_checks(self) -> int:
        return self.check_images.shape[1]

    @property
    def num_tokens(self) -> int:
        return self.token_images.shape[1]

    def check_ties(self) -> "TieTable":
        """Attention between checks: one value for each (type, type', relative offset)."""
        index = pair_orbits(self.check_images, self.check_images)
        return TieTable(index, int(index.max()) + 1)

    def joint_ties(self) -> "TieTable":
        """Attention among (basis logicals, checks), in this order on both axes.

        Value numbers do not depend on the basis that is shown.
        """
        joint = np.concatenate([self.token_images, self.num_tokens + self.check_images], axis=1)
        shown = np.concatenate([self.basis_tokens, self.num_tokens + np.arange(self.num_checks)])
        index = pair_orbits(joint, joint)
        return TieTable(index[np.ix_(shown, shown)], int(index.max()) + 1)

    def readout_ties(self) -> "TieTable":
        """Attention from basis logicals to (basis logicals, checks), as in `joint_ties`."""
        joint = np.concatenate([self.token_images, self.num_tokens + self.check_images], axis=1)
        shown = np.concatenate([self.basis_tokens, self.num_tokens + np.arange(self.num_checks)])
        index = pair_orbits(self.token_images, joint)
        return TieTable(index[np.ix_(self.basis_tokens, shown)], int(index.max()) + 1)

    def check_kinds(self) -> Indices:
        """The orbit number of each check site."""
        return _number(self.check_images.min(axis=0))


def joined(x: Symmetry, z: Symmetry) -> Symmetry:
    """The tokens of both, side by side; the elements must move the checks alike."""
    return Symmetry(
        x.check_images,
        np.concatenate([x.token_images, x.num_tokens + z.token_images], axis=1),
        np.concatenate([x.basis_tokens, x.num_tokens + z.basis_tokens]),
    )


@dataclasses.dataclass(frozen=True, eq=False)
class TieTable:
    """Which of `num_values` values stands at each place of an attention matrix."""

    index: Indices  # (rows, columns)
    num_values: int

    def __post_init__(self) -> None:
        if self.index.size and not 0 <= self.index.min() <= self.index.max() < self.num_values:
            raise ValueError(
                f"index must lie in 0..{self.num_values - 1}: "
                f"got {self.index.min()}..{self.index.max()}."
            )

    @property
    def is_free(self) -> bool:
        """All places different, in reading order: the paper's untied matrix."""
        return np.array_equal(self.index.ravel(), np.arange(self.num_values))


def free_ties(rows: int, columns: int) -> TieTable:
    """The trivial table: every place has its own value."""
    index = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    return TieTable(index, index.size)


def pair_orbits(row_images: Indices, column_images: Indices) -> Indices:
    """Numbers the orbits of pairs (i, j) under g: (i, j) -> (g i, g j); shape (rows, columns).

    The orbit's smallest pair in reading order names it; names are then counted from 0.
    """
    columns = column_images.shape[1]
    smallest = np.full((row_images.shape[1], columns), np.iinfo(np.int64).max)
    for rows, cols in zip(row_images.astype(np.int64), column_images, strict=True):
        np.minimum(smallest, rows[:, None] * columns + cols[None, :], out=smallest)
    return _number(smallest)


def _number(names: NDArray) -> Indices:
    return np.unique(names, return_inverse=True)[1].reshape(names.shape).astype(np.int32)
