"""Training: a recipe and a problem to weights, in a run folder that survives anything."""

from unmasq.training.config import (
    NoiseSchedule,
    OptimizerConfig,
    ProblemConfig,
    Stage,
    TrainConfig,
    from_json,
    override,
    to_json,
)

__all__ = [
    "NoiseSchedule",
    "OptimizerConfig",
    "ProblemConfig",
    "Stage",
    "TrainConfig",
    "from_json",
    "override",
    "to_json",
]
