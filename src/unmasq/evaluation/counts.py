"""`Counts`: how often one decoder failed on numbered shots, and on exactly which shots.

Counts add with `+`, which refuses what must not be pooled: another problem, noise, decoder, model
or seed, and shots that are already counted.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from unmasq.decoding.asking import Asking
from unmasq.evaluation.statistics import Rate, clopper_pearson, mean_logical_rate, per_round
from unmasq.problems.problem import DecodingProblem

Range = tuple[int, int]  # shot numbers first <= i < stop


@dataclasses.dataclass(frozen=True)
class Point:
    """What was measured: one decoder on one problem at one p, on the shots of one seed.

    `problem`, `code` and `p` are for people; the hashes are what counts.
    """

    decoder: str  # "bposd-x", "unmasq-<hash8>"
    problem: str
    p: float
    num_logicals: int
    rounds: int
    basis: str
    noise: str
    structure_id: str
    priors_id: str
    seed: int = 0
    code: str | None = None
    model_hash: str | None = None
    asking: Asking | None = None  # of a network: how it was asked

    @classmethod
    def of(
        cls,
        decoder: str,
        problem: DecodingProblem,
        seed: int = 0,
        model_hash: str | None = None,
        asking: Asking | None = None,
    ) -> "Point":
        """Names the problem that the decoder runs on, and how a network is asked."""
        return cls(
            decoder=decoder,
            problem=problem.name,
            p=problem.p,
            num_logicals=problem.num_logicals,
            rounds=problem.num_rounds,
            basis=problem.basis,
            noise=problem.noise,
            structure_id=problem.structure_id,
            priors_id=problem.priors_id,
            seed=seed,
            code=problem.code,
            model_hash=model_hash,
            asking=asking,
        )

    @classmethod
    def from_metadata(cls, decoder: str, metadata: Mapping[str, Any]) -> "Point":
        """The point that `metadata` describes."""
        asked = {field.name for field in dataclasses.fields(Asking)}
        rest = {name: value for name, value in metadata.items() if name not in asked}
        return cls(decoder=decoder, asking=Asking.from_metadata(metadata), **rest)

    @property
    def num_steps(self) -> int | None:
        """T of a network that was asked in so many steps."""
        return None if self.asking is None else self.asking.num_steps

    @property
    def asked_in_steps(self) -> bool:
        """Whether a network was asked in T steps, and in no other special way."""
        return (
            self.num_steps is not None
            and self.asking is not None
            and (self.asking.metadata.keys() <= {"num_steps", "dtype"})
        )

    @property
    def dtype(self) -> str | None:
        """In which a network computed."""
        return None if self.asking is None else self.asking.dtype

    @property
    def label(self) -> str:
        """For tables: 'unmasq-<hash8>,T=6 (bfloat16)', as two dtypes are two decoders."""
        return self.decoder if self.dtype is None else f"{self.decoder} ({self.dtype})"

    @property
    def metadata(self) -> dict[str, Any]:
        """The fields that are set, but for the decoder: sinter has a column for that."""
        fields = dataclasses.asdict(self)
        told = {k: v for k, v in fields.items() if v is not None and k not in ("decoder", "asking")}
        return told if self.asking is None else {**told, **self.asking.metadata}

    @property
    def strong_id(self) -> str:
        """Hash of everything above: equal only where counts may be added."""
        text = json.dumps([self.decoder, self.metadata], sort_keys=True)
        return hashlib.sha256(f"unmasq counts 1 {text}".encode()).hexdigest()

    @property
    def problem_key(self) -> tuple[str, str, str]:
        """What points of one line share: they differ in nothing but p, decoder and seed."""
        return self.structure_id, self.noise, self.problem

    @property
    def shots_id(self) -> str:
        """Hash of the shots themselves, equal for all decoders: what paired comparison needs."""
        text = f"{self.structure_id} {self.priors_id} {self.seed}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclasses.dataclass(frozen=True)
class Counts:
    """Results on the shots of `ranges`. Errors are counted among the shots not discarded."""

    point: Point
    ranges: tuple[Range, ...] = ()  # increasing and apart from each other
    errors: int = 0  # shots with any wrong logical
    discards: int = 0
    logical_errors: tuple[int, ...] = ()  # (K,) shots with logical k wrong
    squared_errors: int = 0  # sum over shots of (number of wrong logicals)^2
    seconds: float = 0.0  # decoding time, over all cores; 0 where some shots were not timed

    def __post_init__(self) -> None:
        if not self.logical_errors:
            object.__setattr__(self, "logical_errors", (0,) * self.point.num_logicals)
        total = sum(self.logical_errors)
        if not (
            len(self.logical_errors) == self.point.num_logicals
            and 0 <= self.errors <= self.shots - self.discards
            and self.discards >= 0
            and all(0 <= wrong <= self.errors for wrong in self.logical_errors)
            and self.errors <= total <= self.squared_errors <= total * self.point.num_logicals
        ):
            raise ValueError(f"counts must be possible: got {self}.")
        stops = [-1, *(stop for _, stop in self.ranges)]
        if not all(
            previous < first < stop
            for previous, (first, stop) in zip(stops, self.ranges, strict=False)
        ):
            raise ValueError(f"ranges must be increasing and apart: got {self.ranges}.")

    @classmethod
    def of(
        cls, point: Point, first_shot: int, wrong: np.ndarray, discarded: np.ndarray, seconds: float
    ) -> "Counts":
        """From (B, K) wrong logicals and (B,) discarded flags of consecutive shots."""
        if len(wrong) == 0:
            return cls(point, seconds=seconds)
        kept = wrong[~discarded]
        wrong_per_shot = kept.sum(axis=1, dtype=np.int64)
        return cls(
            point,
            ((first_shot, first_shot + len(wrong)),),
            int((wrong_per_shot > 0).sum()),
            int(discarded.sum()),
            tuple(int(count) for count in kept.sum(axis=0, dtype=np.int64)),
            int((wrong_per_shot**2).sum()),
            seconds,
        )

    @property
    def shots(self) -> int:
        return sum(stop - first for first, stop in self.ranges)

    @property
    def rate(self) -> Rate:
        """Errors among the shots kept, with the exact interval."""
        return clopper_pearson(self.errors, self.shots - self.discards)

    @property
    def rate_per_round(self) -> Rate | None:
        """None for code capacity, which has no rounds."""
        return per_round(self.rate, self.point.rounds) if self.point.rounds else None

    @property
    def rate_per_logical(self) -> Rate:
        """The measured rate of a logical, averaged over all of them."""
        kept = self.shots - self.discards
        return mean_logical_rate(self.logical_errors, self.squared_errors, kept)

    @property
    def next_shot(self) -> int:
        """Where a resumed run goes on; refused unless the counted shots are 0, 1, 2, ..."""
        if self.ranges and (len(self.ranges) > 1 or self.ranges[0][0] != 0):
            raise ValueError(
                f"counts must cover the shots from 0 on to be resumed: got {self.ranges}. "
                "Save to another file."
            )
        return self.shots

    def __add__(self, other: "Counts") -> "Counts":
        if not isinstance(other, Counts):
            return NotImplemented
        differing = [
            f"{field.name} {mine!r} and {theirs!r}"
            for field in dataclasses.fields(Point)
            if (mine := getattr(self.point, field.name))
            != (theirs := getattr(other.point, field.name))
        ]
        if differing:
            raise ValueError(f"counts must be of one point to be added: got {differing[0]}.")
        return Counts(
            self.point,
            _union(self.ranges, other.ranges),
            self.errors + other.errors,
            self.discards + other.discards,
            tuple(a + b for a, b in zip(self.logical_errors, other.logical_errors, strict=True)),
            self.squared_errors + other.squared_errors,
            self.seconds + other.seconds if self._timed and other._timed else 0.0,
        )

    @property
    def _timed(self) -> bool:
        return self.seconds > 0 or not self.shots


def _union(first: tuple[Range, ...], second: tuple[Range, ...]) -> tuple[Range, ...]:
    merged: list[Range] = []
    for start, stop in sorted(first + second):
        if merged and start < merged[-1][1]:
            raise ValueError(
                f"shots must be counted once: got {start}..{min(stop, merged[-1][1]) - 1} twice."
            )
        if merged and start == merged[-1][1]:
            merged[-1] = (merged[-1][0], stop)
        else:
            merged.append((start, stop))
    return tuple(merged)
