"""A problem of your own, from `unmasq problem`: where `unmasq train own` starts from.

Give the problem with --problem. `recipes.chosen` puts a network with messages in place of this one
where the problem has a Tanner graph, sets batch and learning rate by its size and the device, and
trains for 10 minutes unless told otherwise (--fit-minutes). A bare error model has this network:
small, with untied attention. Shots are drawn at up to three times the problem's error rate, where
there is more to learn from each, and counted at its own.

Run:    unmasq problem --circuit d3.stim --out mine
        unmasq train own --problem mine/problem.safetensors --out runs/mine
Cost:   this network: 118 s on two cores for Stim's rotated surface code (d = 3, 3 rounds)
Expect: of this network, at p = 0.01, 6.29 [5.95, 6.63]e-02 (1257 errors in 20,000 shots of sinter);
        pymatching has 5.92 [5.59, 6.25]e-02 (1183), that of no correction 0.190 (3793)
"""

from unmasq.models import NetworkConfig
from unmasq.training.config import NoiseSchedule, OptimizerConfig, TrainConfig

RECIPE = TrainConfig(
    name="own",
    num_updates=2000,
    batch_size=256,
    network=NetworkConfig(width=64, feedforward=128, heads=8, encoder_layers=2, decoder_layers=2),
    optimizer=OptimizerConfig(
        "muon", 2e-3, 1e-2, b2=0.98, clip=1.0, warm_up=0.03, flat_until=0.4, last=0.02
    ),
    noise=NoiseSchedule(low=0.5),
    masks_per_shot=4,
    ema=0.99,
    generator="threefry2x32",  # the faster one on a CPU
)
