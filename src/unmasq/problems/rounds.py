"""What a memory experiment repeats: one problem says what all numbers of rounds look like.

A fault begins in the frame of its first detector. Between the first frames and the last ones the
same faults begin in every frame, so a problem of a few rounds is a head, a repeated middle and a
tail, and these make the problem of any other number of rounds, exactly and without Stim. Their
hash, `rounds_id`, is what a decoder for all numbers of rounds knows its problem by.
"""

import dataclasses
import hashlib
import itertools
import operator
from collections.abc import Callable, Sequence

import numpy as np

from unmasq.problems.faults import Channels, FaultKey, as_counts, fault_columns
from unmasq.problems.problem import DecodingProblem, Layout

_DIGITS = 12  # of priors: Stim's arithmetic makes equal ones differ in the last places

Shape = tuple[tuple[tuple[int, int], ...], tuple[int, ...]]  # ((frames on, check), ...), logicals
Rate = tuple[float, ...]  # channel counts, or the prior where there are none


@dataclasses.dataclass(frozen=True)
class _Frame:
    """The checks of one frame, in detector order, and the faults that begin in it."""

    sites: tuple[int, ...]
    rates: dict[Shape, Rate]

    def looks_like(self, other: "_Frame") -> bool:
        return self.sites == other.sites and self.rates.keys() == other.rates.keys()


def with_rounds(problem: DecodingProblem, rounds: int) -> DecodingProblem:
    """The same experiment with another number of rounds.

    >>> from unmasq.codes import get_code
    >>> from unmasq.problems.building import problem_from_code
    >>> three = problem_from_code(get_code("bb18"), "circuit", p=0.003, rounds=3)
    >>> five = problem_from_code(get_code("bb18"), "circuit", p=0.003, rounds=5)
    >>> with_rounds(three, 5).structure_id == five.structure_id
    True
    """
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1: got {rounds}.")
    if rounds == problem.num_rounds:
        return problem
    frames = _frames(problem)
    run = _longest_run(frames, operator.eq)
    if run is None:
        raise _no_rounds(problem)
    head, tail = frames[: run.start], frames[run.stop :]
    repeats = rounds + 1 - len(head) - len(tail)
    if repeats < 0:
        raise ValueError(
            f"rounds must be at least {len(head) + len(tail) - 1} for '{problem.name}', whose "
            f"first {len(head)} and last {len(tail)} frames differ from the others: got {rounds}."
        )
    return _assembled(problem, [*head, *[frames[run.start]] * repeats, *tail])


def rounds_id(problem: DecodingProblem) -> str:
    """Hash of what begins in the first, the middle and the last frames, whatever their number.

    Like `structure_id` it leaves out priors and check types. Needs a middle: two frames alike.
    """
    frames = _frames(problem)
    run = _longest_run(frames, _Frame.looks_like)
    if run is None:
        raise _no_rounds(problem)
    digest = hashlib.sha256(repr((problem.num_logicals, problem.layout.num_checks)).encode())
    for part in (frames[: run.start], frames[run.start : run.start + 1], frames[run.stop :]):
        digest.update(repr([(frame.sites, sorted(frame.rates)) for frame in part]).encode())
    return digest.hexdigest()[:16]


def _no_rounds(problem: DecodingProblem) -> ValueError:
    return ValueError(
        f"problem '{problem.name}' must repeat a frame between its first and last ones: got "
        f"{problem.layout.num_frames} frames, no two neighbours of which are alike. "
        "Build it with more rounds."
    )


def _frames(problem: DecodingProblem) -> list[_Frame]:
    layout = problem.layout
    frame_of, check_of = layout.frame.tolist(), layout.check.tolist()
    order = [np.flatnonzero(layout.frame == r) for r in range(layout.num_frames)]
    frames = [_Frame(tuple(layout.check[found].tolist()), {}) for found in order]
    if problem.channels is None:
        rates = [(float(f"{prior:.{_DIGITS}g}"),) for prior in problem.priors]
    else:
        rates = [tuple(counts) for counts in problem.channels.counts.tolist()]
    for (detectors, logicals), rate in zip(problem.faults(), rates, strict=True):
        if not detectors:
            raise ValueError(
                f"problem '{problem.name}' must show every fault to some detector: got one that "
                f"flips logicals {logicals} alone, and how often depends on the rounds."
            )
        begin = min(frame_of[d] for d in detectors)
        shape = tuple(sorted((frame_of[d] - begin, check_of[d]) for d in detectors))
        frames[begin].rates[shape, logicals] = rate
    return frames


def _longest_run(frames: Sequence[_Frame], alike: Callable[[_Frame, _Frame], bool]) -> range | None:
    """The longest stretch of two or more frames in a row that are alike."""
    starts = [0]
    starts += [r for r in range(1, len(frames)) if not alike(frames[r - 1], frames[r])]
    runs = [range(a, b) for a, b in itertools.pairwise([*starts, len(frames)])]
    longest = max(runs, key=len)
    return longest if len(longest) > 1 else None


def _assembled(problem: DecodingProblem, frames: list[_Frame]) -> DecodingProblem:
    places = [(r, check) for r, frame in enumerate(frames) for check in frame.sites]
    number = {place: d for d, place in enumerate(places)}
    rates: dict[FaultKey, Rate] = {}
    for r, frame in enumerate(frames):
        for (shape, logicals), rate in frame.rates.items():
            try:
                detectors = tuple(sorted(number[r + on, check] for on, check in shape))
            except KeyError as error:
                raise ValueError(
                    f"rounds must be more for '{problem.name}': with {len(frames) - 1} its first "
                    "and last frames would touch."
                ) from error
            rates[detectors, logicals] = rate
    channels = problem.channels
    priors = (
        dict.fromkeys(rates, 0.5) if channels else {key: rate[0] for key, rate in rates.items()}
    )
    check_matrix, logical_matrix, values, order = fault_columns(
        priors, len(places), problem.num_logicals
    )
    if channels is not None:
        counts = np.array([rates[key] for key in order], np.int64)
        channels = Channels(channels.kinds, channels.ratios, as_counts(counts))
        values = channels.priors(problem.p)
    frame, check = np.array(places, np.int32).T
    return dataclasses.replace(
        problem,
        check_matrix=check_matrix,
        logical_matrix=logical_matrix,
        priors=values,
        channels=channels,
        layout=Layout(frame, check, problem.layout.check_type, len(frames)),
    )
