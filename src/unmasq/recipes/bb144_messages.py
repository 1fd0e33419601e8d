"""[[144,12,12]], 12 rounds, circuit-level noise: bb72-messages lifted to the larger code.

Muon's 0.01 is too much here, lifted or from nothing: the loss rises and stays at 12 ln 2.

Run:    unmasq train bb144-messages --init runs/bb72-messages --out runs/bb144-messages
Cost:   not yet run at this length; 3 minutes of one H200 for 1500 updates, 1.5 million samples
Expect: after those (seed 51) of 16,384 shots 67 failures at p = 0.003, 4.09 [3.17, 5.19]e-03, and
        2598 at 0.005, 0.159 [0.153, 0.164]; from nothing 1505 and 10,928 after 1030 updates
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
