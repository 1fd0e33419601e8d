"""Which shots of a pool are trained on: mostly those that belief propagation does not solve."""

import jax
import jax.numpy as jnp

from unmasq.models import MaskedDenoiser
from unmasq.models.beliefs import BpOutcome
from unmasq.shots.sampling import Shots
from unmasq.training.config import TrainConfig


def trusts_guess(config: TrainConfig) -> bool:
    """Whether the network has seen too few solved shots to say more of them than the guess."""
    return config.pool > 1


def unsolved_first(
    network: MaskedDenoiser,
    shots: Shots,
    count: int,
    doubted: int = 0,
    iterations: int | None = None,
) -> tuple[Shots, BpOutcome]:
    """So many of the shots: those that belief propagation leaves unsolved, then others.

    `iterations` of it, or as many as the network begins with.

    Before them come `doubted` solved ones, those with the heaviest guesses: a guess that explains
    the syndrome and is wrong is mostly heavy. The choice is by the syndrome alone, so what it says
    about the logicals stays true. With them what belief propagation made of them.
    """
    beliefs = network.encoder.beliefs
    assert beliefs is not None  # or else the configuration has no pool
    attempt = None if iterations is None else beliefs.own._replace(iterations=iterations)
    outcome = network.encoder.run_bp(shots.syndrome, attempt)
    assert outcome is not None
    heaviest = jnp.argsort(jnp.where(outcome.solved, -outcome.weight, 1))[:doubted]
    turn = outcome.solved.astype(jnp.int32)
    chosen = jnp.argsort(turn.at[heaviest].add(-2 * turn[heaviest]))[:count]
    found = BpOutcome(
        outcome.features[..., chosen],
        outcome.residual[..., chosen],
        *jax.tree.map(lambda each: each[chosen], tuple(outcome[2:])),
    )
    return Shots(shots.syndrome[chosen], shots.logicals[chosen]), found
