"""[[144,12,12]], 12 rounds, circuit-level noise, basis Z: lifted from basis X by duality.

The code's duality exchanges X and Z checks, so that matrices of one relation become those of
another: exact for the code, near enough for its circuit to begin with.

Run:    unmasq train bb144-circuit-z --init bb144-circuit --fit-minutes 4.5 --out runs/bb144-z
        (the shipped weights: tools/train_shipped.py)
Cost:   5 minutes of one H200, 1.5 million samples; 23 for what it is lifted from
Expect: T = 12: 71 failures of 1,000,000 shots at p = 0.002, 7.10 [5.55, 8.96]e-05, 520 of 262,144
        at 0.003, 1.98 [1.82, 2.16]e-03, and 9001 of 65,536 at 0.005, 0.137 [0.135, 0.140]
"""

import dataclasses

from unmasq.recipes import bb144_circuit

RECIPE = dataclasses.replace(
    bb144_circuit.RECIPE,
    name="bb144-circuit-z",
    problem=dataclasses.replace(bb144_circuit.RECIPE.problem, basis="Z"),
    optimizer=dataclasses.replace(
        bb144_circuit.RECIPE.optimizer,
        learning_rate=4e-4,
        muon_learning_rate=2.5e-3,
        flat_until=0.1,
    ),
    noise=dataclasses.replace(bb144_circuit.RECIPE.noise, ramp=0.0),
)
