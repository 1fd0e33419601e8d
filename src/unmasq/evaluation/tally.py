"""`Tally`: one point on its way through a run, counted in the order of its shots."""

import time
from collections.abc import Callable

import numpy as np

from unmasq.evaluation.counts import Counts
from unmasq.evaluation.failures import Flags
from unmasq.evaluation.jobs import Decoded, Job
from unmasq.evaluation.limits import Limits
from unmasq.evaluation.stats_file import StatsFile

FIRST_PIECE = 16  # shots, before the speed of a decoder is known
PIECE_SECONDS = 8.0  # of work in a piece
MAX_PIECE = 1024  # shots: a piece stays inside a chunk, which its worker draws whole

Watch = Callable[[Counts, Limits, bool], None]  # counts so far, limits, whether done


class Tally:
    """What is counted, what is decoded but not yet in order, what is next."""

    def __init__(
        self,
        job: Job,
        limits: Limits,
        file: StatsFile | None,
        write_seconds: float,
        watch: Watch | None,
    ) -> None:
        self.job = job
        self.limits = limits
        self.counts = file.counts(job.point) if file is not None else Counts(job.point)
        self.next_shot = self.counts.next_shot  # the first that nobody works on
        self.deadline: float | None = None
        self._waiting: dict[int, Decoded] = {}  # by first shot
        self._speed: float | None = None  # seconds for a shot
        self._file = file
        self._watch = watch
        self._write_seconds = write_seconds
        self._written_at = time.monotonic()
        self._unwritten: list[Decoded] = []
        self._out_of_time = False
        self._report()

    @property
    def done(self) -> bool:
        return self._out_of_time or self.limits.reached(self.counts.shots, self.counts.errors)

    @property
    def wants_more(self) -> bool:
        return not self.done and not self.late and self.next_shot < self.limits.max_shots

    @property
    def late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def take_piece(self) -> tuple[int, int]:
        """The next shots for a worker: about `PIECE_SECONDS` of work, less when time is short."""
        size = FIRST_PIECE
        if self._speed is not None:
            seconds = PIECE_SECONDS
            if self.deadline is not None:
                seconds = min(seconds, (self.deadline - time.monotonic()) / 4)
            wanted = max(seconds / max(self._speed, 1e-9), 8)
            size = min(MAX_PIECE, 2 ** int(np.log2(wanted)))
        return self.take(min(size, MAX_PIECE - self.next_shot % MAX_PIECE))

    def take(self, size: int) -> tuple[int, int]:
        first = self.next_shot
        self.next_shot = min(first + size, self.limits.max_shots)
        return first, self.next_shot

    def add(self, decoded: Decoded) -> None:
        """Counts the shots as soon as all before them are counted."""
        self._speed = decoded.seconds / len(decoded.wrong)
        self._waiting[decoded.first_shot] = decoded
        while not self.done and self.counts.shots in self._waiting:
            self._count(self._waiting.pop(self.counts.shots))
        if self.done or time.monotonic() - self._written_at >= self._write_seconds:
            self.write()
        self._report()

    def give_up(self) -> None:
        """Ends a point whose time is up and whose last piece is in."""
        self._out_of_time = True
        self.write()
        self._report()

    def write(self) -> None:
        """Appends what was counted since the last row."""
        self._written_at = time.monotonic()
        if not self._unwritten or self._file is None:
            return
        pieces, self._unwritten = self._unwritten, []
        wrong = np.concatenate([piece.wrong for piece in pieces])
        discarded = np.concatenate([piece.discarded for piece in pieces])
        seconds = sum(piece.seconds for piece in pieces)
        counts = Counts.of(self.job.point, pieces[0].first_shot, wrong, discarded, seconds)
        self._file.append(counts, Flags(wrong.any(axis=1) & ~discarded, discarded))

    def _count(self, decoded: Decoded) -> None:
        failed = decoded.wrong.any(axis=1) & ~decoded.discarded
        length = self.limits.cut(self.counts.shots, self.counts.errors, failed)
        decoded = decoded._replace(
            wrong=decoded.wrong[:length], discarded=decoded.discarded[:length]
        )
        if self._file is not None:
            self._unwritten.append(decoded)
        self.counts += Counts.of(
            self.job.point, decoded.first_shot, decoded.wrong, decoded.discarded, decoded.seconds
        )

    def _report(self) -> None:
        if self._watch is not None:
            self._watch(self.counts, self.limits, self.done)
