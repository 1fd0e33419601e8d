"""[[72,12,6]], 6 rounds, circuit-level noise: the tied network at the paper's size.

Run:    make weights (three runs: this recipe, and twice on from its weights)
Cost:   32 minutes of one H200; 2.3 minutes for a first decoder
Expect: of 65,536 shots 11,179 failures at p = 0.006, 0.171 [0.168, 0.173], and 328 at p = 0.003,
        5.00 [4.48, 5.58]e-03; after 2.3 minutes from scratch (--fit-minutes 2.3 --set stages=[])
        of 32,768 shots 12,208 and 729
"""

from unmasq.models import NetworkConfig
from unmasq.training.config import (
    NoiseSchedule,
    OptimizerConfig,
    ProblemConfig,
    Stage,
    TrainConfig,
)

RECIPE = TrainConfig(
    name="bb72-circuit",
    num_updates=10_000,
    batch_size=4096,
    problem=ProblemConfig("bb72", "circuit", 6),
    network=NetworkConfig(width=256, feedforward=512, heads=16, ties="tied", biases=False),
    optimizer=OptimizerConfig(
        "muon", 1e-3, 1e-2, b2=0.98, clip=1.0, warm_up=0.02, flat_until=0.4, last=0.01
    ),
    noise=NoiseSchedule(p=0.006, low=0.5, start=0.0005, ramp=0.15),
    masks_per_shot=4,
    translate_masks=True,
    stages=(Stage(0, -1, 0.15),),
    frames="random",
    ema=0.998,
    compute_dtype="bfloat16",
    evaluate_p=(0.002, 0.003, 0.006),
    evaluate_shots=65536,
)
