"""Bits of shots in Stim's file formats, read and written without Stim.

| format | a shot is |
| --- | --- |
| b8 | ceil(width / 8) bytes, the first bit lowest |
| 01 | a line of characters 0 and 1 |
| dets | a line "shot", then D or L and the number of each bit that is 1 |
| r8 | a byte for the zeros before each 1, and before a last 1 that ends the shot; 255: and no 1 |
| hits | a line with the numbers of the bits that are 1, with commas |
"""

from pathlib import Path

import numpy as np

from unmasq.files.atomic import read_input, write_whole
from unmasq.suggest import nearest

FORMATS = ("b8", "01", "dets", "r8", "hits")


def require_format(name: str, option: str) -> None:
    """Refuses an unknown format; `option` is what the user knows it by."""
    if name not in FORMATS:
        raise ValueError(
            f"{option} must be one of {', '.join(FORMATS)}: got '{name}'.{nearest(name, FORMATS)}"
        )


def read_shot_file(path: str | Path, file_format: str, width: int, prefix: str = "D") -> np.ndarray:
    """(shots, width) uint8 bits; a file of another width or format is refused.

    In dets files, `prefix` is D for detectors and L for observables. Stim writes both into one
    file: those of the other kind are passed over.
    """
    require_format(file_format, "format")
    data = read_input(path)
    if file_format == "b8":
        return _read_b8(data, path, width)
    if file_format == "r8":
        return _read_r8(data, path, width)
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} must be text to be of format {file_format}: got byte {data[error.start]:#x} "
            f"at {error.start}. Is it b8?"
        ) from error
    *lines, rest = text.replace("\r\n", "\n").split("\n")
    if rest and file_format != "01":  # a line of 01 has a width; of these, a part looks whole
        raise ValueError(
            f"{path} must end with a newline: got {rest[-20:]!r}. Is the last shot cut off?"
        )
    if file_format == "01":
        return _read_01([*lines, *([rest] if rest else [])], path, width)
    if file_format == "hits":
        return _read_hits(lines, path, width)
    return _read_dets(lines, path, width, prefix)


def write_shot_file(
    path: str | Path, file_format: str, bits: np.ndarray, prefix: str = "L"
) -> None:
    """Writes (shots, width) bits, the whole file or nothing."""
    require_format(file_format, "format")
    if file_format == "b8":
        content = np.packbits(bits, axis=1, bitorder="little").tobytes()
    elif file_format == "r8":
        content = b"".join(_runs(shot) for shot in bits)
    elif file_format == "01":
        shots, width = bits.shape
        text = np.full((shots, width + 1), ord("\n"), np.uint8)
        text[:, :width] = np.where(bits, ord("1"), ord("0"))
        content = text.tobytes()
    elif file_format == "hits":
        content = b"".join(f"{','.join(map(str, _ones(shot)))}\n".encode() for shot in bits)
    else:
        lines = [" ".join(["shot", *(f"{prefix}{k}" for k in _ones(shot))]) for shot in bits]
        content = "".join(f"{line}\n" for line in lines).encode()
    write_whole(path, content)


def _ones(shot: np.ndarray) -> list[int]:
    return np.flatnonzero(shot).tolist()


def _runs(shot: np.ndarray) -> bytes:
    """One shot in r8: the zeros before each 1, and before the 1 that ends the shot."""
    places = [-1, *_ones(shot), len(shot)]
    gaps = np.diff(places) - 1
    return b"".join(b"\xff" * (gap // 255) + bytes([gap % 255]) for gap in gaps.tolist())


def _read_r8(data: bytes, path: str | Path, width: int) -> np.ndarray:
    """Zeros and the 1 behind them, byte by byte, laid end to end: the last bit of a shot is 1."""
    runs = np.frombuffer(data, np.uint8).astype(np.int64)
    ends = np.cumsum(runs + (runs < 255))
    total = int(ends[-1]) if len(ends) else 0
    ones = ends[runs < 255] - 1
    flat = np.zeros(-(-total // (width + 1)) * (width + 1), np.uint8)
    flat[ones] = 1
    bits = flat.reshape(-1, width + 1)
    wrong = np.flatnonzero(bits[:, width] == 0)
    if wrong.size:
        raise ValueError(
            f"{path} must end each shot after {width} bits: got none in shot {wrong[0]}. "
            "Is it cut off, or of another circuit or format?"
        )
    return np.ascontiguousarray(bits[:, :width])


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


def _read_hits(lines: list[str], path: str | Path, width: int) -> np.ndarray:
    bits = np.zeros((len(lines), width), np.uint8)
    for number, line in enumerate(lines):
        for word in line.split(",") if line else []:
            if not _is_below(word, width):
                raise ValueError(
                    f"{path}, line {number + 1} must name bits 0 to {width - 1}: got {word[:20]!r}."
                )
            _set(bits, number, int(word), f"{path}, line {number + 1}")
    return bits


def _read_dets(lines: list[str], path: str | Path, width: int, prefix: str) -> np.ndarray:
    other = {"D": "L", "L": "D"}.get(prefix)
    bits = np.zeros((len(lines), width), np.uint8)
    for number, line in enumerate(lines):
        words = line.split()
        where = f"{path}, line {number + 1}"
        if not words or words[0] != "shot":
            raise ValueError(f"{where} must begin with 'shot': got {line[:20]!r}.")
        for word in words[1:]:
            if word[0] == other and word[1:].isdigit():
                continue
            if word[0] != prefix or not _is_below(word[1:], width):
                raise ValueError(
                    f"{where} must name bits {prefix}0 to {prefix}{width - 1}: got {word[:20]!r}."
                )
            _set(bits, number, int(word[1:]), where)
    return bits


def _set(bits: np.ndarray, shot: int, bit: int, where: str) -> None:
    """Stim reads a bit that is named twice as 1 in dets files, and as 0 in hits files."""
    if bits[shot, bit]:
        raise ValueError(f"{where} must name each bit once: got {bit} twice.")
    bits[shot, bit] = 1


def _is_below(digits: str, limit: int) -> bool:
    return digits.isdigit() and len(digits) < 10 and int(digits) < limit
