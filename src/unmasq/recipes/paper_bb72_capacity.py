"""The paper's masked code-capacity decoder for [[72,12,6]], to the letter.

Run:    unmasq train paper-bb72-capacity --out runs/paper-bb72-capacity
Cost:   about 4 days on one A100, as published; not run here
Expect: the paper's figures
"""

from unmasq.models import NetworkConfig
from unmasq.training.config import NoiseSchedule, OptimizerConfig, ProblemConfig, TrainConfig

RECIPE = TrainConfig(
    name="paper-bb72-capacity",
    num_updates=16_000_000,
    batch_size=250,
    problem=ProblemConfig("bb72", "code-capacity"),
    network=NetworkConfig(
        width=128,
        feedforward=512,
        encoder_layers=0,
        decoder_layers=4,
    ),
    # 1e-4 to 1e-5 by a cosine within 2,000 updates.
    optimizer=OptimizerConfig(
        "adamw", 1e-4, flat_until=0.0, fall_until=2_000 / 16_000_000, last=0.1
    ),
    noise=NoiseSchedule(p=0.12),
    ema=0.0,  # the paper averages no weights
)
