"""Answers to syndromes that were decoded before: at low error rates most shots repeat one.

A decoder that answers by the syndrome alone need see each only once.
"""

import itertools
from collections.abc import Callable

import numpy as np

Answers = tuple[np.ndarray, np.ndarray]  # (B, K) bits and (B,) discarded flags

MAX_ENTRIES = 250_000  # about 50 MB a process; later syndromes are decoded each time


class Remembered:
    """A decoding function with a memory, in place of the function."""

    def __init__(
        self, decode: Callable[[np.ndarray], Answers], max_entries: int = MAX_ENTRIES
    ) -> None:
        self._decode = decode
        self._max_entries = max_entries
        self._known: dict[bytes, np.ndarray] = {}  # K bits and the flag

    def __call__(self, syndromes: np.ndarray) -> Answers:
        """As the function itself, which sees every new syndrome once."""
        packed = np.packbits(syndromes, axis=1)
        _, first, inverse = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        keys = [packed[i].tobytes() for i in first]
        new = [i for i, key in enumerate(keys) if key not in self._known]
        fresh: dict[bytes, np.ndarray] = {}
        if new:
            rows = np.column_stack(self._decode(syndromes[first[new]]))
            fresh = {keys[i]: row for i, row in zip(new, rows, strict=True)}
        different = np.stack([fresh[k] if k in fresh else self._known[k] for k in keys])
        room = self._max_entries - len(self._known)
        self._known.update(itertools.islice(fresh.items(), room))
        answers = different[inverse.reshape(-1)]
        return answers[:, :-1], answers[:, -1] != 0
