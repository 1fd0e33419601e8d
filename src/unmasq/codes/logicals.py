"""Minimum-weight logical operators: an information-set search and the canonical basis.

The basis decides what a network predicts, so it is chosen once by a rule and kept as data in the
catalogue: another choice would orphan trained weights. The rule (`canonical_basis`): of all
lightest operators, take the translation orbit that raises the rank modulo the checks most; ties go
to the smallest orbit, then to the smallest support. Of that orbit keep the translations, in
counting order, that raise the rank. Repeat; go to heavier operators only when the lighter ones no
longer raise the rank.
"""

import numpy as np

from unmasq import gf2
from unmasq.gf2 import Bits
from unmasq.symmetry import Indices

Support = tuple[int, ...]
Token = tuple[int, int]  # (shape, number of the translation)


def light_logicals(
    checks: Bits, other_checks: Bits, weight: int, num_sets: int, seed: int = 0
) -> set[Support]:
    """Supports of weight at most `weight` in ker(other_checks) outside the span of `checks`.

    Each of `num_sets` random information sets yields the words with at most two ones in it: a
    search, not a proof, but the set stops growing long before the sets used for the catalogue.
    """
    rng = np.random.default_rng(seed)
    words = gf2.kernel(other_checks)
    opposite = gf2.kernel(checks).astype(np.int64)  # stabilisers commute with all of these
    found: set[Support] = set()
    for _ in range(num_sets):
        order = rng.permutation(words.shape[1])
        basis = np.empty_like(words)
        basis[:, order] = gf2.row_reduce(words[:, order])[0]
        first, second = np.nonzero(np.triu(_sum_weights(basis) <= weight))
        candidates = basis[first] ^ np.where((first == second)[:, None], 0, basis[second])
        logical = ((candidates.astype(np.int64) @ opposite.T) & 1).any(axis=1)
        found.update(tuple(np.flatnonzero(word).tolist()) for word in candidates[logical])
    return found


def canonical_basis(
    supports: set[Support], checks: Bits, qubit_images: Indices, k: int
) -> tuple[list[Support], list[Token]]:
    """Shapes and their kept translations by the rule in the module's docstring."""
    shapes: list[Support] = []
    tokens: list[Token] = []
    span = gf2.row_reduce(checks)[0]
    for weight in sorted({len(support) for support in supports}):
        orbits = {
            min(orbit): orbit
            for support in supports
            if len(support) == weight
            for orbit in [translates(support, qubit_images)]
        }
        while len(tokens) < k and orbits:
            gains = {
                support: gf2.rank(np.concatenate([span, gf2.from_supports(orbit, span.shape[1])]))
                - len(span)
                for support, orbit in orbits.items()
            }
            best = min(orbits, key=lambda s: (-gains[s], len(set(orbits[s])), s))
            if gains[best] == 0:
                break
            for g, support in enumerate(translates(best, qubit_images)):
                grown = gf2.row_reduce(
                    np.concatenate([span, gf2.from_supports([support], span.shape[1])])
                )[0]
                if len(grown) > len(span):
                    span = grown
                    tokens.append((len(shapes), g))
            shapes.append(best)
            del orbits[best]
    if len(tokens) < k:
        raise ValueError(f"supports must span {k} logical operators: got {len(tokens)}.")
    return shapes, tokens


def translates(support: Support, qubit_images: Indices) -> list[Support]:
    """The support under each translation, in the order of the translations."""
    moved = np.sort(qubit_images[:, list(support)], axis=1)
    return [tuple(row) for row in moved.tolist()]


def _sum_weights(basis: Bits) -> np.ndarray:
    """Weight of row i + row j; of row i itself on the diagonal."""
    counts = basis.astype(np.float32)
    ones = counts.sum(axis=1)
    weights = ones[:, None] + ones[None, :] - 2 * (counts @ counts.T)
    np.fill_diagonal(weights, ones)
    return weights
