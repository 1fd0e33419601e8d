"""Everything that decides a training run; saved as JSON beside its weights.

Schedules count updates as fractions of `num_updates`, never seconds, so that a resumed run goes
on exactly where it stopped.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from unmasq.models import NetworkConfig
from unmasq.suggest import nearest


def _require_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(
            f"{name} must be one of {', '.join(choices)}: got '{value}'.{nearest(value, choices)}"
        )


@dataclasses.dataclass(frozen=True)
class ProblemConfig:
    """A catalogue problem; a problem file given on the command line replaces it."""

    code: str = "bb72"
    noise: str = "circuit"
    rounds: int | None = None  # the distance by default
    basis: str = "X"


@dataclasses.dataclass(frozen=True)
class OptimizerConfig:
    """AdamW for everything, or Muon for the matrices V, U, W1, W2 and AdamW for the rest."""

    kind: str = "adamw"
    learning_rate: float = 1e-4
    muon_learning_rate: float = 1e-2
    b1: float = 0.9
    b2: float = 0.999
    muon_momentum: float = 0.95
    weight_decay: float = 1e-4
    clip: float | None = None  # global gradient norm
    first: float = 0.0  # of the learning rate, at update 0
    last: float = 1.0  # of the learning rate, at the end
    warm_up: float = 0.0  # fraction of the updates, linear from `first` to 1
    flat_until: float = 1.0  # fraction; then a cosine to `last` ...
    fall_until: float = 1.0  # ... which is reached at this fraction

    def __post_init__(self) -> None:
        _require_choice("kind", self.kind, ("adamw", "muon"))
        for name in ("first", "last", "warm_up", "flat_until", "fall_until"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in [0, 1]: got {getattr(self, name)}.")
        if self.learning_rate <= 0 or self.muon_learning_rate <= 0:
            raise ValueError("learning rates must be above 0.")


@dataclasses.dataclass(frozen=True)
class NoiseSchedule:
    """Physical error rate of training shots: uniform in [low * p, p], p ramping to `p`."""

    p: float = 0.006
    low: float = 1.0  # ratio; 1 trains at p alone
    start: float = 0.0005  # p at update 0 where there is a ramp
    ramp: float = 0.0  # fraction of the updates

    def __post_init__(self) -> None:
        if not 0 < self.p <= 0.5 or not 0 < self.start <= 0.5:
            raise ValueError(f"p and start must lie in (0, 0.5]: got {self.p} and {self.start}.")
        if not 0 < self.low <= 1:
            raise ValueError(f"low must lie in (0, 1]: got {self.low}.")
        if not 0 <= self.ramp <= 1:
            raise ValueError(f"ramp must lie in [0, 1]: got {self.ramp}.")


@dataclasses.dataclass(frozen=True)
class Stage:
    """For `fraction` of the updates, losses on frames first..last; -1 is the last frame R.

    A stage whose `rate` (a factor on the learning rates) differs from the one before it warms up
    anew.
    """

    first: int
    last: int
    fraction: float
    rate: float = 1.0


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """A recipe: problem, network, objective, optimizer, schedules."""

    name: str
    num_updates: int
    batch_size: int  # fresh shots per update, over all devices
    problem: ProblemConfig = ProblemConfig()
    network: NetworkConfig = NetworkConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    noise: NoiseSchedule = NoiseSchedule()
    objective: str = "masked"
    num_steps: int | None = None  # T; the number of logicals by default
    stages: tuple[Stage, ...] = ()  # what is left of the updates trains on the last frame
    frames: str = "sum"  # over a stage's frames: the sum, or one at random
    ema: float = 0.999  # decay of the averaged weights
    compute_dtype: str = "float32"
    generator: str = "rbg"
    updates_per_call: int = 10
    seed: int = 0
    evaluate_p: tuple[float, ...] = ()  # error rates at these p; the training p by default
    evaluate_shots: int = 16384

    def __post_init__(self) -> None:
        for name in ("num_updates", "batch_size", "updates_per_call"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1: got {getattr(self, name)}.")
        _require_choice("objective", self.objective, ("masked", "autoregressive", "continuous"))
        _require_choice("frames", self.frames, ("sum", "random"))
        _require_choice("compute_dtype", self.compute_dtype, ("float32", "bfloat16"))
        _require_choice("generator", self.generator, ("rbg", "threefry2x32"))
        if not 0 <= self.ema < 1:
            raise ValueError(f"ema must lie in [0, 1): got {self.ema}.")
        if sum(stage.fraction for stage in self.stages) > 1 + 1e-9:
            raise ValueError("stages must not take more than all updates.")
        if (self.objective == "continuous") != (self.network.kind == "continuous"):
            raise ValueError(
                f"objective {self.objective} must go with its network: got {self.network.kind}."
            )


def to_json(config: TrainConfig) -> str:
    return json.dumps(dataclasses.asdict(config), indent=1)


def from_json(text: str | bytes) -> TrainConfig:
    return _build(TrainConfig, json.loads(text))


def override(config: TrainConfig, assignments: Sequence[str]) -> TrainConfig:
    """Applies 'key=value' with dotted keys; values are JSON, or plain words.

    >>> base = TrainConfig("x", 10, 4)
    >>> override(base, ["network.width=64", "noise.p=0.01"]).network.width
    64
    """
    tree = dataclasses.asdict(config)
    for assignment in assignments:
        key, separator, text = assignment.partition("=")
        if not separator:
            raise ValueError(f"--set must have the form key=value: got '{assignment}'.")
        *parents, last = key.split(".")
        branch: Any = tree
        for parent in parents:
            branch = branch.get(parent) if isinstance(branch, dict) else None
        if not isinstance(branch, dict) or last not in branch:
            known = _keys(dataclasses.asdict(config))
            raise ValueError(f"key must be one of the recipe's: got '{key}'.{nearest(key, known)}")
        try:
            branch[last] = json.loads(text)
        except json.JSONDecodeError:
            branch[last] = text
    return _build(TrainConfig, tree)


def _build(kind: Any, tree: Mapping[str, Any]) -> Any:
    hints = get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    for key in tree:
        if key not in names:
            raise ValueError(f"key must be one of the recipe's: got '{key}'.{nearest(key, names)}")
    values = {}
    for key, value in tree.items():
        hint = hints[key]
        if dataclasses.is_dataclass(hint):
            value = _build(hint, value)
        elif key == "stages":
            value = tuple(
                Stage(**stage) if isinstance(stage, dict) else Stage(*stage) for stage in value
            )
        elif isinstance(value, list):
            value = tuple(value)
        elif not _fits(value, hint):
            raise ValueError(f"{key} must be {getattr(hint, '__name__', hint)}: got {value!r}.")
        values[key] = value
    return kind(**values)


def _fits(value: Any, hint: Any) -> bool:
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint in (str, bool):
        return isinstance(value, hint)
    return True


def _keys(tree: Mapping[str, Any], prefix: str = "") -> list[str]:
    keys = []
    for key, value in tree.items():
        keys.append(prefix + key)
        if isinstance(value, Mapping):
            keys.extend(_keys(value, f"{prefix}{key}."))
    return keys
