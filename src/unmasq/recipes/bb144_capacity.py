"""[[144,12,12]], code-capacity noise: masked, tied, begun with belief propagation.

Run:    unmasq train bb144-capacity --fit-minutes 9 --out runs/bb144-capacity
Cost:   21.6 million samples in 526 s of one H200
Expect: of 131,072 shots 48 failures at p = 0.05 (BP4+OSD-10: 58, tuned: 69), 228 at 0.06
        (258, 198), 11,567 at 0.1 (11,623, 8811)
"""

from unmasq.models import NetworkConfig
from unmasq.training.config import NoiseSchedule, OptimizerConfig, ProblemConfig, TrainConfig

RECIPE = TrainConfig(
    name="bb144-capacity",
    num_updates=20_000,
    batch_size=2048,
    pool=4,
    problem=ProblemConfig("bb144", "code-capacity"),
    network=NetworkConfig(
        width=192,
        feedforward=384,
        heads=16,
        encoder_layers=8,
        decoder_layers=3,
        ties="tied",
        norm="pre",
        biases=False,
        bp_iterations=32,
    ),
    optimizer=OptimizerConfig(
        "muon", 2e-3, 2e-2, b2=0.98, clip=1.0, warm_up=0.02, flat_until=0.4, last=0.01
    ),
    noise=NoiseSchedule(p=0.11, low=0.5, start=0.01, ramp=0.15),
    masks_per_shot=2,
    translate_masks=True,
    ema=0.998,
    compute_dtype="bfloat16",
    evaluate_p=(0.05, 0.06, 0.08, 0.1),
    evaluate_shots=65536,
)
