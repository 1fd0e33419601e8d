"""[[72,12,6]], code-capacity noise: masked, tied, begun with belief propagation.

Run:    unmasq train bb72-capacity --fit-minutes 3 --out runs/bb72-capacity
Cost:   14.1 million samples in 177 s of one H200
Expect: of 131,072 shots 82 failures at p = 0.0193 (BP4+OSD-10: 100, tuned: 99), 2913 at 0.0518
        (2961, 3052) and 31,371 at 0.1 (32,055, 30,460)
"""

from unmasq.models import NetworkConfig
from unmasq.training.config import (
    BpAttempt,
    NoiseSchedule,
    OptimizerConfig,
    ProblemConfig,
    TrainConfig,
)

RECIPE = TrainConfig(
    name="bb72-capacity",
    num_updates=20_000,
    batch_size=4096,
    pool=3,
    attempts=tuple(
        BpAttempt(100, scaling) for scaling in (0.5, 0.625, 0.75, 0.875, 1.0, 0.8, 0.7, 0.95)
    ),
    problem=ProblemConfig("bb72", "code-capacity"),
    network=NetworkConfig(
        width=192,
        feedforward=384,
        heads=16,
        encoder_layers=6,
        decoder_layers=3,
        ties="tied",
        norm="pre",
        biases=False,
        bp_iterations=16,
    ),
    optimizer=OptimizerConfig(
        "muon", 2e-3, 2e-2, b2=0.98, clip=1.0, warm_up=0.02, flat_until=0.4, last=0.01
    ),
    noise=NoiseSchedule(p=0.12, low=0.3, start=0.01, ramp=0.15),
    masks_per_shot=2,
    translate_masks=True,
    ema=0.998,
    compute_dtype="bfloat16",
    evaluate_p=(0.0193, 0.0518, 0.1),
    evaluate_shots=65536,
)
