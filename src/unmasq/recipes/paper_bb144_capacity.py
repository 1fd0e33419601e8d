"""The paper's masked code-capacity decoder for [[144,12,12]], to the letter.

It has one more weight for each place of a layer's attention (`place_weights`), which the paper's
count of parameters needs and its text does not mention: docs/paper.md, table I.

Run:    unmasq train paper-bb144-capacity --out runs/paper-bb144-capacity
Cost:   about 4 days on one A100, as published; not run here
Expect: the paper's figures
"""

from unmasq.models import NetworkConfig
from unmasq.training.config import NoiseSchedule, OptimizerConfig, ProblemConfig, TrainConfig

RECIPE = TrainConfig(
    name="paper-bb144-capacity",
    num_updates=8_800_000,
    batch_size=250,
    problem=ProblemConfig("bb144", "code-capacity"),
    network=NetworkConfig(
        width=96,
        feedforward=384,
        encoder_layers=0,
        decoder_layers=32,
        place_weights=True,
    ),
    # 1e-4 to 1e-5 by a cosine within 2,000 updates.
    optimizer=OptimizerConfig(
        "adamw", 1e-4, flat_until=0.0, fall_until=2_000 / 8_800_000, last=0.1
    ),
    noise=NoiseSchedule(p=0.06),
    ema=0.0,  # the paper averages no weights
)
