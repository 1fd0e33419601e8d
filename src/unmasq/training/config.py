"""Everything that decides a training run; saved as JSON beside its weights.

Schedules count updates as fractions of `num_updates`, never seconds, so that a resumed run goes
on exactly where it stopped.
"""

import dataclasses
import functools
import json
import math
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args, get_origin, get_type_hints

from unmasq.models import NetworkConfig
from unmasq.suggest import nearest

RUN_FILES = ("config", "manifest", "metrics", "problem", "slim")  # beside them come the weights


def _require_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(
            f"{name} must be one of {', '.join(choices)}: got '{value}'.{nearest(value, choices)}"
        )


def _require(config: Any, rule: str, holds: Callable[[Any], bool], *names: str) -> None:
    """Refuses a field, named by the caller, whose value breaks the rule."""
    for name in names:
        value = getattr(config, name)
        if not holds(value):
            raise ValueError(f"{name} must {rule}: got {value}.")


@dataclasses.dataclass(frozen=True)
class ProblemConfig:
    """A catalogue problem; a problem file given on the command line replaces it."""

    code: str | None = None  # None: any problem, given as a file
    noise: str = "circuit"
    rounds: int | None = None  # the distance by default
    basis: str = "X"


@dataclasses.dataclass(frozen=True)
class OptimizerConfig:
    """AdamW for everything, or Muon for the matrices of the blocks and AdamW for the rest."""

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
        fractions = ("first", "last", "warm_up", "flat_until", "fall_until")
        _require(self, "lie in [0, 1]", lambda x: 0 <= x <= 1, *fractions)
        _require(self, "be above 0", lambda x: x > 0, "learning_rate", "muon_learning_rate")
        _require(self, "lie in [0, 1)", lambda x: 0 <= x < 1, "b1", "b2", "muon_momentum")
        _require(self, "be at least 0", lambda x: x >= 0, "weight_decay")
        _require(self, "be above 0, or null", lambda x: x is None or x > 0, "clip")
        if self.flat_until > self.fall_until:
            raise ValueError(
                f"fall_until must be at least flat_until ({self.flat_until}): "
                f"got {self.fall_until}."
            )


@dataclasses.dataclass(frozen=True)
class NoiseSchedule:
    """Physical error rate of training shots: uniform in [low * p, p], p ramping to `p`.

    With a spread, every kind of channel and every check site has a factor exp(spread z) of its own
    in each shot, z normal: rates that drift (`shots.drift`).
    """

    p: float = 0.006
    low: float = 1.0  # ratio; 1 trains at p alone
    start: float = 0.0005  # p at update 0 where there is a ramp
    ramp: float = 0.0  # fraction of the updates
    spread: float = 0.0  # of the logarithm of the rates

    def __post_init__(self) -> None:
        _require(self, "lie in (0, 0.5]", lambda x: 0 < x <= 0.5, "p", "start")
        _require(self, "lie in (0, 1]", lambda x: 0 < x <= 1, "low")
        _require(self, "lie in [0, 1]", lambda x: 0 <= x <= 1, "ramp")
        _require(self, "lie in [0, 2]", lambda x: 0 <= x <= 2, "spread")


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

    def __post_init__(self) -> None:
        _require(self, "lie in (0, 1]", lambda x: 0 < x <= 1, "fraction")
        _require(self, "be above 0", lambda x: x > 0, "rate")


@dataclasses.dataclass(frozen=True)
class BpAttempt:
    """Another run of belief propagation, at the shots that those before it leave."""

    iterations: int
    scaling: float
    memory: float = 0.0

    def __post_init__(self) -> None:
        _require(self, "lie in 1..999999", lambda x: 1 <= x < 10**6, "iterations")
        _require(self, "lie in (0, 1]", lambda x: 0 < x <= 1, "scaling")
        _require(self, "lie in [0, 1)", lambda x: 0 <= x < 1, "memory")


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """A recipe: problem, network, objective, optimizer, schedules."""

    name: str
    num_updates: int
    batch_size: int  # fresh shots per update, over all devices
    pool: int = 1  # shots drawn for each of them; those that belief propagation solves are left out
    pool_iterations: int | None = None  # of it in choosing them; the network's by default
    attempts: tuple[BpAttempt, ...] = ()  # of it in decoding, after the network's own
    doubted: float = 0.0  # but for this share of the batch: solved ones with the heaviest guesses
    problem: ProblemConfig = ProblemConfig()
    network: NetworkConfig = NetworkConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    noise: NoiseSchedule = NoiseSchedule()
    objective: str = "masked"
    num_steps: int | None = None  # T; the number of logicals by default
    masks_per_shot: int = 1  # draws of t and of hidden bits for each encoded shot, T at most ...
    translate_masks: bool = False  # ... or each on another translate of it; for tied networks
    stages: tuple[Stage, ...] = ()  # what is left of the updates trains on the last frame
    rounds: tuple[int, ...] = ()  # of the shots, call by call in turn; the problem's by default
    endings: tuple[int, ...] = ()  # numbers of rounds that each shot is decoded after
    frames: str = "sum"  # over a stage's frames: the sum, or one at random
    ema: float = 0.999  # decay of the averaged weights
    compute_dtype: str = "float32"
    generator: str = "rbg"  # fast; every device draws the whole batch, threefry2x32 only its part
    updates_per_call: int = 10
    seed: int = 0
    evaluate_p: tuple[float, ...] = ()  # error rates at these p; the training p by default
    evaluate_shots: int = 16384
    evaluate_every: int | None = None  # updates between quick evaluations at the training p

    def __post_init__(self) -> None:
        if not self.name or self.name != self.name.strip(" .") or set(self.name) & set("/\\"):
            raise ValueError(f"name must be a plain file name: got '{self.name}'.")
        if self.name.lower() in RUN_FILES or self.name.lower().startswith(("step-", "slim-")):
            raise ValueError(
                f"name must not be that of a file that every run has: got '{self.name}'. "
                "The weights are written beside those: choose another name."
            )
        counts = ("num_updates", "batch_size", "pool", "masks_per_shot", "updates_per_call")
        _require(self, "be at least 1", lambda x: x >= 1, *counts)
        optional = ("num_steps", "evaluate_every", "pool_iterations")
        _require(self, "be at least 1", lambda x: x is None or x >= 1, *optional)
        _require(self, "lie in 0..999999999", lambda x: 0 <= x < 10**9, "num_updates", "seed")
        _require(self, "be at least 0", lambda x: x >= 0, "evaluate_shots")
        _require(self, "lie in (0, 0.5]", lambda x: all(0 < p <= 0.5 for p in x), "evaluate_p")
        _require(self, "be at least 1", lambda x: all(rounds >= 1 for rounds in x), "rounds")
        _require(self, "lie in [0, 1)", lambda x: 0 <= x < 1, "ema", "doubted")
        _require_choice("objective", self.objective, ("masked", "autoregressive", "continuous"))
        _require_choice("frames", self.frames, ("sum", "random"))
        _require_choice("compute_dtype", self.compute_dtype, ("float32", "bfloat16"))
        _require_choice("generator", self.generator, ("rbg", "threefry2x32"))
        share = sum(stage.fraction for stage in self.stages)
        if share > 1 + 1e-9:
            raise ValueError(f"stages must have fractions of at most 1 together: got {share:.6g}.")
        if self.rounds and self.stages:
            raise ValueError(
                "stages must be empty where rounds are given: shots of other lengths have other "
                f"frames. Got {len(self.stages)} stages. Set stages=[]."
            )
        if self.endings:
            self._require_endings()
        if self.pool > 1 and not self.network.bp_iterations:
            raise ValueError(
                f"pool must be 1 for a network without bp_iterations: got {self.pool}."
            )
        if self.doubted and self.pool == 1:
            raise ValueError(f"doubted must be 0 without a pool: got {self.doubted}. Set pool=4.")
        if self.pool_iterations is not None and self.network.bp_use != "filter":
            raise ValueError(
                "pool_iterations must be null for a network that reads what belief propagation "
                f"says: got {self.pool_iterations}. Set network.bp_use=filter."
            )
        if self.attempts and not self.network.bp_iterations:
            raise ValueError(
                "attempts must be empty for a network without bp_iterations: got "
                f"{len(self.attempts)} of them."
            )
        if self.translate_masks and self.network.ties != "tied":
            raise ValueError(
                f"translate_masks must be false unless network.ties is tied: got "
                f"{self.network.ties}, whose hidden state does not move with the shot."
            )
        if (self.objective == "continuous") != (self.network.kind == "continuous"):
            raise ValueError(
                f"objective {self.objective} must go with its network: got {self.network.kind}."
            )

    def _require_endings(self) -> None:
        """Only networks that know no frame read an experiment that ends more than once."""
        _require(self, "rise, from 1 on", lambda x: all(map(int.__lt__, (0, *x), x)), "endings")
        beside = {
            "rounds": (bool(self.rounds), "rounds=[]"),
            "stages": (bool(self.stages), "stages=[]"),
            "a pool": (self.pool > 1, "pool=1"),
            "attention": (self.network.mixing != "messages", "network.mixing=messages"),
            "rates that are told": (self.network.told_rates, "network.told_rates=false"),
            "what belief propagation says": (
                self.network.bp_iterations > 0 and self.network.bp_use != "filter",
                "network.bp_use=filter",
            ),
        }
        for what, (there, way_out) in beside.items():
            if there:
                raise ValueError(
                    f"endings must be empty beside {what}: got {list(self.endings)}. "
                    f"Set endings=[] or {way_out}."
                )


def to_json(config: TrainConfig) -> str:
    return json.dumps(dataclasses.asdict(config), indent=1)


def from_json(text: str | bytes) -> TrainConfig:
    try:
        return _read(TrainConfig, json.loads(text), "")
    except RecursionError:
        raise ValueError("config must be nested less deeply: it is no recipe.") from None


def override(config: TrainConfig, assignments: Sequence[str]) -> TrainConfig:
    """Applies 'key=value' with dotted keys; values are JSON, or plain words.

    >>> base = TrainConfig("x", 10, 4)
    >>> override(base, ["network.width=64", "noise.p=0.01"]).network.width
    64
    """
    tree = dataclasses.asdict(config)
    known = _keys(tree)
    for assignment in assignments:
        key, separator, text = assignment.partition("=")
        if not separator:
            raise ValueError(f"--set must have the form key=value: got '{assignment}'.")
        if key not in known:
            raise ValueError(f"key must be one of the recipe's: got '{key}'.{nearest(key, known)}")
        *parents, last = key.split(".")
        branch = functools.reduce(lambda branch, parent: branch[parent], parents, tree)
        try:
            branch[last] = json.loads(text)
        except json.JSONDecodeError:
            branch[last] = text
    return _read(TrainConfig, tree, "")


def _read(hint: Any, value: Any, name: str) -> Any:
    """What JSON said about field `name`, as the field's type."""
    arguments = get_args(hint)
    if dataclasses.is_dataclass(hint):
        return _read_fields(hint, value, name)
    if get_origin(hint) is types.UnionType:  # X | None
        return None if value is None else _read(arguments[0], value, name)
    if get_origin(hint) is tuple and isinstance(value, list | tuple):  # tuple[X, ...]
        return tuple(_read(arguments[0], item, f"{name}[{i}]") for i, item in enumerate(value))
    if hint is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if hint is int and type(value) is float and value.is_integer() and abs(value) < 2**53:
        return int(value)  # 1e3
    if type(value) is hint and hint is not float:
        return value
    kind = {int: "a whole number", float: "a finite number", str: "a word", bool: "true or false"}
    raise ValueError(f"{name} must be {kind.get(hint, 'a list')}: got {json.dumps(value)}.")


def _read_fields(kind: Any, tree: Any, name: str) -> Any:
    fields = {field.name: get_type_hints(kind)[field.name] for field in dataclasses.fields(kind)}
    if isinstance(tree, list | tuple) and len(tree) <= len(fields):
        tree = dict(zip(fields, tree, strict=False))  # values in the order of the fields
    if not isinstance(tree, Mapping):
        raise ValueError(f"{name or 'config'} must have keys and values: got {json.dumps(tree)}.")
    prefix = f"{name}." if name else ""
    for key in tree:
        if key not in fields:
            raise ValueError(
                f"key must be one of the recipe's: got '{prefix}{key}'.{nearest(key, fields)}"
            )
    values = {key: _read(fields[key], value, prefix + key) for key, value in tree.items()}
    try:
        return kind(**values)
    except TypeError:
        needed = [f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING]
        raise ValueError(f"{name or 'config'} must set {', '.join(needed)}.") from None


def _keys(tree: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Dotted names of all leaves."""
    keys = []
    for key, value in tree.items():
        nested = isinstance(value, Mapping)
        keys.extend(_keys(value, f"{prefix}{key}.") if nested else [prefix + key])
    return keys
