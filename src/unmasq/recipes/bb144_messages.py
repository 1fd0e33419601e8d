"""[[144,12,12]], 12 rounds, circuit-level noise: bb72-messages lifted to the larger code.

Muon's 0.01 is too much for a lifted network; from nothing it needs other rates.

Run:    unmasq train bb144-messages --init runs/bb72-messages --out runs/bb144-messages
Cost:   not yet run
Expect: not yet run
"""

import dataclasses

from unmasq.recipes import bb72_messages
from unmasq.training.config import NoiseSchedule, OptimizerConfig, ProblemConfig

RECIPE = dataclasses.replace(
    bb72_messages.RECIPE,  # the network, masks and number of updates
    name="bb144-messages",
    batch_size=1024,
    problem=ProblemConfig("bb144", "circuit", 12),
    optimizer=OptimizerConfig(
        "muon", 5e-4, 3e-3, b2=0.98, clip=1.0, warm_up=0.06, flat_until=0.4, last=0.01
    ),
    noise=NoiseSchedule(p=0.0045, low=0.5, start=0.0008, ramp=0.4),
    evaluate_p=(0.002, 0.003, 0.005),
    evaluate_shots=16384,
)
