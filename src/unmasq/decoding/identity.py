"""`Identity`: which model a decoder asks, how it is best asked, and how it cannot be asked.

Reads headers alone: sinter lists decoders without jax.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from unmasq.decoding.asking import Asking
from unmasq.problems.any_rounds import AnyRounds
from unmasq.problems.problem import DecodingProblem
from unmasq.problems.readouts import Fit, Readout
from unmasq.problems.trained_noise import TrainedNoise, trained_noise

GUESS_THRESHOLD = 4.0  # tau for what a guess leaves: as many failures as T = K, in fewer steps


def decoder_name(model_hash: str) -> str:
    """'unmasq-<hash8>': what result files call a network."""
    return f"unmasq-{model_hash[:8]}"


def _attempts(facts: Any) -> tuple[tuple[int, float, float], ...]:
    """As a header or card has them; refused where that is something else."""
    if isinstance(facts, list) and all(_is_attempt(each) for each in facts):
        return tuple((each[0], float(each[1]), float(each[2])) for each in facts)
    raise ValueError(
        "attempts must be a list of [iterations, scaling, memory], with at least one iteration, "
        f"a scaling in (0, 1] and a memory in [0, 1): got {str(facts)[:80]}. Take them out of the "
        "model's card, or get its weights anew."
    )


def _is_attempt(facts: Any) -> bool:
    if not isinstance(facts, list) or [type(each) for each in facts[:1]] != [int]:
        return False
    numbers = len(facts) == 3 and all(type(each) in (int, float) for each in facts)
    return numbers and 1 <= facts[0] < 10**6 and 0 < facts[1] <= 1 and 0 <= facts[2] < 1


@dataclasses.dataclass(frozen=True)
class Identity:
    """Which model a decoder asks, and for which problem it was trained."""

    name: str
    model_hash: str
    structure_id: str
    objective: str  # "masked", "autoregressive" or "continuous"
    trained_steps: int  # T of the objective
    num_detectors: int
    num_logicals: int
    begins_with_guess: bool = False  # of belief propagation
    trusts_guess: bool = True  # where it explains the syndrome: the network rarely saw such shots
    max_views: int = 1  # translates that may vote
    attempts: tuple[tuple[int, float, float], ...] = ()  # see `models.beliefs`; after its own
    about: Mapping[str, Any] = dataclasses.field(default_factory=dict, compare=False)  # the problem
    noise: TrainedNoise | None = dataclasses.field(default=None, compare=False)
    any_rounds: AnyRounds | None = dataclasses.field(default=None, compare=False)  # decodes all
    readouts: tuple[Readout, ...] = dataclasses.field(default=(), compare=False)  # of both bases
    told: Readout | None = None  # the one that is asked for; else all logicals

    @staticmethod
    def from_header(
        header: Mapping[str, Any],
        model_hash: str,
        num_detectors: int,
        max_views: int = 1,
        card: Mapping[str, Any] | None = None,
    ) -> "Identity":
        """From what a weight file says about itself; an older one leaves its noise to the card."""
        return Identity(
            header["name"],
            model_hash,
            header["structure_id"],
            header["objective"],
            header["num_steps"],
            num_detectors,
            header["num_logicals"],
            bool(header["network"].get("bp_iterations")),
            bool(header.get("trusts_guess", True)),
            max_views,
            _attempts(header.get("attempts") or (card or {}).get("attempts") or []),
            header.get("problem", {}),
            trained_noise(header, card or {}),
            AnyRounds.read(header["rounds"]) if "rounds" in header else None,
            tuple(Readout.read(facts) for facts in header.get("readouts", ())),
        )

    @property
    def trained_for(self) -> str:
        """The problem in words: 'code bb72, noise circuit, basis X, num_rounds 6, p = ...'."""
        keys = ("code", "noise", "basis", "num_rounds")
        told = [f"{key} {self.about[key]}" for key in keys if self.about.get(key) is not None]
        told += ["decodes every number of rounds"] if self.any_rounds else []
        told += ["reads out either basis"] if self.readouts else []
        return ", ".join([*told, *([self.noise.label] if self.noise else [])])

    def fit(self, problem: DecodingProblem) -> Fit | None:
        """How the model decodes a problem, whose noise does not matter; None if it does not.

        With all its logicals, or as one of its readouts.
        """
        whole = Readout(0, self.num_logicals, self.structure_id, self.any_rounds)
        each = (self.told or whole, *self.readouts)
        return next((fit for readout in each if (fit := readout.fit(problem))), None)

    def fitted(self, problem: DecodingProblem, fit: Fit) -> "Identity":
        """The model for this problem."""
        whole = fit.readout.num_logicals == self.num_logicals
        return dataclasses.replace(
            self,
            structure_id=problem.structure_id,
            num_detectors=problem.num_detectors,
            any_rounds=fit.readout.any_rounds,
            told=None
            if whole
            else dataclasses.replace(fit.readout, structure_id=problem.structure_id),
        )

    @property
    def num_told(self) -> int:
        """Logicals of a prediction."""
        return self.num_logicals if self.told is None else self.told.num_logicals

    @property
    def usual_steps(self) -> int | None:
        """T as trained; None for an autoregressive network, which reveals one bit a step."""
        if self.objective == "autoregressive":
            return None
        continuous = self.objective == "continuous"
        return self.trained_steps if continuous else min(self.trained_steps, self.num_logicals)

    @property
    def saw_shown_bits(self) -> bool:
        """Whether training showed some bits and hid others, in no fixed order."""
        return self.objective == "masked" and (self.trained_steps > 1 or self.num_logicals == 1)

    def decoder_name(self, asking: Asking) -> str:
        """'unmasq-<hash8>', then what differs from asking every shot as trained: ',T=6', ..."""
        label = asking.label(self.usual_steps)
        return ",".join(filter(None, [decoder_name(self.model_hash), label]))

    def settled(self, asking: Asking, dtype: str = "float32") -> Asking:
        """The way with nothing left open; refused where the model cannot be asked so.

        T is as trained; but a model that begins with belief propagation, and was trained on what
        that does not solve, is best asked only about shots whose syndrome the first guess does not
        explain, and about those adaptively.
        """
        guess = asking.guess
        if guess is None:
            trusted = self.begins_with_guess and self.trusts_guess
            guess = trusted and asking.discard_below is None
        if asking.num_steps is None and asking.threshold is None:
            adaptive = guess and self.saw_shown_bits
            asking = asking.but(
                **{"threshold": GUESS_THRESHOLD} if adaptive else {"num_steps": self.usual_steps}
            )
        views, dtype = asking.views or 1, asking.dtype or dtype
        attempts = asking.attempts or (1 + len(self.attempts) if guess else 1)
        found = dataclasses.replace(
            asking, views=views, guess=guess, attempts=attempts, dtype=dtype
        )
        self._require_possible(found)
        return found

    def _require_possible(self, asking: Asking) -> None:
        if asking.guess and not self.begins_with_guess:
            raise ValueError(
                "guess must be asked of a model that begins with belief propagation: "
                f"'{self.name}' does not."
            )
        most = 1 + len(self.attempts) if asking.guess else 1
        if asking.attempts is not None and asking.attempts > most:
            raise ValueError(
                f"attempts must lie in 1..{most} for '{self.name}', asked so: "
                f"got {asking.attempts}."
            )
        if asking.threshold is not None and not self.saw_shown_bits:
            raise ValueError(
                "threshold must be used with a masked diffusion model: got one trained for "
                f"objective {self.objective} with T = {self.trained_steps}."
            )
        if asking.num_steps is not None:
            self._require_steps(asking.num_steps)
        if asking.views is not None and asking.views > self.max_views:
            if self.max_views > 1:
                raise ValueError(f"views must lie in 1..{self.max_views}: got {asking.views}.")
            raise ValueError(
                "views must be 1 for this model: it is not a masked one, not tied by a symmetry, "
                "or its file is older than votes. Train it again."
            )

    def _require_steps(self, num_steps: int) -> None:
        limit = self.trained_steps if self.objective == "continuous" else self.num_logicals
        if self.objective == "autoregressive":
            raise ValueError(
                f"steps must be {limit} for an autoregressive model: it reveals one bit a step."
            )
        if self.objective == "masked" and not self.saw_shown_bits:
            limit = 1
        if num_steps > limit:
            why = "" if limit > 1 else " The model was trained with T = 1."
            raise ValueError(f"steps must lie in 1..{limit}: got {num_steps}.{why}")
