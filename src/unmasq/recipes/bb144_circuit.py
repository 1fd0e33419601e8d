"""[[144,12,12]], 12 rounds, circuit-level noise: begun with belief propagation, lifted from bb72.

Belief propagation answers the shots that it solves; the network is trained on the others, which it
reads as they are: what a wrong guess leaves is harder to read than the shot.

Run:    unmasq train bb144-circuit --init bb72-messages --fit-minutes 8.5 --out runs/bb144-circuit
        (the shipped weights: tools/train_shipped.py, in two runs)
Cost:   9 minutes of one H200, 2.5 million samples; shipped: 14 minutes, and 9 for bb72-messages
Expect: shipped, T = 12: 68 failures of 2,500,000 shots at p = 0.002, 2.72 [2.11, 3.45]e-05, 270 of
        262,144 at 0.003, 1.03 [0.91, 1.16]e-03, and 6060 of 65,536 at 0.005, 9.25 [9.03, 9.47]e-02
"""

import dataclasses

from unmasq.recipes import bb144_messages
from unmasq.training.config import BpAttempt, NoiseSchedule

RECIPE = dataclasses.replace(
    bb144_messages.RECIPE,
    name="bb144-circuit",
    pool=3,
    pool_iterations=40,  # 23 microseconds a shot of the pool on an H200
    attempts=(
        BpAttempt(160, 0.9, 0.15),
        BpAttempt(160, 1.0, 0.1),
        BpAttempt(160, 0.95, 0.12),
        BpAttempt(160, 0.85, 0.1),
        BpAttempt(160, 1.0, 0.2),
        BpAttempt(160, 0.9, 0.2),
    ),
    network=dataclasses.replace(
        bb144_messages.RECIPE.network,
        bp_use="filter",
        bp_iterations=160,
        bp_scaling=1.0,
        bp_memory=0.15,
    ),
    noise=NoiseSchedule(p=0.005, low=0.6, start=0.002, ramp=0.2),
)
