"""`AnyRounds`: what a decoder for every number of rounds knows its problem by.

`rounds_id` hashes the faults that begin in the first, in a middle, and in the last frames. It needs
a middle: two frames in which the same faults begin, from R = 3 on for our memory circuits. Shorter
experiments have their first and last frames in one; they follow from a longer one (`with_rounds`),
and are known by their structures, which a model keeps beside the hash.
"""

import dataclasses
from typing import Any

import numpy as np

from unmasq.problems.layouts import equal_frames
from unmasq.problems.problem import DecodingProblem, Layout
from unmasq.problems.rounds import rounds_id, with_rounds

_MOST_SHORT = 8  # rounds: an experiment that shows no middle by then shows none


@dataclasses.dataclass(frozen=True)
class AnyRounds:
    """One experiment, whatever its number of rounds.

    >>> from unmasq.codes import get_code
    >>> from unmasq.problems.building import problem_from_code
    >>> one, four = (problem_from_code(get_code("bb18"), "circuit", 0.003, R) for R in (1, 4))
    >>> known = AnyRounds.of(four)
    >>> known.frames_of(one).num_frames
    2
    """

    rounds_id: str
    short: tuple[str, ...]  # structures of experiments without a middle
    num_checks: int
    full: bool  # every frame has every check, in order

    @staticmethod
    def of(problem: DecodingProblem) -> "AnyRounds | None":
        """Of a problem with rounds enough to show what repeats; else None."""
        found = _rounds_id(problem)
        if found is None:
            return None
        short = []
        for rounds in range(1, min(problem.num_rounds, _MOST_SHORT)):
            try:
                other = with_rounds(problem, rounds)
            except ValueError:  # its first and last frames would touch
                continue
            if _rounds_id(other) is None:
                short.append(other.structure_id)
        grid = problem.layout.grid()
        full = np.array_equal(grid.ravel(), np.arange(grid.size))
        return AnyRounds(found, tuple(short), problem.layout.num_checks, full)

    @staticmethod
    def read(facts: Any) -> "AnyRounds":
        """From a weight file's header."""
        try:
            checks = int(facts["checks"])
            if checks < 1:
                raise ValueError(f"{checks} checks")
            return AnyRounds(str(facts["id"]), tuple(facts["short"]), checks, bool(facts["full"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                "rounds of a model must have id, short, checks and full: got something else "
                f"({error}). Its file was altered."
            ) from error

    def facts(self) -> dict[str, Any]:
        """What `read` reads."""
        return {
            "id": self.rounds_id,
            "short": list(self.short),
            "checks": self.num_checks,
            "full": self.full,
        }

    def frames_of(self, problem: DecodingProblem) -> Layout | None:
        """Where the detectors of a problem stand if it is this experiment; None if it is not.

        Frames that hold all checks follow from the order of the detectors, whatever coordinates
        they have; others from the problem's own layout.
        """
        layout = problem.layout
        if self.full:
            frames, left = divmod(problem.num_detectors, self.num_checks)
            if left or frames < 2:
                return None
            layout = equal_frames(problem.num_detectors, frames)
        elif layout.num_checks != self.num_checks or layout.num_frames < 2:
            return None
        if problem.structure_id in self.short:
            return layout
        laid_out = dataclasses.replace(problem, layout=layout, symmetry=None, tanner=None)
        return layout if _rounds_id(laid_out) == self.rounds_id else None


def _rounds_id(problem: DecodingProblem) -> str | None:
    try:
        return rounds_id(problem)
    except ValueError:  # no middle, or a fault that no detector sees
        return None
