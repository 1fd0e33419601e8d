"""[[72,12,6]], 6 rounds, circuit-level noise: messages and a still decoder.

What other codes of the family are lifted from.

Run:    unmasq train bb72-messages --out runs/bb72-messages
Cost:   not yet run
Expect: not yet run
"""

import dataclasses

from unmasq.recipes import bb72_circuit
from unmasq.training.config import NoiseSchedule

RECIPE = dataclasses.replace(
    bb72_circuit.RECIPE,
    name="bb72-messages",
    network=dataclasses.replace(
        bb72_circuit.RECIPE.network,
        encoder_layers=2,
        mixing="messages",
        message_width=128,
        decoder="still",
    ),
    noise=NoiseSchedule(p=0.006, low=0.3, start=0.0005, ramp=0.15),
    stages=(),
    frames="sum",
)
