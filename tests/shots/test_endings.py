"""Experiments that end several times are those of every number of rounds at once."""

import dataclasses
import functools
import itertools
from collections import Counter

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import stim

from statistical import assert_rate
from unmasq.codes import get_code
from unmasq.problems.building import problem_from_circuit, problem_from_code, problem_from_dem
from unmasq.problems.rounds import with_rounds
from unmasq.shots.endings import EndingSampler, ended, one_round
from unmasq.shots.sampling import Shots

P = 0.01
ENDINGS = (1, 3)


@functools.cache
def problem(code="bb18", basis="X"):
    return problem_from_code(get_code(code), "circuit", P, 3, basis)


def counts_of(problem):
    return dict(zip(problem.faults(), map(tuple, problem.channels.counts.tolist()), strict=True))


@pytest.mark.parametrize(("code", "basis"), [("bb18", "X"), ("toric:3", "X"), ("bb36", "Z")])
def test_the_faults_of_every_ending_are_those_of_the_shorter_experiment(code, basis):
    """Each fault of each round alone, ended: the faults of R rounds with their channels."""
    long = problem(code, basis)
    one = one_round(long)
    rounds, size = ENDINGS[-1], one.num_faults
    columns = [matrix.toarray().T for matrix in (one.check_matrix, one.logical_matrix)]
    alone = [np.zeros((size * rounds, rounds, part.shape[1]), np.uint8) for part in columns]
    for k, (part, values) in itertools.product(range(rounds), zip(alone, columns, strict=True)):
        part[k * size : (k + 1) * size, k] = values
    flat = [jnp.asarray(part.reshape(-1, part.shape[2])) for part in alone]
    shots = ended(Shots(*flat), ENDINGS)
    for e, ending in enumerate(ENDINGS):
        frames = np.concatenate([shots.frames[:, :ending], shots.last[:, e : e + 1]], axis=1)
        np.testing.assert_array_equal(frames.sum(axis=1) % 2, shots.flips[:, e])
        found = Counter()
        bits = zip(frames.reshape(len(frames), -1), np.asarray(shots.logicals[:, e]), strict=True)
        for j, (detectors, logicals) in enumerate(bits):
            key = tuple(map(tuple, (np.flatnonzero(x).tolist() for x in (detectors, logicals))))
            for kind, count in enumerate(one.channels.counts[j % size].tolist()):
                if j // size < ending:
                    found[key, kind] += count
                elif key != ((), ()):  # what comes later must not show, but in its own frames
                    assert not logicals.any()
                    assert min(key[0]) >= ending * one.num_detectors // 2
        expected = counts_of(with_rounds(long, ending))
        listed = {(key, kind): n for key, ns in expected.items() for kind, n in enumerate(ns)}
        assert +found == Counter({place: n for place, n in listed.items() if n})


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_experiments_are_drawn_at_their_own_p(spread):
    shots = 8000
    sampler = EndingSampler(problem(), ENDINGS, drifts=spread > 0)
    rates = jnp.asarray([P, P / 10] * (shots // 2))
    drift = sampler.drift(spread, shots, key=jr.key(2))
    drawn = eqx.filter_jit(sampler)(rates, drift, key=jr.key(1))
    if drift is not None:  # as often as the drawn factors say
        priors = sampler.round.priors(rates, drift)
        rows = np.asarray(sampler.round.signatures, np.float64)[0]
        expected = 0.5 - 0.5 * np.prod(1 - 2 * np.asarray(priors) * rows, axis=1)
        assert_rate(int(drawn.frames[:, 0, 0].sum()), shots, float(expected.mean()))
        return
    for part, p in ((slice(0, None, 2), P), (slice(1, None, 2), P / 10)):
        for e, ending in enumerate(ENDINGS):
            there = with_rounds(problem(), ending).at(p)
            rows = np.r_[there.check_matrix.toarray(), there.logical_matrix.toarray()]
            rate = 0.5 - 0.5 * np.prod(1 - 2 * there.priors * rows, axis=1)
            frames = jnp.concatenate([drawn.frames[part, :ending], drawn.last[part, e, None]], 1)
            found = np.c_[frames.reshape(shots // 2, -1), drawn.logicals[part, e]].sum(axis=0)
            for row in (0, len(found) // 2, -1):
                assert_rate(int(found[row]), shots // 2, float(rate[row]))


def test_experiments_without_a_formula_or_full_frames_are_refused():
    faults = "error(0.1) D0 D1 L0\nerror(0.1) D1 D2"
    dem = problem_from_dem(stim.DetectorErrorModel(faults), rounds=2)
    noise = {"before_measure_flip_probability": 0.01, "after_clifford_depolarization": 0.01}
    circuit = stim.Circuit.generated("surface_code:rotated_memory_x", distance=3, rounds=4, **noise)
    capacity = problem_from_code(get_code("bb18"), "code-capacity", P)
    for other in (dem, problem_from_circuit(circuit), capacity):
        with pytest.raises(
            ValueError, match=f"endings must be empty for '{other.name}': they need"
        ):
            one_round(other)


def test_a_first_round_of_its_own_is_refused():
    """The same experiment but for one fault of the first frame, twice as likely."""
    long = problem()
    first = next(
        j for j, (detectors, _) in enumerate(long.faults()) if detectors and detectors[-1] < 18
    )
    counts = long.channels.counts.copy()
    counts[first] *= 2
    channels = dataclasses.replace(long.channels, counts=counts)
    odd = dataclasses.replace(long, channels=channels, priors=channels.priors(P), symmetry=None)
    with pytest.raises(ValueError, match="whose rounds are not all alike"):
        one_round(odd)
