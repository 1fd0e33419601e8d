"""[[18,4,4]], 4 rounds, circuit-level noise: messages and a still decoder, for a CPU.

Run:    unmasq train bb18-messages --cpu-devices 2 --out runs/bb18-messages
Cost:   not yet run at this length
Expect: not yet run; a smaller one (width 32, 1000 updates) has a fifth fewer failures at p = 0.006
        than attention after as many samples
"""

from unmasq.models import NetworkConfig
from unmasq.training.config import NoiseSchedule, OptimizerConfig, ProblemConfig, TrainConfig

RECIPE = TrainConfig(
    name="bb18-messages",
    num_updates=5000,
    batch_size=128,
    problem=ProblemConfig("bb18", "circuit", 4),
    network=NetworkConfig(
        width=64,
        feedforward=128,
        heads=16,
        encoder_layers=2,
        ties="tied",
        biases=False,
        mixing="messages",
        message_width=64,
        decoder="still",
    ),
    optimizer=OptimizerConfig(
        "muon", 1e-3, 1e-2, b2=0.98, clip=1.0, warm_up=0.03, flat_until=0.5, last=0.02
    ),
    noise=NoiseSchedule(p=0.006, low=0.5, start=0.0005, ramp=0.2),
    masks_per_shot=4,
    translate_masks=True,
    ema=0.998,
    generator="threefry2x32",  # the faster one on a CPU
    evaluate_p=(0.003, 0.006),
)
