"""Small decoders for tests of everything around decoders. They pickle and need no training."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from unmasq.evaluation.contenders import Contender
from unmasq.problems.problem import DecodingProblem
from unmasq.shots.batches import check_syndromes


class Stub:
    """Predicts that logical k flips where detectors k and k + `stride` differ."""

    def __init__(self, problem: DecodingProblem, name: str = "stub", stride: int = 1):
        self.name = name
        self.num_detectors = problem.num_detectors
        self.num_logicals = problem.num_logicals
        self._stride = stride

    def decode_batch(self, syndromes: np.ndarray) -> np.ndarray:
        syndromes = check_syndromes(syndromes, self.num_detectors)
        logicals = np.arange(self.num_logicals)
        return syndromes[:, logicals] ^ syndromes[:, (logicals + self._stride) % syndromes.shape[1]]


class MakeStub:
    """Makes the stub; anything named here happens in the process that decodes."""

    def __init__(
        self,
        name: str = "stub",
        stride: int = 1,
        *,
        seconds: float = 0.0,  # spent on each shot
        die_at: int | None = None,  # kills its process in this call of decode_batch
        deaths: str | None = None,  # a folder: one file for each death, at most `max_deaths`
        max_deaths: int = 1,
        model_hash: str | None = None,
        discards: bool = False,  # gives up where detector 0 fires
    ):
        self.name = name
        self.stride = stride
        self.seconds = seconds
        self.die_at = die_at
        self.deaths = deaths
        self.max_deaths = max_deaths
        self.model_hash = model_hash
        self.discards = discards

    def __call__(self, problem: DecodingProblem) -> Stub:
        if self.discards:
            return _Discarding(problem, self.name, self.stride)
        return _Odd(problem, self)


class _Odd(Stub):
    def __init__(self, problem: DecodingProblem, make: MakeStub):
        super().__init__(problem, make.name, make.stride)
        self.model_hash = make.model_hash
        self._make = make
        self._calls = 0

    def decode_batch(self, syndromes: np.ndarray) -> np.ndarray:
        self._calls += 1
        time.sleep(self._make.seconds * len(syndromes))
        if self._calls == self._make.die_at and self._may_die():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().decode_batch(syndromes)

    def _may_die(self) -> bool:
        folder = Path(self._make.deaths)
        number = len(list(folder.iterdir()))
        if number >= self._make.max_deaths:
            return False
        (folder / f"{os.getpid()}").touch()
        return True


class _Discarding(Stub):
    def decode_or_discard(self, syndromes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.decode_batch(syndromes), syndromes[:, 0].astype(bool)


def stub(name: str = "stub", stride: int = 1, *, alone: bool = False, **behaviour) -> Contender:
    """A contender that makes a stub."""
    make = MakeStub(name, stride, **behaviour)
    return Contender(name, make, alone, model_hash=make.model_hash)
