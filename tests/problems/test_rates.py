"""What a network is told of the noise, by hand and as laws."""

import dataclasses

import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.problems.building import problem_from_code, problem_from_matrices
from unmasq.problems.faults import scaled_priors
from unmasq.problems.rates import NUM_CLASSES, NominalRates, site_shares
from unmasq.problems.rounds import with_rounds

# Three bits, two checks, two frames; detectors (frame, site) = (0, 0), (0, 1), (1, 0), (1, 1).
FAULTS = {
    "first bit": ([0], [0]),
    "middle bit": ([0, 1], []),
    "last bit": ([1], []),
    "measurement of site 1": ([1, 3], []),
    "bit between two checks": ([1, 2], []),
    "unseen": ([], [0]),
}
PRIORS = np.array([0.1, 0.2, 0.3, 0.05, 0.15, 0.02])


def repetition(priors):
    checks, logicals = np.zeros((4, 6), np.uint8), np.zeros((1, 6), np.uint8)
    for j, (detectors, flips) in enumerate(FAULTS.values()):
        checks[detectors, j] = 1
        logicals[flips, j] = 1
    return problem_from_matrices(checks, logicals, priors, frames=2, name="by hand")


def strength(prior):
    return -np.log(1 - 2 * prior)


def test_features_of_a_repetition_code_by_hand():
    """Classes: one site and frame, one site and two frames, two sites in one frame, in two."""
    drifted = PRIORS.copy()
    drifted[[0, 3, 4]] = 0.2, 0.1, 0.01
    found = NominalRates.of(repetition(PRIORS)).features(repetition(drifted))
    expected = np.zeros((2, 2, NUM_CLASSES))
    expected[0, 0, 0] = np.log(strength(0.2) / strength(0.1))  # the first bit
    expected[:, 1, 1] = np.log(strength(0.1) / strength(0.05))  # the measurement, at both ends
    between = np.log(strength(0.01) / strength(0.15))
    expected[0, 1, 3] = expected[1, 0, 3] = between
    np.testing.assert_allclose(found, expected, atol=1e-6)
    sums = NominalRates.of(repetition(PRIORS)).sums
    np.testing.assert_allclose(sums[0, :, 2], strength(0.2), rtol=1e-6)  # the middle bit
    np.testing.assert_allclose(sums[0, 1, 0], strength(0.3), rtol=1e-6)


def test_faults_have_equal_shares_of_their_detectors_sites():
    problem = repetition(PRIORS)
    names = {tuple(map(tuple, fault)): name for name, fault in FAULTS.items()}
    columns = zip(problem.faults(), site_shares(problem).T, strict=True)
    shares = {names[key]: share for key, share in columns}
    assert shares["first bit"].tolist() == [1, 0]
    assert shares["measurement of site 1"].tolist() == [0, 1]
    assert shares["middle bit"].tolist() == shares["unseen"].tolist() == [0.5, 0.5]


def test_scaling_all_channels_adds_the_logarithm_everywhere():
    problem = problem_from_code(get_code("bb18"), "circuit", 0.003, 2)
    nominal = NominalRates.of(problem)
    scaled = dataclasses.replace(problem, priors=scaled_priors(problem.priors, 3.0), channels=None)
    np.testing.assert_allclose(
        nominal.features(scaled), np.where(nominal.sums > 0, np.log(3), 0), atol=1e-5
    )
    assert not nominal.features(problem).any()


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_nominal_rates_of_other_rounds_follow(rounds):
    problem = problem_from_code(get_code("bb18"), "circuit", 0.003, 3)
    other = with_rounds(problem, rounds)
    found = NominalRates.of(problem).on(other.layout)
    np.testing.assert_allclose(found.sums, NominalRates.of(other).sums, rtol=1e-5)


def test_altered_rates_are_refused():
    nominal = NominalRates.of(repetition(PRIORS))
    for sums in (nominal.sums[:1], -nominal.sums, nominal.sums * np.nan):
        with pytest.raises(ValueError, match=r"nominal rates must be numbers of shape \(2, 2, 4\)"):
            NominalRates(nominal.layout, sums)
