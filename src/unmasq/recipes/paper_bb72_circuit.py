"""The paper's masked circuit-level decoder for [[72,12,6]], to the letter.

Run:    unmasq train paper-bb72-circuit --out runs/paper-bb72-circuit
Cost:   about 32 hours (3.0e8 samples) on one A100, as published; not run here
Expect: the paper's figures
"""

from unmasq.models import NetworkConfig
from unmasq.training.config import NoiseSchedule, OptimizerConfig, ProblemConfig, Stage, TrainConfig

RECIPE = TrainConfig(
    name="paper-bb72-circuit",
    num_updates=1_200_000,
    batch_size=250,
    problem=ProblemConfig("bb72", "circuit", 6),
    network=NetworkConfig(width=256, feedforward=512),
    # 1e-6 to 1e-4 within 2,000 updates.
    optimizer=OptimizerConfig("adamw", 1e-4, first=0.01, warm_up=2_000 / 1_200_000),
    noise=NoiseSchedule(p=0.006),
    ema=0.0,  # the paper averages no weights
    stages=tuple(Stage(first, 6, 80_000 / 1_200_000) for first in range(6)),
    frames="sum",
)
