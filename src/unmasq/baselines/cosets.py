"""The most likely coset for code-capacity noise, from a list of all errors of low weight.

A reference for how far other decoders are from maximum likelihood where p is small; far too slow
and too large to be a decoder in its own right. Only for small codes: at most 64 independent checks,
32 logicals and 20 million errors of weight 3. For [[72,12,6]], in time of one CPU core: 0.5 s and
0.2 GB to set up, then under 1 ms a shot up to weight 5, 5 ms for weight 6, 0.3 s for 7, 3 s for 8.
"""

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from unmasq.baselines.adapter import Baseline
from unmasq.codes import gf2
from unmasq.problems.pauli_channel import PauliChannel, pauli_channel
from unmasq.problems.problem import DecodingProblem

MAX_WEIGHT = 8  # each weight above 7 takes ten times as long
_TABLE_WEIGHT = 3
_MAX_ENTRIES = 20_000_000
# The listing ends where the best coset is this many times likelier than the second.
_CLEAR = 100.0
# A's tried at a time, with every F: their temporaries stay in the cache.
_BLOCK = 1 << 13
# Of a table's hash filter: with so many slots an entry it lets one wrong key in 64 through.
_SLOTS_PER_ENTRY = 64
_MAX_SLOT_BITS = 27
_HASH = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio


@dataclasses.dataclass(frozen=True)
class CosetSums:
    """What was found for one syndrome: sum of x^weight over the listed errors of each coset."""

    sums: dict[int, float]  # by the logicals flipped, counted little-endian
    lowest: int | None  # weight of the lightest error, None where none was found
    reached: int  # all errors up to this weight were listed

    @property
    def best(self) -> int:
        """The likeliest of those found, of equal ones the smallest; 0 where none was."""
        return max(sorted(self.sums), key=self.sums.__getitem__, default=0)

    @property
    def clear(self) -> bool:
        """Whether the best coset leads by far, with a weight to spare."""
        if self.lowest is None or self.reached <= self.lowest:
            return False
        second, best = sorted([0.0, *self.sums.values()])[-2:]
        return best > _CLEAR * second


class LikeliestCoset(Baseline):
    """Sums P(coset) over all errors of weight up to `max_weight`, and takes the largest sum.

    With x = (p/3) / (1 - p), P(s, l) is (1 - p)^n times the sum of N_w(s, l) x^w over all weights
    w. The counts N_w are exact; the sum is cut short, at `max_weight` or earlier: at the first
    weight above w0, that of the lightest error, at which the best coset leads the second by a
    factor of 100. So the answer is a most likely coset unless what is left out turns the order
    round: heavier errors of a close second where the listing ended at `max_weight`, or many
    errors of weight w0 + 2 and more, in a ratio of about 1 / x^2, in a coset far behind or not
    seen at all. Without any error up to `max_weight`, no flip is predicted, most likely wrongly:
    so the error rate is above the optimum by about the share of such shots.
    """

    def __init__(
        self, problem: DecodingProblem, name: str = "coset8", max_weight: int = MAX_WEIGHT
    ) -> None:
        super().__init__(name, problem, "xz")
        if not 1 <= max_weight <= MAX_WEIGHT:
            raise ValueError(f"max_weight must lie in 1..{MAX_WEIGHT}: got {max_weight}.")
        self._arguments = (problem, name, max_weight)
        self._max_weight = max_weight
        channel = _uniform_channel(problem, name)
        self._x = float(channel.probabilities[0, 1] / channel.probabilities[0, 0])
        self._errors = ErrorList(channel, problem.num_detectors)

    def _decode_flagged(self, syndromes: np.ndarray) -> np.ndarray:
        unique, which = np.unique(syndromes, axis=0, return_inverse=True)
        best = np.array([self.cosets(syndrome).best for syndrome in unique])
        bits = (best[:, None] >> np.arange(self.num_logicals)) & 1
        return bits.astype(np.uint8)[which.ravel()]

    def cosets(self, syndrome: np.ndarray) -> CosetSums:
        """The cosets of one syndrome that is not all 0, as far as their errors were listed."""
        found = CosetSums({}, None, 0)
        if not self._errors.explains(syndrome):
            return found
        for weight in range(1, self._max_weight + 1):
            counts = self._errors.counts(syndrome, weight)
            sums = dict(found.sums)
            for logicals, count in counts.items():
                sums[logicals] = sums.get(logicals, 0.0) + count * self._x**weight
            lowest = weight if counts and found.lowest is None else found.lowest
            found = CosetSums(sums, lowest, weight)
            if found.clear:
                break
        return found


class ErrorList:
    """All errors of a weight that have a given syndrome, by the logicals they flip.

    Errors are sets of single-qubit errors 3q, 3q + 1, 3q + 2 (X, Z, Y of qubit q), at most one a
    qubit. Those of weight up to 3 lie in tables sorted by syndrome. A heavier one, E, is F A B:
    some check fires, so E has single errors that flip it, and F is the one of lowest number; B is
    the three errors of highest number among the others, A what is left. For every F and every A of
    that weight, B is looked up. Each error is met exactly once. Above weight 7, A B is listed in
    the same way again for every F.
    """

    def __init__(self, channel: PauliChannel, num_detectors: int) -> None:
        n = len(channel.probabilities)
        num_logicals = len(channel.logicals_of_x)
        of_qubit = np.zeros((num_detectors, n, 3), np.uint8)
        of_qubit[channel.rows_z, :, 0] = channel.checks_z
        of_qubit[channel.rows_x, :, 1] = channel.checks_x
        of_qubit[:, :, 2] = of_qubit[:, :, 0] ^ of_qubit[:, :, 1]
        checks = of_qubit.reshape(num_detectors, 3 * n)
        of_x, of_z = channel.logicals_of_x, channel.logicals_of_z
        logicals = np.stack([of_x, of_z, of_x ^ of_z], axis=2).reshape(num_logicals, 3 * n)
        self._rows = np.array(gf2.row_reduce(checks.T)[1])
        _refuse_large(n, len(self._rows), num_logicals)
        # Every check is a sum of the independent ones, and so are the syndrome's bits.
        self._coefficients = gf2.combine(checks[self._rows], checks).astype(np.int64)
        self._flips = checks[self._rows] == 1  # (rank, 3n)
        self._keys = _packed(checks[self._rows])
        self._logicals = _packed(logicals).astype(np.uint32)
        self._tables = [_Table.sorted_by_key(np.zeros(1, np.uint64), np.zeros((1, 0), np.int16))]
        for _ in range(_TABLE_WEIGHT):
            self._tables.append(self._tables[-1].heavier_by_one(self._keys))

    def explains(self, syndrome: np.ndarray) -> bool:
        """Whether any error at all has this syndrome: whether dependent checks agree."""
        expected = (self._coefficients @ syndrome[self._rows].astype(np.int64)) & 1
        return bool((expected == syndrome).all())

    def counts(self, syndrome: np.ndarray, weight: int) -> dict[int, int]:
        """N_w(s, l): how many errors of this weight flip the logicals l, little-endian, if any.

        `explains` must be true of the syndrome.
        """
        logicals = [np.zeros(0, np.uint32)]
        fired, barred = syndrome[self._rows] == 1, np.zeros(len(self._keys), bool)
        for errors in self._listed(fired, weight, barred):
            logicals.append(np.bitwise_xor.reduce(self._logicals[errors], axis=1))
        values, counts = np.unique(np.concatenate(logicals), return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))

    def _listed(self, fired: np.ndarray, weight: int, barred: np.ndarray) -> Iterator[np.ndarray]:
        """The errors as arrays (some, weight) of single errors, without those barred.

        `fired` are the independent checks.
        """
        key = _packed(fired[:, None])
        if weight <= _TABLE_WEIGHT:
            table = self._tables[weight]
            errors = table.parts[table.find(key)[1]]
            yield errors[~barred[errors].any(axis=1)]
            return
        flips = self._flips_of_one(fired)
        firsts = np.flatnonzero(flips & ~barred)
        single = np.arange(len(flips))
        # What may not come beside F: its own qubit, and errors that had to be F in its place.
        beside = (flips & (single < firsts[:, None])) | (single // 3 == firsts[:, None] // 3)
        barred = barred | beside
        if weight > 1 + 2 * _TABLE_WEIGHT:
            for first, its_barred in zip(firsts, barred, strict=True):
                for rest in self._listed(fired ^ self._flips[:, first], weight - 1, its_barred):
                    yield np.insert(rest, 0, first, axis=1)
            return
        low, high = self._tables[weight - 1 - _TABLE_WEIGHT], self._tables[_TABLE_WEIGHT]
        for start in range(0, len(low.keys), _BLOCK):
            keys = low.keys[start : start + _BLOCK]
            targets = (key ^ self._keys[firsts])[:, None] ^ keys
            which, j = high.find(targets.ravel())
            f, i = np.divmod(which, len(keys))
            a, b = low.parts[start + i], high.parts[j]
            kept = np.flatnonzero(_in_order(a, b))
            f, rest = f[kept], np.concatenate([a[kept], b[kept]], axis=1)
            kept = np.flatnonzero(~barred[f[:, None], rest].any(axis=1))
            yield np.insert(rest[kept], 0, firsts[f[kept]], axis=1)

    def _flips_of_one(self, fired: np.ndarray) -> np.ndarray:
        """The single errors that flip a fired check, the one with fewest; all, where none fired."""
        rows = np.flatnonzero(fired)
        if rows.size == 0:
            return np.ones(self._flips.shape[1], bool)
        return self._flips[rows[np.argmin(self._flips[rows].sum(axis=1))]]


@dataclasses.dataclass(frozen=True, eq=False)
class _Table:
    """All errors of one weight, sorted by syndrome."""

    keys: np.ndarray  # (size,) uint64: the syndrome
    parts: np.ndarray  # (size, weight) int16: single errors, ascending
    occupied: np.ndarray  # (a power of 2,) bool: whether any key has this hash

    @classmethod
    def sorted_by_key(cls, keys: np.ndarray, parts: np.ndarray) -> "_Table":
        order = np.argsort(keys)
        bits = (_SLOTS_PER_ENTRY * len(keys)).bit_length()
        occupied = np.zeros(1 << min(max(bits, 1), _MAX_SLOT_BITS), bool)
        occupied[_slots(keys, len(occupied))] = True
        return cls(keys[order], parts[order], occupied)

    def heavier_by_one(self, singles: np.ndarray) -> "_Table":
        """Adds to every error every single error on a later qubit."""
        if self.parts.shape[1]:
            start = self.parts[:, -1].astype(np.int64) // 3 * 3 + 3
        else:
            start = np.zeros(len(self.keys), np.int64)
        old, new = _expanded(start, np.full(len(start), len(singles)))
        parts = np.concatenate([self.parts[old], new[:, None].astype(np.int16)], axis=1)
        return self.sorted_by_key(self.keys[old] ^ singles[new], parts)

    def find(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All (i, j) with targets[i] == keys[j]."""
        i = np.flatnonzero(self.occupied[_slots(targets, len(self.occupied))])
        left = np.searchsorted(self.keys, targets[i])
        right = np.searchsorted(self.keys, targets[i], side="right")
        which, j = _expanded(left, right)
        return i[which], j


def _in_order(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Row by row, whether all qubits of `low` come before those of `high`: disjoint, and once."""
    if low.shape[1] == 0:
        return np.ones(len(low), bool)
    return low[:, -1] // 3 < high[:, 0] // 3


def _expanded(start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All (i, j) with start[i] <= j < stop[i]."""
    counts = stop - start
    i = np.repeat(np.arange(len(start)), counts)
    offset = np.cumsum(counts) - counts
    return i, np.arange(len(i)) + (start - offset)[i]


def _slots(keys: np.ndarray, size: int) -> np.ndarray:
    """The top bits of a product: low weights leave keys sparse, and their own bits uneven."""
    return ((keys * _HASH) >> np.uint64(65 - size.bit_length())).view(np.int64)


def _packed(bits: np.ndarray) -> np.ndarray:
    """Columns of at most 64 bits as uint64, little-endian."""
    weights = np.uint64(1) << np.arange(len(bits), dtype=np.uint64)
    return (bits.astype(np.uint64) * weights[:, None]).sum(axis=0, dtype=np.uint64)


def _uniform_channel(problem: DecodingProblem, name: str) -> PauliChannel:
    """The qubits of the problem, refused unless X, Z and Y of all of them are equally likely."""
    channel = pauli_channel(problem, name)
    errors = channel.probabilities[:, 1:]
    unequal = np.argwhere(~np.isclose(errors, errors[0, 0], rtol=1e-6, atol=0))
    if len(unequal):
        qubit, pauli = unequal[0]
        raise ValueError(
            f"{name} must have one probability for X, Y and Z of all qubits: got "
            f"P({'XZY'[pauli]}) = {errors[qubit, pauli]:.6g} on qubit {qubit}, "
            f"P(X) = {errors[0, 0]:.6g} on qubit 0. Use bp4-osd10."
        )
    return channel


def _refuse_large(num_qubits: int, rank: int, num_logicals: int) -> None:
    entries = math.comb(num_qubits, _TABLE_WEIGHT) * 3**_TABLE_WEIGHT
    if rank > 64 or num_logicals > 32 or entries > _MAX_ENTRIES:
        raise ValueError(
            "Listing errors must have at most 64 independent checks, 32 logicals and "
            f"{_MAX_ENTRIES} errors of weight {_TABLE_WEIGHT}: got {rank}, {num_logicals} and "
            f"{entries}. Use bp4-osd10."
        )
