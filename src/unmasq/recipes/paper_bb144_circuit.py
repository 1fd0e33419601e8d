"""The paper's masked circuit-level decoder for [[144,12,12]], to the letter.

Frames 0..6 first, then up to frame 12 at a tenth of the learning rate.

Run:    unmasq train paper-bb144-circuit --out runs/paper-bb144-circuit
Cost:   about 10 days (2.5e8 samples) on one A100, as published; not run here
Expect: the paper's figures
"""

from unmasq.models import NetworkConfig
from unmasq.training.config import NoiseSchedule, OptimizerConfig, ProblemConfig, Stage, TrainConfig

RECIPE = TrainConfig(
    name="paper-bb144-circuit",
    num_updates=1_986_000,
    batch_size=125,
    problem=ProblemConfig("bb144", "circuit", 12),
    network=NetworkConfig(width=512, feedforward=1024),
    # 1e-6 to 1e-4 within 2,000 updates; from stage 8 on 1e-7 to 1e-5.
    optimizer=OptimizerConfig("adamw", 1e-4, first=0.01, warm_up=2_000 / 1_986_000),
    noise=NoiseSchedule(p=0.006),
    ema=0.0,  # the paper averages no weights
    stages=(
        *(Stage(first, 6, 160_000 / 1_986_000) for first in range(7)),
        *(Stage(first, 12, 96_000 / 1_986_000, rate=0.1) for first in range(6, 12)),
    ),
    frames="sum",
)
