"""[[18,4,4]], 4 rounds, circuit-level noise: a small network for a CPU.

Run:    unmasq train bb18-circuit --fit-minutes 10 --cpu-devices 2 --out runs/bb18
Cost:   10 minutes on 2 CPU cores
Expect: on the same 16,384 shots 0.246 at p = 0.006 (4030 failures; BP-OSD(X) 3769) and
        6.20e-2 at p = 0.003 (1016; BP-OSD(X) 1131)
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
    name="bb18-circuit",
    num_updates=5000,
    batch_size=128,
    problem=ProblemConfig("bb18", "circuit", 4),
    network=NetworkConfig(width=64, feedforward=128, heads=16, ties="tied", biases=False),
    optimizer=OptimizerConfig(
        "muon", 1e-3, 1e-2, b2=0.98, clip=1.0, warm_up=0.03, flat_until=0.5, last=0.02
    ),
    noise=NoiseSchedule(p=0.006, low=0.5, start=0.0005, ramp=0.2),
    masks_per_shot=4,
    translate_masks=True,
    stages=(Stage(0, -1, 0.25),),
    frames="random",
    ema=0.998,
    generator="threefry2x32",  # the faster one on a CPU
    evaluate_p=(0.003, 0.006),
)
