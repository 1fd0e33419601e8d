"""`Asking`: how a trained network is asked, as one value without jax, which sinter pickles.

Decoders, sinter's adapter, contenders, points of counts and the command line all hold this value.
`Identity.settled` fills in what is left open and refuses what a model cannot do.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

DTYPES = ("float32", "bfloat16")


@dataclasses.dataclass(frozen=True)
class Asking:
    """A way of asking; what is None is the model's own way.

    >>> Asking(num_steps=6, views=36).label()
    'T=6,views=36'
    """

    num_steps: int | None = None  # T
    threshold: float | None = None  # tau of adaptive unmasking
    views: int | None = None  # translates that vote on unsure shots; 1 for none
    guess: bool | None = None  # BP's, taken where it explains the syndrome; False asks every shot
    attempts: int | None = None  # of BP at a guess, each at what those before it leave
    discard_below: float | None = None  # confidence
    dtype: str | None = None  # float32 and bfloat16 do not predict alike

    def __post_init__(self) -> None:
        if self.num_steps is not None and self.threshold is not None:
            raise ValueError("steps and threshold must not be given together: choose one.")
        if self.guess and self.discard_below is not None:
            raise ValueError(
                "guess and discard_below must not be given together: a guess has no confidence."
            )
        counts = {"steps": self.num_steps, "views": self.views, "attempts": self.attempts}
        for name, count in counts.items():
            if count is not None and count < 1:
                raise ValueError(f"{name} must be at least 1: got {count}.")
        if self.threshold is not None:
            if not self.threshold >= 0:
                raise ValueError(f"threshold must be at least 0: got {self.threshold}.")
            object.__setattr__(self, "threshold", float(self.threshold))  # 4 and 4.0 are one way
        if self.discard_below is not None:
            require_probability(self.discard_below)
        if self.dtype is not None and self.dtype not in DTYPES:
            raise ValueError(f"dtype must be {' or '.join(DTYPES)}: got '{self.dtype}'.")

    def but(self, **changes: Any) -> "Asking":
        """With some fields changed; T and tau take each other's place."""
        rivals = {"num_steps": "threshold", "threshold": "num_steps"}
        cleared = {rivals[name]: None for name in changes if name in rivals}
        return dataclasses.replace(self, **{**cleared, **changes})

    def label(self, usual_steps: int | None = None) -> str:
        """'T=6', 'tau=4,guess', ...: what follows a model's name in files; '' if as trained.

        T is told where it is not the one the model was trained with. The dtype is not: counts
        have it beside the name.
        """
        parts = {
            f"T={self.num_steps}": self.num_steps not in (None, usual_steps),
            f"tau={self.threshold or 0:g}": self.threshold is not None,
            f"views={self.views}": (self.views or 1) > 1,
            "guess" if (self.attempts or 1) == 1 else f"guess={self.attempts}": self.guess,
            f"discard={self.discard_below or 0:g}": self.discard_below is not None,
        }
        return ",".join(part for part, told in parts.items() if told)

    @property
    def metadata(self) -> dict[str, Any]:
        """For stored counts: what is set and not plain. Files are told apart by it."""
        fields = dataclasses.asdict(self)
        return {k: v for k, v in fields.items() if v is not None and v != _PLAIN.get(k)}

    @staticmethod
    def from_metadata(metadata: Mapping[str, Any]) -> "Asking | None":
        """The way that counts were stored with; None for decoders that are no networks."""
        names = [field.name for field in dataclasses.fields(Asking)]
        found = {name: metadata[name] for name in names if name in metadata}
        return Asking(**{**_PLAIN, **found}) if found else None


_PLAIN: dict[str, Any] = {"views": 1, "guess": False, "attempts": 1}  # of a settled way


def require_probability(below: float) -> None:
    """Refuses a confidence that is none."""
    if not 0 < below < 1:
        raise ValueError(f"discard_below must lie between 0 and 1: got {below}.")
