"""[[144,12,12]], 12 rounds, circuit-level noise: begun with belief propagation, lifted from bb72.

Belief propagation solves most shots; the network is trained on those that it does not.

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
    pool=2,
    network=dataclasses.replace(
        bb144_messages.RECIPE.network,
        closing_layers=4,
        bp_iterations=40,
        bp_scaling=1.0,
        bp_memory=0.15,
    ),
    noise=NoiseSchedule(p=0.006, low=0.5, start=0.002, ramp=0.2),
)
