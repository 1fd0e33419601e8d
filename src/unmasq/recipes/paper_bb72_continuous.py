"""The paper's continuous code-capacity decoder for [[72,12,6]], to the letter.

Run:    unmasq train paper-bb72-continuous --out runs/paper-bb72-continuous
Cost:   about 32 hours on one A100, as published; not run here
Expect: the paper's figures
"""

from unmasq.models import NetworkConfig
from unmasq.training.config import NoiseSchedule, OptimizerConfig, ProblemConfig, TrainConfig

RECIPE = TrainConfig(
    name="paper-bb72-continuous",
    num_updates=80_000_000,
    batch_size=250,
    problem=ProblemConfig("bb72", "code-capacity"),
    network=NetworkConfig(kind="continuous", feedforward=2048),
    objective="continuous",
    num_steps=200,
    # 1e-3 to 1e-5 by a cosine within 2,000 updates.
    optimizer=OptimizerConfig(
        "adamw", 1e-3, flat_until=0.0, fall_until=2_000 / 80_000_000, last=0.01
    ),
    noise=NoiseSchedule(p=0.12),
    ema=0.0,  # the paper averages no weights
)
