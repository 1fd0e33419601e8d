"""The paper's continuous code-capacity decoder for [[144,12,12]], to the letter.

Run:    unmasq train paper-bb144-continuous --out runs/paper-bb144-continuous
Cost:   about 42 hours on one A100, as published; not run here
Expect: the paper's figures
"""

import dataclasses

from unmasq.recipes import paper_bb72_continuous
from unmasq.training.config import NoiseSchedule, ProblemConfig

RECIPE = dataclasses.replace(
    paper_bb72_continuous.RECIPE,
    name="paper-bb144-continuous",
    problem=ProblemConfig("bb144", "code-capacity"),
    noise=NoiseSchedule(p=0.06),
)
