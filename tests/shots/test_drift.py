"""Rates that drift: priors as channels compose, and features of those very priors."""

import dataclasses

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import stim

from unmasq.codes import get_code
from unmasq.problems.building import problem_from_code, problem_from_dem
from unmasq.problems.rates import NominalRates
from unmasq.shots.drift import Drift, ToldRates
from unmasq.shots.sampling import ShotSampler

P = jnp.array([0.002, 0.004, 0.01])


def drifting(problem, spread=0.7):
    sampler = ShotSampler(problem, drifts=True)
    return sampler, sampler.drift(spread, len(P), key=jr.key(1))


def without_formula():
    """The same faults, known at one p alone."""
    return dataclasses.replace(
        problem_from_code(get_code("bb18"), "circuit", 0.004, 2), channels=None
    )


@pytest.mark.parametrize("formula", [True, False])
def test_features_are_those_of_the_drifted_priors(formula):
    problem = without_formula()
    if formula:
        problem = problem_from_code(get_code("bb18"), "circuit", 0.004, 2)
    sampler, drift = drifting(problem)
    told = ToldRates(problem, np.asarray(sampler.exponents))
    found = told(sampler.channel_strengths(P, drift), drift.sites)
    for shot, priors in enumerate(np.asarray(sampler.priors(P, drift), np.float64)):
        there = dataclasses.replace(problem, priors=priors, channels=None, symmetry=None)
        wanted = NominalRates.of(problem).features(there)
        assert np.abs(wanted).max() > 0.5
        np.testing.assert_allclose(found[:, :, shot], wanted, atol=2e-4)


def test_no_spread_changes_nothing():
    sampler, drift = drifting(problem_from_code(get_code("bb18"), "circuit", 0.004, 2), spread=0.0)
    np.testing.assert_allclose(sampler.priors(P, drift), sampler.priors(P), rtol=1e-5)
    assert ShotSampler(without_formula()).drift(0.0, 3, key=jr.key(0)) is None


def test_a_fault_is_scaled_by_its_kind_and_by_the_mean_of_its_sites():
    """Two independent copies at twice the strength: f -> 2 f (1 - f)."""
    problem = problem_from_dem(stim.DetectorErrorModel("error(0.1) D0 L0\nerror(0.2) D0 D1"))
    sampler = ShotSampler(problem, drifts=True)
    p = jnp.array([problem.p])
    kinds, alone = Drift(jnp.full((1, 1), 2.0), jnp.ones((1, 2))), np.array([0.1, 0.2])
    np.testing.assert_allclose(sampler.priors(p, kinds)[0], 2 * alone * (1 - alone), rtol=1e-6)
    sites = Drift(jnp.ones((1, 1)), jnp.array([[1.0, 3.0]]))
    np.testing.assert_allclose(sampler.priors(p, sites)[0], [0.1, 0.32], rtol=1e-6)
