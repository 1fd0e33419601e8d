"""Bits of shots in Stim's file formats b8, 01 and dets, read and written without Stim.

| format | a shot is |
| --- | --- |
| b8 | ceil(width / 8) bytes, the first bit lowest |
| 01 | a line of characters 0 and 1 |
| dets | a line "shot", then D or L and the number of each bit that is 1 |
"""

from pathlib import Path

import numpy as np

from unmasq.files.atomic import write_whole
from unmasq.suggest import nearest

FORMATS = ("b8", "01", "dets")


def require_format(name: str, option: str) -> None:
    """Refuses an unknown format; `option` is what the user knows it by."""
    if name not in FORMATS:
        raise ValueError(
            f"{option} must be one of {', '.join(FORMATS)}: got '{name}'.{nearest(name, FORMATS)}"
        )


def read_shot_file(path: str | Path, file_format: str, width: int, prefix: str = "D") -> np.ndarray:
    """(shots, width) uint8 bits; a file of another width or format is refused.

    In dets files, `prefix` is D for detectors and L for observables; other bits are refused.
    """
    require_format(file_format, "format")
    data = Path(path).read_bytes()
    if file_format == "b8":
        return _read_b8(data, path, width)
    try:
        lines = data.decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} must be text to be of format {file_format}: got byte {data[error.start]:#x} "
            f"at {error.start}. Is it b8?"
        ) from error
    if file_format == "01":
        return _read_01(lines, path, width)
    return _read_dets(lines, path, width, prefix)


def write_shot_file(
    path: str | Path, file_format: str, bits: np.ndarray, prefix: str = "L"
) -> None:
    """Writes (shots, width) bits, the whole file or nothing."""
    require_format(file_format, "format")
    if file_format == "b8":
        content = np.packbits(bits, axis=1, bitorder="little").tobytes()
    elif file_format == "01":
        shots, width = bits.shape
        text = np.full((shots, width + 1), ord("\n"), np.uint8)
        text[:, :width] = np.where(bits, ord("1"), ord("0"))
        content = text.tobytes()
    else:
        lines = [
            " ".join(["shot", *(f"{prefix}{k}" for k in np.flatnonzero(shot))]) for shot in bits
        ]
        content = "".join(f"{line}\n" for line in lines).encode()
    write_whole(path, content)


def _read_b8(data: bytes, path: str | Path, width: int) -> np.ndarray:
    size = -(-width // 8)
    if size == 0 or len(data) % size:
        raise ValueError(
            f"{path} must hold {size} bytes for each shot of {width} bits: got {len(data)} bytes, "
            f"{len(data) % max(size, 1)} left over. Is it cut off, or of another circuit?"
        )
    packed = np.frombuffer(data, np.uint8).reshape(-1, size)
    bits = np.unpackbits(packed, axis=1, bitorder="little")
    padding = np.argwhere(bits[:, width:])
    if padding.size:
        raise ValueError(
            f"{path} must have 0 in the {8 * size - width} unused bits of a shot of {width} bits: "
            f"got 1 in shot {padding[0, 0]}. Is it of another circuit or format?"
        )
    return np.ascontiguousarray(bits[:, :width])


def _read_01(lines: list[str], path: str | Path, width: int) -> np.ndarray:
    for number, line in enumerate(lines, 1):
        if len(line) != width or line.strip("01"):
            found = f"{len(line)} characters" if len(line) != width else repr(line.strip("01")[:9])
            raise ValueError(
                f"{path}, line {number} must have {width} characters 0 or 1: got {found}."
            )
    characters = np.frombuffer("".join(lines).encode(), np.uint8)
    return (characters - ord("0")).reshape(len(lines), width)


def _read_dets(lines: list[str], path: str | Path, width: int, prefix: str) -> np.ndarray:
    bits = np.zeros((len(lines), width), np.uint8)
    for number, line in enumerate(lines):
        words = line.split()
        where = f"{path}, line {number + 1}"
        if not words or words[0] != "shot":
            raise ValueError(f"{where} must begin with 'shot': got {line[:20]!r}.")
        for word in words[1:]:
            index = word[1:]
            if word[0] != prefix or not index.isdigit() or int(index) >= width:
                raise ValueError(
                    f"{where} must name bits {prefix}0 to {prefix}{width - 1}: got {word[:20]!r}."
                )
            bits[number, int(index)] ^= 1
    return bits
