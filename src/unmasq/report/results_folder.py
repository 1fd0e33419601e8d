"""A folder of results, read: counts, timings, what networks are called, what others published."""

import dataclasses
import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

from unmasq.evaluation.counts import Counts
from unmasq.evaluation.stats_file import read_counts

NAMES = "names.json"  # what single networks are called, "unmasq-<hash8>" to words
RUNS = "training-runs.jsonl"  # training runs whose weights do not ship: one a line
PUBLISHED = "published.json"  # rates of others: CSV's stem to name to [p, rate] pairs
Rates = dict[str, list[tuple[float, float]]]


@dataclasses.dataclass(frozen=True, eq=False)
class Times:
    """Single shots of one decoder at one p; `seconds` of each of them, where they were kept.

    Those of a histogram are the lower ends of its bins, at most 2.3 % too low.
    """

    decoder: str
    device: str
    p: float
    mean_ms: float
    median_ms: float
    p99_ms: float
    slowest_ms: float
    calls: int
    seconds: np.ndarray | None
    steps: float | None  # unmasking steps that a shot took, of a network


@dataclasses.dataclass(frozen=True)
class ResultsFolder:
    """What `unmasq evaluate` and `unmasq bench --json` left in a folder."""

    path: Path

    @functools.cached_property
    def csv_files(self) -> list[Path]:
        """Refused where there are none: then it is another folder that is meant."""
        paths = sorted(self.path.glob("*.csv"))
        if not paths:
            raise ValueError(
                f"--from must be a folder with CSVs of `unmasq evaluate`: got {self.path}."
            )
        return paths

    @functools.cached_property
    def names(self) -> dict[str, str]:
        return _read_object(self.path / NAMES, "decoder to name")

    @functools.cached_property
    def published(self) -> dict[str, Rates]:
        path = self.path / PUBLISHED
        found: dict[str, Rates] = {}
        for stem, rates in _read_object(path, "CSV to name to pairs of p and rate").items():
            try:
                pairs = {
                    n: [(float(p), float(r)) for p, r in points] for n, points in rates.items()
                }
            except (AttributeError, TypeError, ValueError) as error:
                raise ValueError(
                    f"{path} must hold pairs of p and rate for {stem}: {error}."
                ) from None
            if not all(0 < x < 1 for points in pairs.values() for pair in points for x in pair):
                raise ValueError(f"{path} must hold p and rates between 0 and 1 for {stem}.")
            found[stem] = pairs
        return found

    def files(self, *patterns: str) -> list[str]:
        """Names of the files that fit, pattern by pattern."""
        found = (path.name for text in patterns for path in sorted(self.path.glob(text)))
        return list(dict.fromkeys(found))

    def counts(self, *names: str) -> list[Counts]:
        """Of these files, those that are there, summed by point."""
        paths = [self.path / name for name in names]
        return read_counts(*(path for path in paths if path.exists()))

    @functools.cached_property
    def runs(self) -> list[dict[str, Any]]:
        """Training runs: what they are called, how long they took, what came out."""
        path = self.path / RUNS
        lines = path.read_bytes().splitlines() if path.exists() else []
        try:
            runs = [json.loads(line) for line in lines]
        except ValueError as error:
            raise ValueError(f"{path} must hold JSON, one training run a line: {error}.") from error
        if not all(isinstance(run, dict) and "run" in run for run in runs):
            raise ValueError(f"{path} must say in each line what its run is called, as 'run'.")
        return runs

    def record(self, name: str) -> dict[str, Any]:
        """A JSON file."""
        return _read_object(self.path / name, "a record")

    def times(self, name: str) -> list[Times]:
        """Of a file of `unmasq bench --json`; none where there is no such file."""
        path = self.path / name
        content = _read_object(path, "a record of `unmasq bench --json`")
        try:
            return [_times(timing, content["p"]) for timing in content.get("timings", [])]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(
                f"{path} must be a record of `unmasq bench --json`: {error}."
            ) from None


def _times(timing: dict[str, Any], p: float) -> Times:
    latency = timing["latency_batch_1"]
    return Times(
        decoder=timing["decoder"],
        device=", ".join(filter(None, [timing["device"], timing["dtype"]])),
        p=p,
        mean_ms=latency["mean_ms"],
        median_ms=latency["p50_ms"],
        p99_ms=latency["p99_ms"],
        slowest_ms=latency["max_ms"],
        calls=latency["calls"],
        seconds=_seconds(latency),
        steps=timing["mean_steps"],
    )


def _seconds(latency: dict[str, Any]) -> np.ndarray | None:
    if "microseconds" in latency:
        return 1e-6 * np.array(latency["microseconds"], dtype=float)
    if "histogram_ms" in latency:
        lows, calls = zip(*latency["histogram_ms"], strict=True)
        return 1e-3 * np.repeat(np.array(lows, dtype=float), calls)
    return None


def _read_object(path: Path, meaning: str) -> dict[str, Any]:
    """A JSON object, or nothing where there is no such file."""
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} must be JSON, {meaning}: {error}.") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} must be JSON, {meaning}: got a {type(content).__name__}.")
    return content
