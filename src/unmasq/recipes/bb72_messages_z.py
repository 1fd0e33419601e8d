"""[[72,12,6]], circuit-level noise, basis Z: lifted from basis X by duality.

The code's duality exchanges X and Z checks, so that matrices of one relation become those of
another: exact for the code, near enough for its circuit to begin with.

Run:    unmasq train bb72-messages-z --init bb72-messages --fit-minutes 8.9 --out runs/bb72-z
Cost:   not yet run
Expect: not yet run
"""

import dataclasses

from unmasq.recipes import bb72_messages

RECIPE = dataclasses.replace(
    bb72_messages.RECIPE,
    name="bb72-messages-z",
    batch_size=1024,
    problem=dataclasses.replace(bb72_messages.RECIPE.problem, basis="Z"),
    optimizer=dataclasses.replace(
        bb72_messages.RECIPE.optimizer, learning_rate=5e-4, muon_learning_rate=5e-3
    ),
    noise=dataclasses.replace(bb72_messages.RECIPE.noise, ramp=0.0),
    endings=(6, 12),
)
