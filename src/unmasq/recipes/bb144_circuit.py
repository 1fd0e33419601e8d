"""[[144,12,12]], 12 rounds, circuit-level noise: begun with belief propagation, lifted from bb72.

Belief propagation answers the shots that it solves; the network is trained on the others, which it
reads as they are: what a wrong guess leaves is harder to read than the shot.

Run:    unmasq train bb144-circuit --init runs/bb72-messages --out runs/bb144-circuit
Cost:   not yet run
Expect: not yet run
"""

import dataclasses

from unmasq.recipes import bb144_messages
from unmasq.training.config import NoiseSchedule

RECIPE = dataclasses.replace(
    bb144_messages.RECIPE,
    name="bb144-circuit",
    pool=3,
    pool_iterations=40,  # 23 microseconds a shot of the pool on an H200
    network=dataclasses.replace(
        bb144_messages.RECIPE.network,
        bp_use="filter",
        bp_iterations=160,
        bp_scaling=1.0,
        bp_memory=0.15,
    ),
    noise=NoiseSchedule(p=0.005, low=0.6, start=0.002, ramp=0.2),
)
