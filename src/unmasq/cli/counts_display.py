"""Counts while they grow (a bar for each point, or a line now and then) and when they are done."""

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

if TYPE_CHECKING:
    from unmasq.evaluation.counts import Counts
    from unmasq.evaluation.failures import Comparison
    from unmasq.evaluation.limits import Limits

PLAIN_SECONDS = 10.0


class CountsDisplay:
    """Shows errors, shots and the running interval on stderr."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bars: dict[str, TaskID] = {}
        self._last_line = time.monotonic()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[facts]}"),
            console=self._console,
            disable=not self._console.is_terminal,
        )

    def __enter__(self) -> "CountsDisplay":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, counts: "Counts", limits: "Limits", done: bool) -> None:
        """For `collect(watch=...)`."""
        point = counts.point
        name = f"{point.label}, p = {point.p:g}"
        if point.strong_id not in self._bars:
            self._bars[point.strong_id] = self._progress.add_task(name, total=1.0, facts="")
        share = counts.shots / limits.max_shots
        if limits.max_errors is not None:
            share = max(share, counts.errors / limits.max_errors)
        facts = f"{counts.errors} / {counts.shots}"
        if counts.shots > counts.discards:
            facts += f"  {counts.rate}"
        self._progress.update(
            self._bars[point.strong_id], completed=1.0 if done else min(share, 1.0), facts=facts
        )
        quiet = time.monotonic() - self._last_line < PLAIN_SECONDS
        if not self._console.is_terminal and counts.shots and not quiet:
            self._last_line = time.monotonic()
            self._console.print(f"{name}: {facts}", highlight=False, soft_wrap=True)


def print_counts(
    counts: "Sequence[Counts]", comparisons: "Sequence[Comparison]", json_output: bool
) -> None:
    """Rates and comparisons on stdout: tables, or one record."""
    from unmasq.files.provenance import provenance
    from unmasq.report.tables import (
        comparison_record,
        comparisons_table,
        counts_record,
        rates_table,
    )

    if json_output:
        record = {
            "made_by": provenance(),
            "counts": [counts_record(c) for c in counts],
            "comparisons": [comparison_record(c) for c in comparisons],
        }
        print(json.dumps(record))
        return
    console = Console(width=max(Console().width, 140))  # cells are never broken
    ordered = sorted(counts, key=lambda c: c.point.p)
    console.print(rates_table(ordered), highlight=False)
    if comparisons:
        console.print()
        console.print(comparisons_table(comparisons), highlight=False)
    console.print(f"\n{provenance()}", highlight=False)
