"""[[72,12,6]], 6 rounds, circuit-level noise: messages, closing layers and a still decoder.

What other codes of the family are lifted from.

Run:    unmasq train bb72-messages --fit-minutes 8.9 --out runs/bb72-messages
        (the shipped weights: tools/train_shipped.py, on in four more runs)
Cost:   9 minutes of one H200, 12.9 million samples; shipped: 37 minutes, 47.6 million
Expect: of 65,536 shots 11,546 failures at p = 0.006, 0.176 [0.173, 0.179], and 364 at p = 0.003,
        5.55 [5.00, 6.15]e-03; shipped: 9526, 0.145 [0.143, 0.148], and 276, 4.21 [3.73, 4.74]e-03
"""

import dataclasses

from unmasq.recipes import bb72_circuit
from unmasq.training.config import NoiseSchedule

RECIPE = dataclasses.replace(
    bb72_circuit.RECIPE,
    name="bb72-messages",
    batch_size=2048,
    network=dataclasses.replace(
        bb72_circuit.RECIPE.network,
        encoder_layers=3,
        closing_layers=3,
        mixing="messages",
        message_width=128,
        decoder="still",
    ),
    optimizer=dataclasses.replace(bb72_circuit.RECIPE.optimizer, flat_until=0.1),
    noise=NoiseSchedule(p=0.007, low=0.3, start=0.0005, ramp=0.15),
    masks_per_shot=8,
    stages=(),
    frames="sum",
)
