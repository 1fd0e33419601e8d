"""Circuit-level noise as one value: the rates of each kind of fault."""

import dataclasses

from unmasq.error_rate import LEAST_RATE, require_error_rate

UNIFORM = "circuit"  # the name of noise whose rates are all equal


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

    @property
    def label(self) -> str:
        """'circuit', or with rates that differ 'circuit 1:0.1:0.5:1', beside the greatest.

        >>> NoiseModel(0.01, 0.001, 0.005, 0.01).label
        'circuit 1:0.1:0.5:1'
        """
        rates = dataclasses.astuple(self)
        if len(set(rates)) == 1:
            return UNIFORM
        return f"{UNIFORM} " + ":".join(f"{rate / max(rates):.6g}" for rate in rates)

    @staticmethod
    def read(label: str, p: float) -> "NoiseModel":
        """The noise of a label at greatest rate p.

        >>> NoiseModel.read("circuit 1:0.1:0.5:1", 0.01).idle
        0.001
        """
        require_error_rate(p)
        if label == UNIFORM:
            return NoiseModel.uniform(p)
        kind, _, text = label.partition(" ")
        try:
            ratios = [float(word) for word in text.split(":")]
        except ValueError:
            ratios = []
        if kind != UNIFORM or len(ratios) != 4 or max(ratios) != 1 or min(ratios) < 0:
            raise ValueError(
                f"noise must be {UNIFORM}, code-capacity, or {UNIFORM} a:b:c:d with the rates of "
                f"CNOTs, idles, preparation and measurement beside the greatest: got '{label}'."
            )
        return NoiseModel(*(p * ratio for ratio in ratios))

    @staticmethod
    def uniform(p: float) -> "NoiseModel":
        """Every rate equal to p: the noise that published numbers mean."""
        require_error_rate(p)
        return NoiseModel(p, p, p, p)
