"""Batches of few different sizes, and the packed bits of the Stim and sinter edges."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint8]


def packed_width(num_bits: int) -> int:
    """Bytes that hold this many bits."""
    return (num_bits + 7) // 8


def padded_size(shots: int) -> int:
    """The next power of two: a compiled function exists for few sizes.

    >>> [padded_size(shots) for shots in (1, 2, 3, 700)]
    [1, 2, 4, 1024]
    """
    return 1 << (shots - 1).bit_length()


def cut(shots: int, max_batch: int) -> Iterator[slice]:
    """Batches of at most `max_batch` shots.

    >>> list(cut(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, shots, max_batch):
        yield slice(start, min(start + max_batch, shots))


def pad(shots: np.ndarray, size: int) -> np.ndarray:
    """The batch at `size` shots; copies of the first fill it up.

    A copy never takes more unmasking steps than the shots of the batch do.
    """
    missing = size - len(shots)
    if missing <= 0:
        return shots
    return np.concatenate([shots, np.broadcast_to(shots[:1], (missing, shots.shape[1]))])


def read_shots(shots: np.ndarray, num_detectors: int, bit_packed: bool) -> Bits:
    """Syndromes as (B, M) bits; anything that cannot be meant is refused."""
    if bit_packed:
        return _unpack(np.asarray(shots), num_detectors)
    return check_syndromes(shots, num_detectors)


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
        hint = (
            f"That is the width of {num_detectors} packed bits: unpack them with "
            f"np.unpackbits(syndromes, axis=1, count={num_detectors}, bitorder='little')."
            if width == packed_width(num_detectors)
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


def pack(bits: Bits) -> Bits:
    """(B, n) bits to (B, ceil(n / 8)) bytes, little-endian."""
    return np.packbits(bits, axis=1, bitorder="little")


def _unpack(shots: np.ndarray, num_detectors: int) -> Bits:
    width = packed_width(num_detectors)
    if shots.dtype != np.uint8:
        raise TypeError(
            f"packed syndromes must be uint8: got {shots.dtype}. "
            "Pass unpacked ones with bit_packed_shots=False."
        )
    if shots.ndim != 2 or shots.shape[1] != width:
        hint = (
            " That is the width of unpacked ones: pass them with bit_packed_shots=False."
            if shots.ndim == 2 and shots.shape[1] == num_detectors
            else ""
        )
        raise ValueError(
            f"packed syndromes must have shape (shots, {width}) for {num_detectors} detectors: "
            f"got {shots.shape}.{hint}"
        )
    unused = 8 * width - num_detectors
    if unused and len(shots):
        spilled = np.flatnonzero(shots[:, -1] >> (8 - unused))
        if spilled.size:
            raise ValueError(
                f"packed syndromes must be 0 past detector {num_detectors - 1}: got "
                f"syndromes[{spilled[0]}, {width - 1}] = {shots[spilled[0], -1]}. "
                "Bits are packed little-endian: np.packbits(..., axis=1, bitorder='little')."
            )
    return np.unpackbits(shots, axis=1, count=num_detectors, bitorder="little")
