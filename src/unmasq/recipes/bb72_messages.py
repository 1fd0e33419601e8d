"""[[72,12,6]], 6 rounds, circuit-level noise: messages, closing layers and a still decoder.

What other codes of the family are lifted from.

Run:    unmasq train bb72-messages --out runs/bb72-messages
Cost:   2 minutes of one H200 for a first decoder; a whole schedule is not yet run
Expect: after 1.95 minutes (--fit-minutes 1.95 --set noise.low=0.5), of 32,768 shots 8484 failures
        at p = 0.006, 0.259 [0.254, 0.264], and 361 at 0.003, 1.10 [0.99, 1.22]e-02
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
        closing_layers=4,
        mixing="messages",
        message_width=128,
        decoder="still",
    ),
    noise=NoiseSchedule(p=0.006, low=0.3, start=0.0005, ramp=0.15),
    stages=(),
    frames="sum",
)
