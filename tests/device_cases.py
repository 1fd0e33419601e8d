"""The losses of a few updates, on as many devices as this process has.

There is a case for each way in which a batch is cut among them.
"""

import json
import sys

import jax

from tiny_runs import TINY, framed_problem
from unmasq.codes import get_code
from unmasq.problems.building import problem_from_code
from unmasq.training import override
from unmasq.training.curriculum import frame_ranges
from unmasq.training.make_trainer import make_trainer

UPDATES = 3
SETTINGS = {
    "translated masks, told rates": [
        "network.encoder_layers=1",
        "network.mixing=messages",
        "network.message_width=8",
        "network.ties=tied",
        "network.told_rates=true",
        "noise.p=0.01",
        "noise.spread=0.7",
        "masks_per_shot=3",
        "translate_masks=true",
    ],
    "several endings": [
        "network.encoder_layers=1",
        "network.mixing=messages",
        "network.message_width=8",
        "network.ties=tied",
        "network.decoder=still",
        "noise.p=0.01",
        "masks_per_shot=3",
        "translate_masks=true",
        "endings=[1,3]",
    ],
    "all frames, autoregressive": [
        "network.encoder_layers=1",
        "stages=[[0,-1,1.0]]",
        "objective=autoregressive",
    ],
    "one frame of each": ["network.encoder_layers=1", "stages=[[0,-1,1.0]]", "frames=random"],
    "a pool": ["network.bp_iterations=2", "network.bp_scaling=0.5", "noise.p=0.1", "pool=2"],
    "continuous": ["objective=continuous", "network.kind=continuous", "network.time_width=4"],
}


def losses(case: str) -> list[float]:
    config = override(TINY, [*SETTINGS[case], "generator=threefry2x32"])
    problem = framed_problem()
    if case == "translated masks, told rates":
        problem = problem_from_code(get_code("bb18"), "circuit", 0.01, 1)
    elif case == "several endings":
        problem = problem_from_code(get_code("bb18"), "circuit", 0.01, 3)
    elif case in ("a pool", "continuous"):
        problem = problem_from_code(get_code("bb18"), "code-capacity", 0.1)
    trainer = make_trainer(config, problem)
    frames = frame_ranges(config, problem.layout.num_frames)[0]
    return trainer.advance(trainer.start(), frames, UPDATES)[1].tolist()


if __name__ == "__main__":
    assert jax.device_count() == 2
    print(json.dumps(losses(sys.argv[1])))
