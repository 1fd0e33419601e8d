"""Which shots of a pool are trained on: mostly those that belief propagation does not solve."""

import jax.numpy as jnp

from unmasq.models import MaskedDenoiser
from unmasq.shots.sampling import Shots


def unsolved_first(network: MaskedDenoiser, shots: Shots, count: int, doubted: int = 0) -> Shots:
    """So many of the shots: those that belief propagation leaves unsolved, then others.

    Before them come `doubted` solved ones, those with the heaviest guesses: a guess that explains
    the syndrome and is wrong is mostly heavy. The choice is by the syndrome alone, so what it says
    about the logicals stays true.
    """
    outcome = network.encoder.run_bp(shots.syndrome)
    assert outcome is not None  # or else the configuration has no pool
    solved = jnp.all(outcome.residual == 0, axis=0)
    heaviest = jnp.argsort(jnp.where(solved, -outcome.weight, 1))[:doubted]
    turn = solved.astype(jnp.int32)
    chosen = jnp.argsort(turn.at[heaviest].add(-2 * turn[heaviest]))[:count]
    return Shots(shots.syndrome[chosen], shots.logicals[chosen])
