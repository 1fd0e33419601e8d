"""Rates that differ from shot to shot: what is drawn of them, and what a network is told.

Channels of each kind, and all channels around each check site, are stronger or weaker by factors of
their own. A fault of several sites has the mean of their factors, so that the strengths around a
detector are linear in the products of factors, and no array of all faults is needed to sum them.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from unmasq.problems.problem import DecodingProblem
from unmasq.problems.rates import MOST_STRENGTH, NominalRates, around_detectors, site_shares


class Drift(NamedTuple):
    """Factors on the strength of each kind of channel, and of all channels around each site."""

    kinds: Float[Array, "B C"]
    sites: Float[Array, "B n"]


def draw_drift(
    spread: float, shots: int, num_kinds: int, num_sites: int, *, key: PRNGKeyArray
) -> Drift:
    """exp(spread z) with z from a standard normal distribution; all 1 where spread is 0."""
    factors = jnp.exp(spread * jr.normal(key, (shots, num_kinds + num_sites)))
    return Drift(factors[:, :num_kinds], factors[:, num_kinds:])


class ToldRates(eqx.Module):
    """The features of `problems.rates` for shots whose rates drift. Nothing here is trained."""

    sums: Float[Array, "n C frames n F"]  # of one site's channels of one kind, over the nominal

    def __init__(self, problem: DecodingProblem, exponents: np.ndarray):
        """`exponents` (C, N) are the strengths of the faults in channels of each kind."""
        around = around_detectors(problem.check_matrix, problem.layout)
        told = site_shares(problem)[:, None] * np.minimum(exponents, MOST_STRENGTH)
        sums = (around @ told.reshape(-1, problem.num_faults).T).T
        nominal = NominalRates.of(problem).sums
        beside = np.where(nominal > 0, nominal, 1)
        sums = sums.reshape(*told.shape[:2], *nominal.shape) / beside
        self.sums = jnp.asarray(sums, jnp.float32)

    def __call__(
        self, channels: Float[Array, "B C"], sites: Float[Array, "B n"]
    ) -> Float[Array, "frames n B F"]:
        """phi of shots whose channels have these strengths, times the factors of the sites."""
        products = sites[:, :, None] * channels[:, None, :]
        sums = jnp.einsum("bsc,scrnf->rnbf", products, self.sums)
        return jnp.log(jnp.where(sums > 0, sums, 1.0))
