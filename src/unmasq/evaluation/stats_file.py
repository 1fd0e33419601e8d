"""Counts in sinter's CSV format: read, resumed and appended to without sinter.

Every row covers consecutive shots of one point. Its custom counts hold the sum of the shots'
numbers, which gives back the first shot of the row, and which `sinter combine` adds up correctly:
shots that were counted twice no longer fit their sum. The rows of one point, in any order, cover
the shots 0, 1, 2, ... of its seed, so the number of shots alone says which shots they were.

Rows of other programs are left alone.
"""

import csv
import fcntl
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

from unmasq.evaluation.counts import Counts, Point
from unmasq.evaluation.failures import Flags, failures_path, flags_line

COLUMNS = (
    "shots",
    "errors",
    "discards",
    "seconds",
    "decoder",
    "strong_id",
    "json_metadata",
    "custom_counts",
)


class StatsFile:
    """A CSV open for appending, by one run at a time.

    Opening it drops a last line that was cut off by a crash. `append` writes and flushes to disk
    the flags first and the counts second, so that counted shots always have their flags.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            self._lock()
            known = read_counts(self.path)  # first: a file that is refused stays as it is
            _drop_cut_off_line(self._file, self.path)
            if os.fstat(self._file).st_size == 0:
                _append(self._file, _HEADER)
            self._counts = {counts.point.strong_id: counts for counts in known}
            flags_path = failures_path(self.path)
            self._flags = os.open(flags_path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            _end_line(self._flags)
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> "StatsFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the lock back."""
        os.close(self._flags)
        os.close(self._file)

    def counts(self, point: Point) -> Counts:
        """What the file holds for the point so far."""
        return self._counts.get(point.strong_id, Counts(point))

    def append(self, counts: Counts, flags: Flags) -> None:
        """Adds one row; the shots must follow those of the file."""
        total = self.counts(counts.point) + counts
        _ = total.next_shot
        ((first, _stop),) = counts.ranges
        try:
            _append(self._flags, flags_line(counts.point.strong_id, first, flags))
            _append(self._file, _row(counts))
        except OSError as error:
            raise OSError(
                f"{self.path} must be writable: {error.strerror}. "
                "All rows before are kept: make room, and the same command goes on."
            ) from error
        self._counts[counts.point.strong_id] = total

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ValueError(
                f"{self.path} must have one writer: got another run that is writing it. "
                "Wait for it, or save to another file."
            ) from error


def read_counts(*paths: str | Path) -> list[Counts]:
    """The counts of each point, summed over files; shots that occur twice are refused.

    A cut-off last line, as a crash leaves it, is passed over. Rows of other programs too.
    """
    totals: dict[str, Counts] = {}
    for path in paths:
        for where, row in _rows(Path(path)):
            counts = _counts_of_row(row, where)
            if counts is None:
                continue
            key = counts.point.strong_id
            try:
                totals[key] = totals[key] + counts if key in totals else counts
            except ValueError as error:
                raise ValueError(f"{where}, {counts.point.decoder}: {error}") from error
    return list(totals.values())


def _cells(line: str, where: str) -> list[str]:
    """The columns of a line."""
    try:
        (cells,) = csv.reader([line])
    except (csv.Error, ValueError) as error:
        raise ValueError(f"{where} must be a row of a CSV: {error}.") from error
    return [cell.strip() for cell in cells]


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Where each row stands, for messages, and its cells by column."""
    lines = path.read_bytes().split(b"\n")
    if lines[-1] and not _is_whole(lines[-1]):
        lines.pop()
    text = [line.decode(errors="replace") for line in lines if line]
    if not text:
        return
    names = _column_names(text[0], path)
    for number, line in enumerate(text[1:], 2):
        where = f"{path}, line {number}"
        cells = _cells(line, where)
        if len(cells) != len(names):
            raise ValueError(
                f"{where} must have {len(names)} columns: got {len(cells)}. Remove that line."
            )
        yield where, dict(zip(names, cells, strict=True))


def _column_names(header: str, path: Path) -> list[str]:
    names = _cells(header, f"{path}, line 1")
    if not set(COLUMNS[:-1]) <= set(names):
        raise ValueError(
            f"{path} must be a CSV of sinter, with columns {','.join(COLUMNS)}: got "
            f"{header[:60]!r}. Name another file."
        )
    return names


def _counts_of_row(row: dict[str, str], where: str) -> Counts | None:
    """None for a row that another program wrote."""
    try:
        metadata = json.loads(row["json_metadata"])
        if not isinstance(metadata, dict) or "structure_id" not in metadata:
            return None
        if not row["decoder"].isprintable():
            raise ValueError(f"decoder must be a printable name: got {row['decoder'][:40]!r}.")
        point = Point.from_metadata(row["decoder"], metadata)
        custom = json.loads(row.get("custom_counts") or "{}")
        shots = int(row["shots"])
        return Counts(
            point,
            (_range(shots, custom.get("shot_number_sum", 0)),) if shots else (),
            int(row["errors"]),
            int(row["discards"]),
            tuple(custom.get(f"wrong_L{k}", 0) for k in range(point.num_logicals)),
            custom.get("wrong_logicals_squared", 0),
            float(row["seconds"]),
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{where} must be a row of unmasq's counts: {error}") from error


def _row(counts: Counts) -> bytes:
    ((first, stop),) = counts.ranges
    custom = {
        "shot_number_sum": (first + stop - 1) * (stop - first) // 2,
        "wrong_logicals_squared": counts.squared_errors,
        **{f"wrong_L{k}": wrong for k, wrong in enumerate(counts.logical_errors)},
    }
    # Zero means that they were not timed: a short time must not round to it.
    seconds = max(counts.seconds, 0.001) if counts.seconds else 0.0
    told = (counts.point.metadata, {key: count for key, count in custom.items() if count})
    return _line(
        *(f"{count:>10}" for count in (counts.shots, counts.errors, counts.discards)),
        f"{seconds:>8.3f}",
        counts.point.decoder,
        counts.point.strong_id,
        *(json.dumps(facts, separators=(",", ":"), sort_keys=True) for facts in told),
    )


def _range(shots: int, number_sum: int) -> tuple[int, int]:
    """The consecutive shots with that sum of numbers."""
    first, rest = divmod(2 * number_sum - shots * (shots - 1), 2 * shots)
    if first < 0 or rest:
        raise ValueError(
            "shots must be consecutive and counted once: got numbers that add up to "
            f"{number_sum} for {shots} shots. Were files with the same shots combined?"
        )
    return first, first + shots


def _line(*cells: str) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()


_HEADER = _line(*(f"{name:>10}" for name in COLUMNS[:3]), f"{COLUMNS[3]:>8}", *COLUMNS[4:])


def _drop_cut_off_line(file: int, path: Path) -> None:
    """Cuts the file behind its last whole line. Other files stay untouched."""
    content = os.pread(file, os.fstat(file).st_size, 0)
    kept = content.rfind(b"\n") + 1
    if content and not _HEADER.startswith(content):
        _column_names(content.split(b"\n")[0].decode(errors="replace"), path)
    if _is_whole(content[kept:]):
        _append(file, b"\n")
    elif content[kept:]:
        os.ftruncate(file, kept)
        os.fsync(file)


def _is_whole(line: bytes) -> bool:
    """Whether a line without its line end holds all columns of a row or of the header."""
    try:
        (cells,) = csv.reader([line.decode()], strict=True)
        if [cell.strip() for cell in cells] == list(COLUMNS):
            return True
        json.loads(cells[6])
        json.loads(cells[7].strip() or "{}")
        return len(cells) == len(COLUMNS) and cells[0].strip().isdigit()
    except (ValueError, IndexError, csv.Error):
        return False


def _end_line(file: int) -> None:
    """Ends a line that a crash cut off, so that the next one starts a line of its own."""
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        _append(file, b"\n")


def _append(file: int, data: bytes) -> None:
    """Writes the data whole and to disk; on a full disk the file keeps its old end."""
    size = os.fstat(file).st_size
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
    except OSError:
        os.ftruncate(file, size)
        raise
