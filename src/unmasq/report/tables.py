"""Counts as tables for people and as records for programs.

A rate never stands alone: errors, shots and the 95 % interval are beside it, and no errors is an
upper bound.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from rich.table import Table

from unmasq.evaluation.counts import Counts
from unmasq.evaluation.failures import Comparison
from unmasq.evaluation.latency import Timing
from unmasq.evaluation.statistics import Rate
from unmasq.report.names import problem_label

# Columns of one number each.
_NUMBERS = {"p", "errors / shots", "discarded", "ms a shot"}
_NUMBERS |= {"shots", "both fail", "only A fails", "only B fails", "p-value"}
_NUMBERS |= {"p50", "p99", "max", "mean", "calls", "steps"}


def rates_table(counts: Sequence[Counts]) -> Table:
    """One row for each decoder and p."""
    with_discards = any(c.discards for c in counts)
    intervals = ("per shot [95 %]", "per round [95 %]", "per logical [95 %]")
    discards = ("discarded",) if with_discards else ()
    columns = ("p", "decoder", "errors / shots", *intervals, *discards, "ms a shot")
    table = _table(_title(counts), columns)
    for c in counts:
        kept = c.shots - c.discards
        rates = (c.rate, c.rate_per_round, c.rate_per_logical) if kept else (None,) * 3
        cells = [
            f"{c.point.p:g}",
            c.point.label,
            f"{c.errors} / {kept}",
            *(str(rate) if rate is not None else "-" for rate in rates),
        ]
        if with_discards:
            cells.append(f"{c.discards / c.shots:.2%}" if c.shots else "-")
        cells.append(f"{1e3 * c.seconds / c.shots:.3g}" if c.seconds else "-")
        table.add_row(*cells)
    return table


def comparisons_table(comparisons: Sequence[Comparison]) -> Table:
    """McNemar's counts: on how many common shots only one of two decoders failed."""
    counted = ("shots", "both fail", "only A fails", "only B fails")
    table = _table("On the same shots", ("p", "A", "B", *counted, "p-value"))
    for comparison in comparisons:
        paired = comparison.paired
        table.add_row(
            f"{comparison.first.p:g}",
            comparison.first.label,
            comparison.second.label,
            *map(str, dataclasses.astuple(paired)),
            f"{paired.p_value:.2g}",
        )
    return table


def timings_table(timings: Sequence[Timing], title: str) -> Table:
    """Latency and throughput of each decoder, and how fast it is beside the first baseline."""
    ratios = speed_ratios(timings)
    streams = any(timing.stream for timing in timings)
    columns = ["decoder", "p50", "p99", "max", "mean", "calls", "shots a second (batch)", "steps"]
    if ratios:
        columns.append(f"speed / {ratios['reference']}: single, batched")
    if streams:
        columns.append("stream: a frame, last frame to answer (p50, p99)")
    heading = f"{title}: batch 1 in ms; compilation and warm-up are not included"
    table = _table(heading, [*columns, "on"])
    for timing in timings:
        latency = timing.latency.record
        cells = [timing.decoder]
        cells += [f"{latency[f'{name}_ms']:.3g}" for name in ("p50", "p99", "max", "mean")]
        cells.append(str(latency["calls"]))
        cells.append(
            "  ".join(f"{t.shots / t.seconds:.3g} ({t.batch})" for t in timing.throughputs)
        )
        cells.append("-" if timing.mean_steps is None else f"{timing.mean_steps:.3g}")
        if ratios:
            ratio = ratios["decoders"][timing.decoder]
            cells.append(f"{ratio['single']:.3g}, {ratio['batched']:.3g}")
        if streams:
            cells.append(_stream_cell(timing))
        cells.append(", ".join(filter(None, [timing.device, timing.dtype])))
        table.add_row(*cells)
    return table


def _table(title: str, columns: Iterable[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="", box=None)
    for name in columns:
        table.add_column(name, justify="right" if name in _NUMBERS else "left")
    return table


def _stream_cell(timing: Timing) -> str:
    if timing.stream is None:
        return "-"
    pairs = (
        ", ".join(f"{1e3 * latency.quantile(share):.3g}" for share in (0.5, 0.99))
        for latency in (timing.stream.push, timing.stream.finish)
    )
    return "; ".join(pairs)


def speed_ratios(timings: Sequence[Timing]) -> dict[str, Any]:
    """How many times the speed of the first baseline: mean latency, and best throughput."""
    reference = next((t for t in timings if t.mean_steps is None), None)
    if reference is None or len(timings) == 1:
        return {}

    def best(timing: Timing) -> float:
        return max(t.shots / t.seconds for t in timing.throughputs)

    def single(timing: Timing) -> float:
        return 1 / float(timing.latency.seconds.mean())

    return {
        "reference": reference.decoder,
        "decoders": {
            t.decoder: {
                "single": single(t) / single(reference),
                "batched": best(t) / best(reference),
            }
            for t in timings
        },
    }


def counts_record(counts: Counts) -> dict[str, Any]:
    """Everything behind one row, for JSON."""
    kept = counts.shots - counts.discards
    record: dict[str, Any] = {
        "decoder": counts.point.decoder,
        **counts.point.metadata,
        "shots": counts.shots,
        "errors": counts.errors,
        "discards": counts.discards,
        "logical_errors": list(counts.logical_errors),
        "seconds": round(counts.seconds, 6) or None,  # null where not all shots were timed
    }
    if kept:
        record["rate"] = rate_record(counts.rate)
        record["rate_per_logical"] = rate_record(counts.rate_per_logical)
        per_round = counts.rate_per_round
        record["rate_per_round"] = rate_record(per_round) if per_round is not None else None
    return record


def comparison_record(comparison: Comparison) -> dict[str, Any]:
    """One row of McNemar's counts, for JSON."""
    return {
        "p": comparison.first.p,
        "first": comparison.first.decoder,
        "second": comparison.second.decoder,
        "dtypes": [comparison.first.dtype, comparison.second.dtype],
        **dataclasses.asdict(comparison.paired),
        "p_value": comparison.paired.p_value,
    }


def rate_record(rate: Rate) -> dict[str, Any]:
    """`value` is null where nothing failed: then `high` is a one-sided bound."""
    value = None if rate.is_bound else rate.value
    return {"value": value, "low": rate.low, "high": rate.high, "upper_bound": rate.is_bound}


def _title(counts: Sequence[Counts]) -> str:
    if not counts:
        return "No counts"
    point = counts[0].point
    return (
        f"{problem_label(point)}  (structure {point.structure_id}, seed {point.seed}; "
        "a shot fails with any logical wrong)"
    )
