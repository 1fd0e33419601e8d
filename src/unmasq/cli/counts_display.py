"""Counts while they grow (a bar for each point, or a line now and then) and when they are done."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import TaskID

from unmasq.cli.live_display import LiveDisplay

if TYPE_CHECKING:
    from unmasq.evaluation.counts import Counts
    from unmasq.evaluation.failures import Comparison
    from unmasq.evaluation.limits import Limits


class CountsDisplay(LiveDisplay):
    """Errors, shots and the running interval of each point."""

    def __init__(self) -> None:
        super().__init__(bar_width=20)
        self._points: dict[str, TaskID] = {}

    def show(self, counts: "Counts", limits: "Limits", done: bool) -> None:
        """For `collect(watch=...)`."""
        point = counts.point
        name = f"{point.label}, p = {point.p:g}"
        if point.strong_id not in self._points:
            self._points[point.strong_id] = self._bars.add_task(name, total=1.0, facts="")
        share = counts.shots / limits.max_shots
        if limits.max_errors is not None:
            share = max(share, counts.errors / limits.max_errors)
        facts = f"{counts.errors} / {counts.shots}"
        if counts.shots > counts.discards:
            facts += f"  {counts.rate}"
        self._bars.update(
            self._points[point.strong_id], completed=1.0 if done else min(share, 1.0), facts=facts
        )
        if counts.shots:
            self.say_now_and_then(f"{name}: {facts}")


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
