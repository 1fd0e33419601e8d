"""Tables never show a rate without its counts and interval."""

import dataclasses
import io
import json

import numpy as np
from rich.console import Console

from unmasq.decoding.asking import Asking
from unmasq.evaluation.counts import Counts, Point
from unmasq.evaluation.failures import Comparison
from unmasq.evaluation.latency import Latency, StreamLatency, Throughput, Timing
from unmasq.evaluation.statistics import PairedCounts
from unmasq.files.provenance import provenance
from unmasq.report.tables import (
    comparison_record,
    comparisons_table,
    counts_record,
    rates_table,
    timings_table,
)

POINT = Point("bposd-x", "bb72", 0.003, 12, 6, "X", "circuit", "5eed", "f00d", code="bb72")


def printed(table) -> str:
    text = io.StringIO()
    Console(file=text, width=200).print(table)
    return text.getvalue()


def counts(errors: int, discards: int = 0, shots: int = 1000) -> Counts:
    wrong = np.zeros((shots, 12), bool)
    wrong[:errors, 3] = True
    discarded = np.zeros(shots, bool)
    discarded[shots - discards :] = True
    return Counts.of(POINT, 0, wrong, discarded, 2.0)


def test_a_row_has_counts_interval_and_time():
    text = printed(rates_table([counts(17)]))
    for part in ("[[72,12,6]], circuit noise, 6 rounds, basis X", "structure 5eed", "17 / 1000",
                 "1.70 [0.99, 2.71]e-02", "2.85 [1.66, 4.57]e-03", "]e-03"):  # fmt: skip
        assert part in text, text
    assert text.rstrip().endswith(" 2")  # ms a shot
    assert "discarded" not in text


def test_no_errors_are_a_bound_and_discards_a_share():
    text = printed(rates_table([counts(0, discards=250)]))
    assert "0 / 750" in text
    assert "<3.99e-03" in text
    assert "25.00%" in text


def test_shots_that_were_not_timed_have_their_share_of_discards_too():
    untimed = dataclasses.replace(counts(0, discards=250), seconds=0.0)
    text = printed(rates_table([untimed]))
    assert "25.00%" in text
    assert text.splitlines()[-1].rstrip().endswith("-")


def test_a_point_without_shots_has_no_rate():
    assert "0 / 0" in printed(rates_table([Counts(POINT)]))
    assert "rate" not in counts_record(Counts(POINT))


def test_records_are_json_with_null_for_no_estimate():
    record = json.loads(json.dumps(counts_record(counts(0))))
    assert record["rate"]["value"] is None
    assert record["rate"]["upper_bound"] is True
    assert record["errors"] == 0
    assert record["logical_errors"] == [0] * 12
    assert json.loads(json.dumps(counts_record(counts(5))))["logical_errors"][3] == 5


def test_comparisons_show_both_sides():
    other = dataclasses.replace(POINT, decoder="relay-xz")
    comparison = Comparison(POINT, other, PairedCounts(1000, 20, 1, 5))
    text = printed(comparisons_table([comparison]))
    for part in ("bposd-x", "relay-xz", "1000", "20", "0.22"):
        assert part in text
    assert comparison_record(comparison)["second_only"] == 5


def test_tables_tell_dtypes_apart():
    half, whole = (
        dataclasses.replace(POINT, decoder="unmasq-0123", asking=Asking(num_steps=12, dtype=dtype))
        for dtype in ("bfloat16", "float32")
    )
    rows = [dataclasses.replace(counts(5), point=point) for point in (half, whole)]
    pair = Comparison(half, whole, PairedCounts(1000, 20, 1, 5))
    for table in (rates_table(rows), comparisons_table([pair])):
        text = printed(table)
        assert "unmasq-0123 (bfloat16)" in text
        assert "unmasq-0123 (float32)" in text
    assert comparison_record(pair)["dtypes"] == ["bfloat16", "float32"]


def test_provenance_names_version_and_commit():
    assert provenance().startswith("unmasq ")


def test_the_times_of_a_stream_stand_beside_those_of_whole_shots():
    whole = Latency(np.array([0.004, 0.004]))
    stream = StreamLatency(
        Latency(np.array([0.001, 0.001, 0.002])), Latency(np.array([0.003, 0.003]))
    )
    rows = (Throughput(8, 80, 1.0),)
    timings = [
        Timing("unmasq-1", "a GPU", "float32", whole, rows, 1.0, stream),
        Timing("bposd-x", "a CPU", None, whole, rows),
    ]
    console = Console(width=250, record=True, file=io.StringIO())
    console.print(timings_table(timings, "x"))
    ours, other = console.export_text().splitlines()[-2:]
    assert "1, 2; 3, 3" in ours
    assert "; " not in other
