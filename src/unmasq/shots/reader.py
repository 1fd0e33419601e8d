"""`ShotReader`: numbered evaluation shots as plain arrays, from any number to any other."""

import functools

import numpy as np

from unmasq.problems.problem import DecodingProblem
from unmasq.shots.sampling import CHUNK_SHOTS, EvaluationShots


class ShotReader:
    """Shots by number; keeps the last chunk, for readers that go through in small steps."""

    def __init__(self, problem: DecodingProblem, seed: int) -> None:
        self._shots = EvaluationShots(problem, seed)
        self._chunk = functools.lru_cache(maxsize=1)(self._read_chunk)

    def read(self, first: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Syndromes (B, M) and logicals (B, K) of shots first <= i < stop."""
        syndromes, logicals = [], []
        for number in range(first // CHUNK_SHOTS, -(-stop // CHUNK_SHOTS)):
            start = number * CHUNK_SHOTS
            inside = slice(max(first - start, 0), min(stop - start, CHUNK_SHOTS))
            syndrome, logical = self._chunk(number)
            syndromes.append(syndrome[inside])
            logicals.append(logical[inside])
        return np.concatenate(syndromes), np.concatenate(logicals)

    def _read_chunk(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        shots = self._shots.chunk(number)
        return np.asarray(shots.syndrome), np.asarray(shots.logicals)
