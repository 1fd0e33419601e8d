"""`Asking`: the ways to ask a trained network, as one value without jax, which sinter pickles."""

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unmasq.decoding.diffusion_decoder import DiffusionDecoder


@dataclasses.dataclass(frozen=True)
class Asking:
    """How a network is asked; what is None stays as it was trained."""

    steps: int | None = None  # T
    threshold: float | None = None  # tau of adaptive unmasking
    views: int | None = None  # translates that vote on unsure shots
    guess: bool | None = None  # taken where it explains the syndrome
    discard_below: float | None = None  # confidence

    def __post_init__(self) -> None:
        rivals = (("steps", "threshold"), ("guess", "discard_below"))
        for names in rivals:
            given = [name for name in names if getattr(self, name) is not None]
            if len(given) > 1:
                raise ValueError(
                    f"{given[0]} and {given[1]} must not be given together: choose one."
                )

    def __call__(self, decoder: "DiffusionDecoder") -> "DiffusionDecoder":
        if self.steps is not None:
            decoder = decoder.with_steps(self.steps)
        if self.threshold is not None:
            decoder = decoder.with_threshold(self.threshold)
        if self.views is not None:
            decoder = decoder.with_views(self.views)
        if self.guess is not None:
            decoder = decoder.with_guess(self.guess)
        if self.discard_below is not None:
            decoder = decoder.with_discard(self.discard_below)
        return decoder
