"""What may come of a malformed input, and the count of what came.

A case ends well in one of two ways: it is *refused* (a ValueError or OSError with one line; on the
command line exit code 2 and one line on stderr), or it is *taken*, and then the case itself proves
that what was taken is what the file says: equal to the original, verified by a digest, equal to
what Stim reads, or written and read again without a change. Anything else is a finding: another
exception, more than one line, a hang, a taken input that proves different, a file that changed.
"""

import collections
import dataclasses
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

SECONDS = 20  # for one case
REFUSALS = (ValueError, OSError)
REFUSED, TAKEN = "refused", "taken"


class Finding(Exception):
    """What should not have happened."""


class Hang(BaseException):
    """Nothing in between catches it."""


@dataclasses.dataclass(frozen=True)
class Target:
    """`case(rng)` makes one malformed input, tries it, and says whether it was refused or taken."""

    name: str
    case: Callable[[random.Random], str]
    share: float = 1.0


@dataclasses.dataclass
class Tally:
    counts: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    findings: list[str] = dataclasses.field(default_factory=list)
    seconds: float = 0.0

    def record(self, target: str, outcome: str) -> None:
        self.counts[target, outcome] += 1

    def find(self, text: str) -> None:
        self.findings.append(text)
        print(f"FINDING {text}", file=sys.stderr, flush=True)


def refused_or(read: Callable[[], Any]) -> tuple[str, Any]:
    """Runs a reader; a refusal must be one line."""
    try:
        return TAKEN, read()
    except REFUSALS as error:
        text = str(error)
        if not text or len(text.splitlines()) > 2:
            raise Finding(f"refusal must be one line: got {text[:300]!r}") from error
        return REFUSED, None


def run_cases(target: Target, numbers: range, seed: int, tally: Tally) -> None:
    """Case i of a target is always the same: its random numbers come from seed, target and i."""
    before = signal.signal(signal.SIGPROF, _ring)  # processor time: the machine may be busy
    begun = time.monotonic()
    try:
        for i in numbers:
            _run_case(target, i, seed, tally)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        tally.seconds += time.monotonic() - begun


def _run_case(target: Target, i: int, seed: int, tally: Tally) -> None:
    where = f"{target.name}, seed {seed}, case {i}"
    rng = random.Random(f"{seed} {target.name} {i}")
    signal.setitimer(signal.ITIMER_PROF, SECONDS, 1)  # again: callbacks swallow what they raise
    try:
        tally.record(target.name, target.case(rng))
    except Hang:
        tally.find(f"{where}: no end after {SECONDS} s")
    except (Exception, SystemExit) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{last.filename.rsplit('/', 1)[-1]}:{last.lineno}"
        tally.find(f"{where}: {type(error).__name__} at {place}: {str(error)[:300]}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _ring(*_: object) -> None:
    raise Hang
