"""[[108,8,10]], 10 rounds, circuit-level noise: bb72-messages lifted to the larger code.

Muon's 0.01 is too much for a lifted network.

Run:    unmasq train bb108-messages --init runs/bb72-messages --out runs/bb108-messages
Cost:   not yet run
Expect: not yet run
"""

import dataclasses

from unmasq.recipes import bb144_messages
from unmasq.training.config import ProblemConfig

RECIPE = dataclasses.replace(
    bb144_messages.RECIPE,
    name="bb108-messages",
    problem=ProblemConfig("bb108", "circuit", 10),
)
