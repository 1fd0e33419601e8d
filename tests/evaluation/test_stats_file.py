"""The CSV: sinter reads it, crashes do not spoil it, and nothing in it counts twice."""

import csv
import dataclasses
import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sinter

from unmasq.decoding.asking import Asking
from unmasq.evaluation import stats_file
from unmasq.evaluation.counts import Counts, Point
from unmasq.evaluation.failures import Flags, failures_path, paired_counts, read_flags
from unmasq.evaluation.stats_file import StatsFile, read_counts

POINT = Point(
    "unmasq-0123abcd,T=3",
    "bb18",
    0.003,
    9,
    4,
    "X",
    "circuit",
    "5eed",
    "f00d",
    code="bb18",
    model_hash="0123abcd" * 4,
    asking=Asking(3, None, 1, False, 1, None, "float32"),
)
OTHER = dataclasses.replace(POINT, decoder="bposd-x", model_hash=None, asking=None)


def results(seed: int, shots: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return generator.random((shots, 9)) < 0.01, generator.random(shots) < 0.02


def append(file: StatsFile, point: Point, wrong: np.ndarray, discarded: np.ndarray, size: int):
    for first in range(file.counts(point).next_shot, len(wrong), size):
        piece = slice(first, first + size)
        flags = Flags(wrong[piece].any(1) & ~discarded[piece], discarded[piece])
        file.append(Counts.of(point, first, wrong[piece], discarded[piece], 0.25), flags)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "results" / "stats.csv"
    with StatsFile(path) as file:
        append(file, POINT, *results(0), size=300)
        append(file, OTHER, *results(1, 500), size=64)
    return path


def test_counts_come_back(path):
    wrong, discarded = results(0)
    first, second = read_counts(path)
    assert first == dataclasses.replace(Counts.of(POINT, 0, wrong, discarded, 1.0))
    assert second.point == OTHER
    assert second.ranges == ((0, 500),)


def test_sinter_reads_the_same_counts(path):
    by_id = {stats.strong_id: stats for stats in sinter.read_stats_from_csv_files(path)}
    for counts in read_counts(path):
        stats = by_id[counts.point.strong_id]
        assert stats.shots == counts.shots
        assert stats.errors == counts.errors
        assert stats.discards == counts.discards
        assert stats.seconds == pytest.approx(counts.seconds)
        assert stats.decoder == counts.point.decoder
        assert stats.json_metadata["p"] == 0.003
        assert stats.json_metadata["rounds"] == 4
        assert stats.json_metadata["structure_id"] == "5eed"
        assert stats.custom_counts["wrong_L8"] == counts.logical_errors[8]


def test_lines_are_those_that_sinter_writes(path):
    lines = path.read_text().splitlines()
    assert lines[0] == sinter.CSV_HEADER
    for line in lines[1:]:
        stats = sinter.read_stats_from_csv_files(iter([lines[0], line]))[0]
        assert line == stats.to_csv_line()


def test_sinter_combine_keeps_the_counts(path, tmp_path):
    combined = tmp_path / "combined.csv"
    command = [str(Path(sys.executable).parent / "sinter"), "combine", str(path)]
    combined.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
    assert len(combined.read_text().splitlines()) == 3
    assert sorted(read_counts(combined), key=str) == sorted(read_counts(path), key=str)
    with StatsFile(combined) as file:
        assert file.counts(POINT).next_shot == 1000


def test_shots_that_were_combined_twice_are_refused(path, tmp_path):
    combined = tmp_path / "combined.csv"
    command = [str(Path(sys.executable).parent / "sinter"), "combine", str(path), str(path)]
    combined.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
    with pytest.raises(ValueError, match="consecutive and counted once"):
        read_counts(combined)
    with pytest.raises(ValueError, match=r"stats\.csv, line 2, unmasq-.*got 0\.\.299 twice"):
        read_counts(path, path)


def test_a_row_is_refused_where_shots_are_missing(path):
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *lines[2:]]) + "\n")
    with StatsFile(path) as file, pytest.raises(ValueError, match="from 0 on to be resumed"):
        append(file, POINT, *results(0), size=300)


def test_cut_off_anywhere_the_file_loads_and_resumes_to_the_same_counts(path, monkeypatch):
    monkeypatch.setattr(stats_file.os, "fsync", lambda file: None)
    whole, expected = path.read_bytes(), read_counts(path)
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    sizes = [*range(0, ends[1] + 40, 23), *ends[:3], ends[-1] - 1, ends[-1] - 2, ends[-2] + 30]
    for size in sizes:
        path.write_bytes(whole[:size])
        rows = sum(end <= size or end == size + 1 for end in ends) - 1
        read = read_counts(path)  # without the lock: only passes over the torn line
        assert path.read_bytes() == whole[:size]
        assert sum(len(counts.ranges) for counts in read) == min(max(rows, 0), 1) + (rows > 4)
        with StatsFile(path) as file:
            # Sinter's own reader takes what is left.
            sinter.read_stats_from_csv_files(path)
            append(file, POINT, *results(0), size=300)
            append(file, OTHER, *results(1, 500), size=64)
        assert [dataclasses.replace(c, seconds=0.0) for c in read_counts(path)] == [
            dataclasses.replace(c, seconds=0.0) for c in expected
        ]
        for counts in read_counts(path):
            read_flags(path, counts)


def test_zeros_at_the_end_as_after_a_power_loss_are_dropped(path):
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 100)
    StatsFile(path).close()
    assert path.read_bytes() == whole


def test_a_damaged_row_in_the_middle_is_refused(path):
    lines = path.read_text().splitlines()
    lines[2] = lines[2][:50]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match="line 3 must have 8 columns"):
        StatsFile(path)
    lines[2] = lines[3].replace("shots", "shoots").replace("shot_number_sum", "sum")
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match="line 3"):
        StatsFile(path)


def test_a_name_that_no_line_can_show_is_refused_in_one(path):
    path.write_bytes(path.read_bytes().replace(b",bposd-x,", b",bposd\x1ex,", 1))
    with pytest.raises(ValueError, match=r"line \d+ .*decoder must be a printable name") as refusal:
        read_counts(path)
    assert len(str(refusal.value).splitlines()) == 1


@pytest.mark.parametrize("content", [b"my notes", b"my notes\n1,2", b"a,b,c\n1,2,3\n", b"\0\1"])
def test_another_kind_of_file_is_refused_and_kept(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="must be a CSV of sinter"):
        StatsFile(path)
    assert path.read_bytes() == content


def test_rows_of_other_programs_are_left_alone(path):
    foreign = sinter.TaskStats("abc", "pymatching", {"d": 3}, 100, 7)
    with path.open("a") as file:
        print(foreign.to_csv_line(), file=file)
    before = path.read_bytes()
    with StatsFile(path) as file:
        append(file, POINT, *results(0, 1200), size=300)
    assert path.read_bytes().startswith(before)
    assert len(read_counts(path)) == 2
    stats = sinter.read_stats_from_csv_files(path)
    assert {s.decoder: s.shots for s in stats}["pymatching"] == 100


def test_a_second_writer_is_refused(path):
    program = (
        "import sys; from unmasq.evaluation.stats_file import StatsFile; StatsFile(sys.argv[1])"
    )
    with StatsFile(path):
        with pytest.raises(ValueError, match="must have one writer"):
            StatsFile(path)
        child = subprocess.run(
            [sys.executable, "-c", program, str(path)], check=False, capture_output=True, text=True
        )
    assert "must have one writer" in child.stderr
    StatsFile(path).close()


def test_counted_shots_are_not_appended_again(path):
    wrong, discarded = results(0)
    counts = Counts.of(POINT, 0, wrong[:64], discarded[:64], 0.0)
    flags = Flags(wrong[:64].any(1), discarded[:64])
    with StatsFile(path) as file, pytest.raises(ValueError, match=r"got 0\.\.63 twice"):
        file.append(counts, flags)


@pytest.mark.parametrize("which", ["counts", "flags"])
def test_a_full_disk_leaves_whole_lines(path, monkeypatch, which):
    files = {"counts": path, "flags": failures_path(path)}
    before = {name: file.read_bytes() for name, file in files.items()}
    real_write = os.write

    def write_a_little(file: int, data: bytes) -> int:
        if not os.path.samestat(os.fstat(file), os.stat(files[which])):
            return real_write(file, data)
        if len(data) <= 60:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real_write(file, data[: len(data) - 60])

    with StatsFile(path) as file:
        monkeypatch.setattr(stats_file.os, "write", write_a_little)
        with pytest.raises(OSError, match="No space"):
            append(file, POINT, *results(0, 1100), size=100)
        monkeypatch.undo()
        assert files[which].read_bytes() == before[which]
        assert path.read_bytes() == before["counts"]
        append(file, POINT, *results(0, 1100), size=100)
    (counts,) = [c for c in read_counts(path) if c.point == POINT]
    assert counts.shots == 1100
    read_flags(path, counts)


def test_flags_come_back(path):
    wrong, discarded = results(0)
    flags = read_flags(path, read_counts(path)[0])
    np.testing.assert_array_equal(flags.failed, wrong.any(1) & ~discarded)
    np.testing.assert_array_equal(flags.discarded, discarded)


def test_decoders_pair_on_the_shots_both_kept(path):
    (wrong, out), (other_wrong, other_out) = results(0), results(1, 500)
    first, second = (read_flags(path, counts) for counts in read_counts(path))
    paired = paired_counts(first, second)
    kept = ~(out[:500] | other_out)
    failed, other_failed = wrong[:500].any(1)[kept], other_wrong.any(1)[kept]
    assert paired.shots == kept.sum()
    assert paired.first_only == (failed & ~other_failed).sum()
    assert paired.second_only == (~failed & other_failed).sum()
    assert paired.both == (failed & other_failed).sum()


def test_flags_that_do_not_fit_the_counts_are_refused(path):
    failures_path(path).write_text("")
    with pytest.raises(ValueError, match=r"stats\.failures\.jsonl must hold the \d+ failures"):
        read_flags(path, read_counts(path)[0])


def test_flags_stay_compact(tmp_path):
    path = tmp_path / "stats.csv"
    wrong = np.zeros((16384, 9), bool)
    wrong[1234, 3] = True
    with StatsFile(path) as file:
        append(file, POINT, wrong, np.zeros(16384, bool), size=16384)
    assert failures_path(path).stat().st_size < 250


def test_every_cell_is_quoted_as_csv_wants_it(path):
    with path.open() as file:
        rows = list(csv.reader(file, strict=True))
    assert {len(row) for row in rows} == {8}


@pytest.mark.parametrize(
    "line",
    [
        "5",
        "[]",
        "{}",
        '{"strong_id": "x"}',
        '{"first": 0, "shots": 8, "failed": "AAAA"}',
        "[" * 10**5,
    ],
)
def test_altered_lines_of_flags_are_passed_over(path, line):
    flags = failures_path(path)
    whole = flags.read_text()
    flags.write_text(f"{line}\n{whole}{line}")
    read_flags(path, read_counts(path)[0])
    strong_id = read_counts(path)[0].point.strong_id
    flags.write_text(whole.replace('"failed"', '"fai1ed"'))
    with pytest.raises(ValueError, match="must hold the"):
        read_flags(path, read_counts(path)[0])
    flags.write_text(f'{{"strong_id": "{strong_id}", "first": -1, "shots": 8, "failed": ""}}\n')
    with pytest.raises(ValueError, match="must hold the"):
        read_flags(path, read_counts(path)[0])


def test_a_refused_csv_stays_as_it_is(path):
    altered = path.read_bytes().replace(b"\n", b"\nx,y\n", 1) + b"12,3"
    path.write_bytes(altered)
    with pytest.raises(ValueError, match="line 2 must have 8 columns"):
        StatsFile(path)
    assert path.read_bytes() == altered


def test_a_line_that_is_no_csv_is_refused(path):
    path.write_bytes(path.read_bytes().replace(b"\n", b"\na\rb\n", 1))
    with pytest.raises(ValueError, match="line 2 must be a row of a CSV"):
        read_counts(path)


def test_a_header_that_is_no_csv_is_refused(path):
    path.write_bytes(b"sho\rts" + path.read_bytes())
    with pytest.raises(ValueError, match="line 1 must be a row of a CSV"):
        read_counts(path)
