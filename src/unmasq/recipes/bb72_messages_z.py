"""[[72,12,6]], circuit-level noise, basis Z: lifted from basis X by duality.

The code's duality exchanges X and Z checks, so that matrices of one relation become those of
another: exact for the code, near enough for its circuit to begin with.

Run:    unmasq train bb72-messages-z --init bb72-messages --fit-minutes 8.8 --out runs/bb72-z
        (the shipped weights: tools/train_shipped.py)
Cost:   9 minutes of one H200, 14.5 million samples; 37 for what it is lifted from
Expect: of 65,536 shots 10,163 failures at p = 0.006, 0.155 [0.152, 0.158], and 299 at p = 0.003,
        4.56 [4.06, 5.11]e-03
"""

import dataclasses

from unmasq.recipes import bb72_messages

RECIPE = dataclasses.replace(
    bb72_messages.RECIPE,
    name="bb72-messages-z",
    batch_size=1024,
    problem=dataclasses.replace(bb72_messages.RECIPE.problem, basis="Z"),
    optimizer=dataclasses.replace(
        bb72_messages.RECIPE.optimizer, learning_rate=4e-4, muon_learning_rate=4e-3
    ),
    noise=dataclasses.replace(bb72_messages.RECIPE.noise, ramp=0.0),
)
