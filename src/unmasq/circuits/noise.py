"""Circuit-level noise as one value: the rates of each kind of fault."""

import dataclasses

from unmasq.error_rate import LEAST_RATE, require_error_rate


@dataclasses.dataclass(frozen=True)
class NoiseModel:
    """Depolarizing gates and idles, flipped preparations and measurements; 0 switches one off.

    >>> NoiseModel.uniform(0.003)
    NoiseModel(two_qubit=0.003, idle=0.003, preparation=0.003, measurement=0.003)
    >>> NoiseModel(two_qubit=0.003, idle=0.0003, preparation=0.002, measurement=0.005).idle
    0.0003
    """

    two_qubit: float  # two-qubit depolarizing after each CNOT
    idle: float  # one-qubit depolarizing on each idle data qubit and tick
    preparation: float  # flip after an ancilla's reset
    measurement: float  # flip of an ancilla's readout

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            rate = getattr(self, field.name)
            if not 0 <= rate <= 0.5:
                raise ValueError(f"{field.name} must lie in [0, 0.5]: got {rate}.")
            if 0 < rate < LEAST_RATE:
                raise ValueError(f"{field.name} must be 0 or at least {LEAST_RATE}: got {rate}.")
        if not any(dataclasses.astuple(self)):
            raise ValueError("noise must have at least one rate above 0: got none.")

    @staticmethod
    def uniform(p: float) -> "NoiseModel":
        """Every rate equal to p: the noise that published numbers mean."""
        require_error_rate(p)
        return NoiseModel(p, p, p, p)
