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


def check_syndromes(syndromes: np.ndarray, num_detectors: int) -> np.ndarray:
    """The syndromes as uint8 (B, M), refused where width, type or values are wrong.

    Booleans and integers of any size are taken.
    """
    syndromes = np.asarray(syndromes)
    if syndromes.ndim != 2:
        raise ValueError(
            f"syndromes must have shape (shots, {num_detectors}): got shape {syndromes.shape}. "
            "Pass a single shot as syndrome[None]."
        )
    width = syndromes.shape[1]
    if width != num_detectors:
        packed = (num_detectors + 7) // 8
        hint = (
            f"That is the width of {num_detectors} packed bits: unpack them with "
            f"np.unpackbits(syndromes, axis=1, count={num_detectors}, bitorder='little')."
            if width == packed
            else "Were they sampled from the circuit of this problem?"
        )
        raise ValueError(
            f"syndromes must have the decoder's {num_detectors} columns, one for each detector: "
            f"got {width}. {hint}"
        )
    if syndromes.dtype != np.bool_ and not np.issubdtype(syndromes.dtype, np.integer):
        raise TypeError(
            f"syndromes must be booleans or integers: got {syndromes.dtype}. "
            "Convert bits with .astype(np.uint8)."
        )
    if syndromes.dtype != np.bool_:
        wrong = (syndromes != 0) & (syndromes != 1)
        if wrong.any():
            shot, detector = np.argwhere(wrong)[0]
            raise ValueError(
                "syndromes must hold only 0 and 1: got "
                f"syndromes[{shot}, {detector}] = {syndromes[shot, detector]}."
            )
    return syndromes.astype(np.uint8, copy=False)
