"""Figures as files: whole or not at all, the same bytes each time, with their numbers inside."""

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from unmasq.evaluation.counts import Counts
from unmasq.files.atomic import write_whole

# Letters stay letters in a PDF, and a file is the same bytes however often it is drawn.
_FILE_SETTINGS: Any = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.hashsalt": "unmasq"}


def check_figure_path(path: str | Path) -> str:
    """The format that a file's ending names; an unknown one is refused before any work."""
    file_format = Path(path).suffix.removeprefix(".").lower() or "png"
    known = Figure().canvas.get_supported_filetypes()
    if file_format not in known:
        raise ValueError(f"figure must end in one of .{', .'.join(known)}: got {path}.")
    return file_format


def save_figure(figure: Figure, path: str | Path, numbers: str | None = None) -> None:
    """Writes the whole file or nothing; `numbers` is kept in the file, where its format can."""
    file_format = check_figure_path(path)
    notes: dict[str, dict[str, str | None]] = {
        "png": {"Description": numbers},
        "svg": {"Description": numbers, "Date": None},
        "pdf": {"Subject": numbers, "CreationDate": None},
    }
    content = io.BytesIO()
    with matplotlib.rc_context(_FILE_SETTINGS):
        metadata = notes.get(file_format)
        figure.savefig(content, format=file_format, dpi=150, metadata=metadata)
    write_whole(path, content.getvalue())


def numbers_of(counts: Iterable[Counts]) -> str:
    """What a figure shows, as JSON: [decoder, p, errors, shots kept] of each point."""
    rows = [
        [c.point.decoder, c.point.p, c.errors, c.shots - c.discards]
        for c in sorted(counts, key=lambda c: (c.point.decoder, c.point.p))
    ]
    return json.dumps(rows)
