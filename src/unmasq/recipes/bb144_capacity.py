"""[[144,12,12]], code-capacity noise: masked, tied, begun with belief propagation.

Run:    unmasq train bb144-capacity --fit-minutes 9 --out runs/bb144-capacity
Cost:   21.6 million samples in 526 s of one H200
Expect: of 131,072 shots 48 failures at p = 0.05 (BP4+OSD-10: 58, tuned: 69), 228 at 0.06
        (258, 198), 11,567 at 0.1 (11,623, 8811)
"""

import dataclasses

from unmasq.recipes import bb72_capacity
from unmasq.training.config import NoiseSchedule, ProblemConfig

RECIPE = dataclasses.replace(
    bb72_capacity.RECIPE,
    name="bb144-capacity",
    batch_size=2048,
    pool=4,
    problem=ProblemConfig("bb144", "code-capacity"),
    network=dataclasses.replace(bb72_capacity.RECIPE.network, encoder_layers=8, bp_iterations=32),
    noise=NoiseSchedule(p=0.11, low=0.5, start=0.01, ramp=0.15),
    evaluate_p=(0.05, 0.06, 0.08, 0.1),
)
