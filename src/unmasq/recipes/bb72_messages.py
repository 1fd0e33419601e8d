"""[[72,12,6]], 6 rounds, circuit-level noise: messages and a still decoder.

What other codes of the family are lifted from.

Run:    unmasq train bb72-messages --out runs/bb72-messages
Cost:   not yet run
Expect: not yet run
"""

from unmasq.models import NetworkConfig
from unmasq.training.config import NoiseSchedule, OptimizerConfig, ProblemConfig, TrainConfig

RECIPE = TrainConfig(
    name="bb72-messages",
    num_updates=10_000,
    batch_size=4096,
    problem=ProblemConfig("bb72", "circuit", 6),
    network=NetworkConfig(
        width=256,
        feedforward=512,
        heads=16,
        encoder_layers=2,
        ties="tied",
        biases=False,
        mixing="messages",
        message_width=128,
        decoder="still",
    ),
    optimizer=OptimizerConfig(
        "muon", 1e-3, 1e-2, b2=0.98, clip=1.0, warm_up=0.02, flat_until=0.4, last=0.01
    ),
    noise=NoiseSchedule(p=0.006, low=0.3, start=0.0005, ramp=0.15),
    masks_per_shot=4,
    translate_masks=True,
    ema=0.998,
    compute_dtype="bfloat16",
    evaluate_p=(0.002, 0.003, 0.006),
    evaluate_shots=65536,
)
