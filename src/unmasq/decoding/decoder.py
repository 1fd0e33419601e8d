"""What every decoder offers, ours and the baselines: a batch of syndromes in, logicals out.

Bits are unpacked here; bit-packing belongs to the sinter and file edges.
"""

from typing import Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class Decoder(Protocol):
    """Predicts the flipped logicals of each shot; the prediction of a shot depends on it alone."""

    @property
    def name(self) -> str:
        """As written into result files, e.g. "bposd-x"."""
        ...

    @property
    def num_detectors(self) -> int: ...

    @property
    def num_logicals(self) -> int: ...

    def decode_batch(self, syndromes: np.ndarray) -> np.ndarray:
        """(B, M) bits to (B, K) uint8 bits, in the order of the shots; B may be 0."""
        ...
