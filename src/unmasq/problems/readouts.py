"""`Readout`: some logicals of a model, and the experiment that reads them out.

A model of both bases predicts the logicals of X and of Z; an experiment reads out one of them. Each
is known by its structure and, where rounds repeat, by what does not depend on their number.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from unmasq.problems.any_rounds import AnyRounds
from unmasq.problems.both_bases import read_out
from unmasq.problems.problem import DecodingProblem, Layout


@dataclasses.dataclass(frozen=True)
class Readout:
    """Logicals first..stop-1 of a model."""

    first: int
    stop: int
    structure_id: str
    any_rounds: AnyRounds | None = None  # the same experiment with every number of rounds

    @property
    def num_logicals(self) -> int:
        return self.stop - self.first

    def fit(self, problem: DecodingProblem) -> "Fit | None":
        """How a problem is this experiment; None if it is not."""
        if problem.structure_id == self.structure_id:
            return Fit(self)
        layout = None if self.any_rounds is None else self.any_rounds.frames_of(problem)
        return None if layout is None else Fit(self, layout)

    @staticmethod
    def read(facts: Mapping[str, Any]) -> "Readout":
        """From a weight file's header."""
        rounds = facts.get("rounds")
        first, stop = facts["logicals"]
        return Readout(
            int(first),
            int(stop),
            str(facts["structure_id"]),
            None if rounds is None else AnyRounds.read(rounds),
        )

    def facts(self) -> dict[str, Any]:
        """What `read` reads."""
        rounds = {} if self.any_rounds is None else {"rounds": self.any_rounds.facts()}
        logicals = [self.first, self.stop]
        return {"logicals": logicals, "structure_id": self.structure_id, **rounds}


@dataclasses.dataclass(frozen=True)
class Fit:
    """A problem is what `readout` reads, with its detectors laid out so if not as trained."""

    readout: Readout
    layout: Layout | None = None


def readouts_of(problem: DecodingProblem, any_rounds: bool) -> list[Readout]:
    """The two experiments behind a problem of both bases; [] for any other."""
    if problem.basis != "XZ" or problem.noise == "code-capacity":
        return []
    half = problem.num_logicals // 2
    found = []
    for basis, first in (("X", 0), ("Z", half)):
        alone = read_out(problem, range(first, first + half), basis)
        rounds = AnyRounds.of(alone) if any_rounds else None
        found.append(Readout(first, first + half, alone.structure_id, rounds))
    return found
