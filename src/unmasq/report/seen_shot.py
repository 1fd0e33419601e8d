"""One shot with all that a network says of it: what `shot_figure` draws."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unmasq.codes import get_code
from unmasq.codes.bicycle import BicycleShape
from unmasq.decoding.diffusion_decoder import DiffusionDecoder, load
from unmasq.decoding.model_store import find_model
from unmasq.diffusion.masking import MASK
from unmasq.evaluation.model_problem import problem_of_model
from unmasq.problems.problem import DecodingProblem
from unmasq.shots.reader import ShotReader


@dataclasses.dataclass(frozen=True, eq=False)
class SeenShot:
    """A numbered shot, and the log-odds of its logicals at each unmasking step."""

    problem: DecodingProblem
    torus: BicycleShape
    model: str  # its name, and that of its decoder in files
    decoder: str
    seed: int
    number: int
    fired: np.ndarray  # (frames, checks) bool
    truth: np.ndarray  # (K,) which logicals flipped
    log_odds: np.ndarray  # (T, K) that each did, by the network
    shown: np.ndarray  # (T, K) bool: revealed at an earlier step
    predicted: np.ndarray  # (K,)

    @property
    def wrong(self) -> np.ndarray:
        """(K,) bool: predicted otherwise than it was."""
        return self.predicted != self.truth

    @property
    def revealed_at(self) -> np.ndarray:
        """(K,) the step, from 0, that revealed each logical."""
        return len(self.shown) - 1 - self.shown.sum(axis=0)

    @property
    def words(self) -> str:
        """What it is, in two sentences."""
        wrong, total = int(self.wrong.sum()), len(self.truth)
        verdict = f"all {total} right" if not wrong else f"{wrong} of {total} wrong"
        return (
            f"Shot {self.number} of seed {self.seed} at p = {self.problem.p:g}: "
            f"{self.fired.sum()} of {self.problem.num_detectors} detectors fired, "
            f"{self.truth.sum()} of {total} logicals flipped. {self.model} in "
            f"{len(self.log_odds)} step{'s' if len(self.log_odds) > 1 else ''}: {verdict}."
        )


def torus_of(problem: DecodingProblem) -> BicycleShape:
    """Where the checks lie; refused where that is no torus of a bicycle code."""
    shape = get_code(problem.code).bicycle if problem.code is not None else None
    if shape is None or problem.layout.num_checks != 2 * shape.sites:
        raise ValueError(
            "shot must be of a bicycle code, whose checks lie on a torus, to be drawn: got "
            f"'{problem.name}'."
        )
    return shape


def followed_model(
    name: str | Path, p: float | None = None
) -> tuple[DiffusionDecoder, DecodingProblem]:
    """A model and its problem; by default at the highest p that it was trained at."""
    model = find_model(name)
    noise = model.identity.noise
    problem = problem_of_model(model, p if p is not None or noise is None else noise.high)
    torus_of(problem)  # refused before the network is loaded
    return load(name), problem


def seen_shots(
    decoder: DiffusionDecoder,
    problem: DecodingProblem,
    numbers: Sequence[int],
    seed: int = 0,
) -> list[SeenShot]:
    """Numbered shots of a problem, each followed step by step."""
    torus = torus_of(problem)
    decoder = decoder.for_problem(problem)
    reader = ShotReader(problem, seed)
    read = [reader.read(number, number + 1) for number in numbers]
    trail = decoder.trail(np.concatenate([syndrome for syndrome, _ in read]))
    tokens, log_odds = np.asarray(trail.tokens), np.asarray(trail.logits)
    layout = problem.layout
    found = []
    for place, (number, (syndrome, logicals)) in enumerate(zip(numbers, read, strict=True)):
        fired = np.zeros((layout.num_frames, layout.num_checks), bool)
        fired[layout.frame, layout.check] = syndrome[0]
        found.append(
            SeenShot(
                problem,
                torus,
                decoder.identity.name,
                decoder.identity.decoder_name(decoder.asking).partition(",")[0],
                seed,
                number,
                fired,
                logicals[0],
                log_odds[:, place],
                tokens[:, place] != MASK,
                np.asarray(trail.found.logicals)[place],
            )
        )
    return found


def telling_shots(
    decoder: DiffusionDecoder, problem: DecodingProblem, among: int = 32, seed: int = 0
) -> list[SeenShot]:
    """The first shot with a flipped logical that is decoded right, and the first that is not."""
    shots = seen_shots(decoder, problem, range(among), seed)
    right = [shot for shot in shots if shot.truth.any() and not shot.wrong.any()]
    wrong = [shot for shot in shots if shot.wrong.any()]
    return [*right[:1], *wrong[:1]]
