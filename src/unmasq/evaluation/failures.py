"""Which shots failed, kept beside a CSV of counts: one JSON line for each stretch of shots.

Counts alone cannot say whether two decoders fail on the same shots; these flags can, also when the
decoders ran on different machines. A line holds its flags as packed bits, compressed: 16,384 shots
with one failure take about 60 bytes.
"""

import base64
import dataclasses
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unmasq.evaluation.counts import Counts, Point
from unmasq.evaluation.statistics import PairedCounts


@dataclasses.dataclass(frozen=True, eq=False)
class Flags:
    """Failed and discarded shots of one point, from shot 0 on."""

    failed: np.ndarray  # (shots,) bool; a discarded shot has not failed
    discarded: np.ndarray  # (shots,) bool


def failures_path(stats_path: str | Path) -> Path:
    """results/stats.csv has its flags in results/stats.failures.jsonl."""
    return Path(stats_path).with_suffix(".failures.jsonl")


def flags_line(strong_id: str, first_shot: int, flags: Flags) -> bytes:
    """One line of the file: the flags of consecutive shots."""
    record: dict[str, Any] = {
        "strong_id": strong_id,
        "first": first_shot,
        "shots": len(flags.failed),
        "failed": _packed(flags.failed),
    }
    if flags.discarded.any():
        record["discarded"] = _packed(flags.discarded)
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def read_flags(stats_path: str | Path, counts: Counts) -> Flags:
    """The flags behind counts that were read from `stats_path`.

    A run that was killed between the two files leaves flags of shots it did not count: those are
    cut off here, and a resumed run writes the same ones again.
    """
    path = failures_path(stats_path)
    shots = counts.next_shot
    failed, discarded = np.zeros(shots, bool), np.zeros(shots, bool)
    known = np.zeros(shots, bool)
    own = counts.point.strong_id.encode()
    for line in path.read_bytes().splitlines() if path.exists() else ():
        record = _parsed(line) if own in line else None  # flags of others are not unpacked
        if record is None or record.get("strong_id") != counts.point.strong_id:
            continue
        first, length = record["first"], record["shots"]
        here = slice(first, first + length)
        take = max(min(shots - first, length), 0)
        failed[here] = record["failed"][:take]
        discarded[here] = record["discarded"][:take]
        known[here] = True
    if not known.all() or int(failed.sum()) != counts.errors:
        raise ValueError(
            f"{path} must hold the {counts.errors} failures of {counts.point.decoder} on {shots} "
            f"shots: got {int(failed.sum())} on {int(known.sum())}. Keep it beside its CSV."
        )
    return Flags(failed, discarded)


def paired_counts(first: Flags, second: Flags) -> PairedCounts:
    """McNemar's table on the shots that both decoded and neither discarded."""
    common = min(len(first.failed), len(second.failed))
    kept = ~(first.discarded[:common] | second.discarded[:common])
    return PairedCounts.from_failures(first.failed[:common][kept], second.failed[:common][kept])


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Two decoders on common shots."""

    first: Point
    second: Point
    paired: PairedCounts


def compare(reference: str, sources: Sequence[tuple[str | Path, Counts]]) -> list[Comparison]:
    """The decoder named `reference` against every other one that saw the same shots.

    `sources` are counts with the CSVs they were read from, of one machine or several.
    """
    flags = {id(counts): read_flags(path, counts) for path, counts in sources if counts.shots}
    return [
        Comparison(one.point, other.point, paired_counts(flags[id(one)], flags[id(other)]))
        for _, one in sources
        if one.point.decoder == reference and one.shots
        for _, other in sources
        if other is not one and other.shots and other.point.shots_id == one.point.shots_id
    ]


def _packed(bits: np.ndarray) -> str:
    return base64.b64encode(
        zlib.compress(np.packbits(bits, bitorder="little").tobytes(), 9)
    ).decode()


def _unpacked(text: str, length: int) -> np.ndarray:
    data = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    if len(data) != -(-length // 8):
        raise ValueError(f"flags must be those of {length} shots: got {len(data)} bytes.")
    return np.unpackbits(data, count=length, bitorder="little").astype(bool)


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The record of a line with its flags, or None for one that was cut off or altered."""
    try:
        record = json.loads(line)
        first, length = record["first"], record["shots"]
        if type(first) is not int or type(length) is not int or min(first, length) < 0:
            return None
        failed = _unpacked(record["failed"], length)
        none = np.zeros(length, bool)
        discarded = _unpacked(record["discarded"], length) if "discarded" in record else none
        return {**record, "failed": failed, "discarded": discarded}
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError, zlib.error):
        return None
