"""Minimum-weight logical operators: an information-set search and the canonical basis.

The basis decides what a network predicts, so it is chosen once by a rule and kept as data in the
catalogue: another choice would orphan trained weights. The rule (`canonical_basis`): of all
lightest operators, take the translation orbit that raises the rank modulo the checks most; ties go
to the smallest orbit, then to the smallest support. Of that orbit keep the translations, in
counting order, that raise the rank. Repeat; go to heavier operators only when the lighter ones no
longer raise the rank.
"""

import dataclasses

import numpy as np

from unmasq.codes import gf2
from unmasq.codes.gf2 import Bits
from unmasq.codes.symmetry import Indices

Support = tuple[int, ...]
Shapes = dict[Support, tuple[int, ...]]  # support at translation 0: kept translations


@dataclasses.dataclass(frozen=True, eq=False)
class Tokens:
    """All distinct translates of some operators, shape by shape, and how translations move them."""

    supports: list[Support]
    basis: Indices  # (K,) which of them are the basis
    images: Indices  # (G, U)

    @staticmethod
    def of(shapes: Shapes, qubit_images: Indices) -> "Tokens":
        tokens: list[Support] = []
        kept: list[Support] = []
        for support, numbers in shapes.items():
            moved = translates(support, qubit_images)
            tokens.extend(dict.fromkeys(moved))
            kept.extend(moved[g] for g in numbers)
        number = {support: t for t, support in enumerate(tokens)}
        images = [[number[moved_support(s, row)] for s in tokens] for row in qubit_images]
        return Tokens(
            tokens,
            np.array([number[support] for support in kept], np.int32),
            np.array(images, np.int32).reshape(len(qubit_images), len(tokens)),
        )

    def operators(self, num_qubits: int) -> Bits:
        """The basis, one row an operator."""
        return gf2.from_supports([self.supports[t] for t in self.basis], num_qubits)


def independent_logicals(checks: Bits, other_checks: Bits) -> Bits:
    """A basis of ker(other_checks) modulo the row space of `checks`."""
    candidates = gf2.kernel(other_checks)
    stacked = np.concatenate([checks, candidates])
    _, pivots = gf2.row_reduce(stacked.T)
    return stacked[[pivot for pivot in pivots if pivot >= len(checks)]]


def light_basis(checks: Bits, other_checks: Bits, qubit_images: Indices) -> Shapes:
    """Light logicals of the type of `checks`, found by search; how light is not proven."""
    some = independent_logicals(checks, other_checks)
    if not len(some):
        return {}
    opposite = independent_logicals(other_checks, checks)
    heaviest = int(some.sum(axis=1).max())
    first = light_logicals(other_checks, opposite, heaviest, num_sets=3)
    first |= {tuple(np.flatnonzero(row).tolist()) for row in some}  # which span all operators
    weight = spanning_weight(first, opposite)
    num_sets = max(2, int(100 * min(1.0, 400 / checks.shape[1]) ** 3))  # the cost grows as n^3
    supports = light_logicals(other_checks, opposite, weight, num_sets)
    supports |= {s for s in first if len(s) <= weight}
    return canonical_basis(supports, opposite, qubit_images)


def light_logicals(
    other_checks: Bits, opposite: Bits, weight: int, num_sets: int, seed: int = 0
) -> set[Support]:
    """Supports of logical operators of weight at most `weight`.

    They commute with `other_checks` (the checks of the other type) and not with all of `opposite`
    (a basis of logicals of the other type). Each of `num_sets` random information sets yields the
    words with at most two ones in it: a search, not a proof. With 1000 sets every code of the
    catalogue has shown all that it ever shows, up to translation.
    """
    rng = np.random.default_rng(seed)
    words = gf2.kernel(other_checks)
    found: set[Support] = set()
    for _ in range(num_sets):
        order = rng.permutation(words.shape[1])
        basis = np.empty_like(words)
        basis[:, order] = gf2.row_reduce(words[:, order])[0]
        first, second = np.nonzero(np.triu(_sum_weights(basis) <= weight))
        candidates = basis[first] ^ np.where((first == second)[:, None], 0, basis[second])
        logical = _classes(candidates, opposite).any(axis=1)
        found.update(tuple(np.flatnonzero(word).tolist()) for word in candidates[logical])
    return found


def canonical_basis(supports: set[Support], opposite: Bits, qubit_images: Indices) -> Shapes:
    """Shapes and their kept translations by the rule in the module's docstring."""
    qubits = qubit_images.shape[1]
    kept: Shapes = {}
    span = np.zeros((0, len(opposite)), np.uint8)  # what the kept operators do to `opposite`
    for weight in sorted({len(support) for support in supports}):
        orbits = {}
        for support in supports:
            if len(support) == weight:
                orbit = translates(support, qubit_images)
                orbits[min(orbit)] = len(set(orbit))
        classes = {
            shape: _classes(gf2.from_supports(translates(shape, qubit_images), qubits), opposite)
            for shape in orbits
        }
        while orbits and len(span) < len(opposite):
            rank = {s: gf2.rank(np.concatenate([span, classes[s]])) for s in orbits}
            best = min(orbits, key=lambda s: (-rank[s], orbits[s], s))
            if rank[best] == len(span):
                break
            _, pivots = gf2.row_reduce(np.concatenate([span, classes[best]]).T)
            kept[best] = tuple(pivot - len(span) for pivot in pivots[len(span) :])
            span = np.concatenate([span, classes[best][list(kept[best])]])
            del orbits[best]
    if len(span) < len(opposite):
        raise ValueError(
            f"supports must span {len(opposite)} logical operators: got {len(span)}. "
            "Search more information sets, or heavier operators."
        )
    return kept


def spanning_weight(supports: set[Support], opposite: Bits) -> int:
    """The smallest weight up to which the supports span all logical operators."""
    for weight in sorted({len(support) for support in supports}):
        light = [support for support in supports if len(support) <= weight]
        classes = _classes(gf2.from_supports(light, opposite.shape[1]), opposite)
        if gf2.rank(classes) == len(opposite):
            return weight
    raise ValueError(f"supports must span {len(opposite)} logical operators.")


def translates(support: Support, qubit_images: Indices) -> list[Support]:
    """The support under each translation, in the order of the translations."""
    moved = np.sort(qubit_images[:, list(support)], axis=1)
    return [tuple(row) for row in moved.tolist()]


def moved_support(support: Support, images: Indices) -> Support:
    """The support under one permutation of the qubits."""
    return tuple(np.sort(images[list(support)]).tolist())


def _classes(operators: Bits, opposite: Bits) -> Bits:
    """Which of `opposite` each operator anticommutes with: its class modulo the checks."""
    return ((operators.astype(np.float32) @ opposite.T.astype(np.float32)) % 2).astype(np.uint8)


def _sum_weights(basis: Bits) -> np.ndarray:
    """Weight of row i + row j; of row i itself on the diagonal."""
    counts = basis.astype(np.float32)
    ones = counts.sum(axis=1)
    weights = ones[:, None] + ones[None, :] - 2 * (counts @ counts.T)
    np.fill_diagonal(weights, ones)
    return weights
