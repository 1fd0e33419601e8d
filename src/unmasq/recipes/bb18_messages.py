"""[[18,4,4]], 4 rounds, circuit-level noise: messages and a still decoder, for a CPU.

Run:    unmasq train bb18-messages --cpu-devices 2 --out runs/bb18-messages
Cost:   not yet run at this length
Expect: not yet run; a smaller one (width 32, 1000 updates) has a fifth fewer failures at p = 0.006
        than attention after as many samples
"""

import dataclasses

from unmasq.recipes import bb18_circuit

RECIPE = dataclasses.replace(
    bb18_circuit.RECIPE,
    name="bb18-messages",
    network=dataclasses.replace(
        bb18_circuit.RECIPE.network,
        encoder_layers=2,
        mixing="messages",
        message_width=64,
        decoder="still",
    ),
    stages=(),
    frames="sum",
)
