"""One decoder on one problem, and the pieces of shots it decodes, in whatever process.

A worker knows its jobs by their strong id (`set_up_worker`), builds a decoder when the first piece
of a job arrives, and makes sure that it is the decoder the job names: same name, same weights.
"""

import collections
import dataclasses
import functools
import threading
import time
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from unmasq.decoding.decoder import Decoder
from unmasq.decoding.problem_match import require_problem
from unmasq.evaluation.contenders import Contender
from unmasq.evaluation.counts import Point
from unmasq.evaluation.remembered import Remembered
from unmasq.problems.problem import DecodingProblem

QUIET_SHARE = 0.45  # of the shots are without a fault: from there on syndromes repeat
_KEPT_DECODERS = 2  # some hold hundreds of megabytes


@dataclasses.dataclass(frozen=True, eq=False)
class Job:
    """A contender on a problem and the shots of a seed. Pickles."""

    contender: Contender
    problem: DecodingProblem
    seed: int = 0

    def __post_init__(self) -> None:
        if self.contender.identity is not None:
            require_problem(self.contender.identity, self.problem)

    @functools.cached_property
    def point(self) -> Point:
        who = self.contender
        return Point.of(who.name, self.problem, self.seed, who.model_hash, who.asking)

    @functools.cached_property
    def remembers(self) -> bool:
        """Whether equal syndromes are decoded once: many shots have no fault, and few have two.

        By the problem alone, so that a point is timed or not, whoever decodes its pieces.
        """
        return bool(np.log1p(-self.problem.priors).sum() >= np.log(QUIET_SHARE))

    def make_decoder(self) -> Decoder:
        """The decoder, refused if it is not the one whose name the counts will carry."""
        decoder = self.contender.make(self.problem)
        for name in ("name", "model_hash"):
            expected, found = getattr(self.contender, name), getattr(decoder, name, None)
            if found != expected:
                raise ValueError(
                    f"decoder must have {name} {expected} as the run that counts it: got {found}. "
                    "Give every machine the same weights."
                )
        sizes = (self.problem.num_detectors, self.problem.num_logicals)
        if (decoder.num_detectors, decoder.num_logicals) != sizes:
            raise ValueError(
                f"decoder {decoder.name} must read {sizes[0]} detectors and predict {sizes[1]} "
                f"logicals: got {decoder.num_detectors} and {decoder.num_logicals}."
            )
        return decoder


class Decoded(NamedTuple):
    """What came out of consecutive shots of a job."""

    strong_id: str
    first_shot: int
    wrong: np.ndarray  # (B, K) bool: predicted and true logical differ
    discarded: np.ndarray  # (B,) bool
    seconds: float  # of decoding alone; 0 with a memory, whose time says nothing of the decoder


class Bench:
    """A job with its decoder and shots at hand."""

    def __init__(self, job: Job) -> None:
        from unmasq.shots.reader import ShotReader  # which imports jax

        self.job = job
        self.decoder = job.make_decoder()
        self._reader = ShotReader(job.problem, job.seed)
        answer = functools.partial(_decode, self.decoder)
        self._answer = Remembered(answer) if job.remembers else answer

    def warm_up(self, shots: int) -> None:
        """Compiles for batches of that size, so that no measured time holds it."""
        warm_up(self.decoder, self._reader.read(0, shots)[0])

    def decode(self, first: int, stop: int) -> Decoded:
        """Decodes shots first <= i < stop and compares with the truth."""
        syndromes, logicals = self._reader.read(first, stop)
        start = time.perf_counter()
        predictions, discarded = self._answer(syndromes)
        seconds = 0.0 if self.job.remembers else time.perf_counter() - start
        if predictions.shape != logicals.shape:
            raise ValueError(
                f"decoder {self.decoder.name} must predict shape {logicals.shape}: "
                f"got {predictions.shape}."
            )
        return Decoded(self.job.point.strong_id, first, predictions != logicals, discarded, seconds)


def warm_up(decoder: Decoder, syndromes: np.ndarray) -> None:
    """Compiles for batches of that size; other decoders decode this one.

    Real shots, not zeros: nothing may be left to do in those.
    """
    if hasattr(decoder, "warm_up"):
        decoder.warm_up(len(syndromes))
    else:
        _decode(decoder, syndromes)


def _decode(decoder: Decoder, syndromes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if hasattr(decoder, "decode_or_discard"):
        return decoder.decode_or_discard(syndromes)
    return np.asarray(decoder.decode_batch(syndromes)), np.zeros(len(syndromes), bool)


_jobs: dict[str, Job] = {}  # by strong id
_thread = threading.local()  # foreign decoders keep state: one for each thread


def set_up_worker(jobs: Iterable[Job]) -> None:
    """Makes jobs known to this process, beside those it knows."""
    _jobs.update({job.point.strong_id: job for job in jobs})


def decode_piece(strong_id: str, first: int, stop: int) -> Decoded:
    """Runs in a worker: decodes shots first <= i < stop of a job it was set up with."""
    job = _jobs[strong_id]
    benches = _thread.__dict__.setdefault("benches", collections.OrderedDict())
    if strong_id not in benches or benches[strong_id].job is not job:
        while len(benches) >= _KEPT_DECODERS:
            benches.popitem(last=False)
        benches[strong_id] = Bench(job)
    benches.move_to_end(strong_id)
    return benches[strong_id].decode(first, stop)
