"""Intervals against scipy's own and against their exact coverage; McNemar's test by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from unmasq.evaluation.statistics import (
    PairedCounts,
    Rate,
    clopper_pearson,
    mean_logical_rate,
    per_round,
)


def wilson(failures, shots):
    """Of a single logical, the mean has the score interval."""
    return mean_logical_rate([failures], failures, shots)


@st.composite
def counted(draw):
    shots = draw(st.integers(1, 10**7))
    return draw(st.integers(0, shots)), shots


@pytest.mark.parametrize(("interval", "method"), [(clopper_pearson, "exact"), (wilson, "wilson")])
@given(counts=counted())
def test_interval_agrees_with_scipy(interval, method, counts):
    failures, shots = counts
    rate = interval(failures, shots)
    if failures == 0:
        return
    reference = binomtest(failures, shots).proportion_ci(0.95, method=method)
    np.testing.assert_allclose([rate.low, rate.high], reference, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("shots", [1, 7, 40, 300])
def test_exact_interval_covers_every_rate(shots):
    rates = np.linspace(0.001, 0.999, 200)
    intervals = [clopper_pearson(k, shots) for k in range(shots + 1)]
    low = np.array([rate.low for rate in intervals])
    high = np.array([rate.high for rate in intervals])
    # Nothing failed: the bound is one-sided, and its 5 % all lie on the upper side.
    for p in rates:
        weights = binom.pmf(np.arange(shots + 1), shots, p)
        missed = weights[(p < low) | (p > high)].sum()
        assert missed <= 0.05 + 0.025 + 1e-12
        assert weights[1:][(p < low[1:]) | (p > high[1:])].sum() <= 0.05 + 1e-12


def test_wilson_covers_95_percent_on_average():
    shots = 200
    rates = np.linspace(0.05, 0.95, 181)
    intervals = [wilson(k, shots) for k in range(shots + 1)]
    low = np.array([rate.low for rate in intervals])
    high = np.array([rate.high for rate in intervals])
    covered = [
        binom.pmf(np.arange(shots + 1), shots, p)[(low <= p) & (p <= high)].sum() for p in rates
    ]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.005)


@pytest.mark.parametrize("interval", [clopper_pearson, wilson])
@given(counts=counted())
def test_interval_holds_the_estimate_and_narrows_with_shots(interval, counts):
    failures, shots = counts
    rate = interval(failures, shots)
    assert 0 <= rate.low <= rate.value <= rate.high <= 1
    more = interval(4 * failures, 4 * shots)
    assert more.high - more.low < rate.high - rate.low


def test_no_failures_is_a_one_sided_bound():
    rate = clopper_pearson(0, 1000)
    assert rate.is_bound
    assert rate.low == 0
    # (1 - high)^1000 = 0.05
    assert rate.high == pytest.approx(0.0029912, rel=1e-4)
    assert binom.pmf(0, 1000, rate.high) == pytest.approx(0.05)
    assert str(rate) == "<2.99e-03"
    assert wilson(0, 1000) == rate


def test_rate_prints_its_interval():
    assert str(clopper_pearson(138, 8272)) == "1.67 [1.40, 1.97]e-02"
    assert str(clopper_pearson(1, 10**6)) == "1.00 [0.03, 5.57]e-06"
    assert str(clopper_pearson(177, 720)) == "0.246 [0.215, 0.279]"
    assert str(clopper_pearson(720, 720)) == "1.000 [0.995, 1.000]"


@given(st.floats(0, 1), st.integers(1, 50))
def test_rounds_compose_to_the_whole_rate(value, rounds):
    rate = per_round(Rate(value, value, value), rounds)
    assert 1 - (1 - rate.value) ** rounds == pytest.approx(value, abs=1e-9)


def test_conversion_keeps_interval_and_bound():
    block = clopper_pearson(0, 1000)
    assert per_round(block, 6).is_bound
    assert per_round(block, 6).high == pytest.approx(block.high / 6, rel=2e-3)
    half = per_round(clopper_pearson(5, 10), 12)
    assert half.low < per_round(Rate(0.5, 0.0, 1.0), 12).value == half.value < half.high


def test_rounds_below_one_are_refused():
    with pytest.raises(ValueError, match="rounds must be at least 1: got 0"):
        per_round(clopper_pearson(1, 2), 0)


@pytest.mark.parametrize(("failures", "shots"), [(3, 2), (-1, 2), (0, 0)])
@pytest.mark.parametrize("interval", [clopper_pearson, wilson])
def test_impossible_counts_are_refused(interval, failures, shots):
    with pytest.raises(ValueError, match="must"):
        interval(failures, shots)


def test_independent_logicals_count_as_so_many_shots():
    generator = np.random.default_rng(0)
    wrong = generator.random((20_000, 12)) < 0.03
    rate = mean_logical_rate(wrong.sum(0).tolist(), int((wrong.sum(1) ** 2).sum()), len(wrong))
    plain = wilson(int(wrong.sum()), wrong.size)
    assert rate.value == plain.value
    assert rate.high - rate.low == pytest.approx(plain.high - plain.low, rel=0.05)


def test_logicals_that_fail_together_count_as_one():
    generator = np.random.default_rng(0)
    wrong = np.repeat(generator.random((20_000, 1)) < 0.03, 12, axis=1)
    rate = mean_logical_rate(wrong.sum(0).tolist(), int((wrong.sum(1) ** 2).sum()), len(wrong))
    plain = wilson(int(wrong[:, 0].sum()), len(wrong))
    assert (rate.low, rate.high) == pytest.approx((plain.low, plain.high))


def test_no_wrong_logical_is_a_bound():
    assert mean_logical_rate([0, 0], 0, 100) == clopper_pearson(0, 100)


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40),
)
def test_paired_counts_add_up_and_swap(pairs):
    first, second = (np.array(column) for column in zip(*pairs, strict=True))
    paired = PairedCounts.from_failures(first, second)
    assert paired.both + paired.first_only == first.sum()
    assert paired.both + paired.second_only == second.sum()
    swapped = PairedCounts.from_failures(second, first)
    assert (swapped.first_only, swapped.second_only) == (paired.second_only, paired.first_only)
    assert swapped.p_value == paired.p_value
    differ = paired.first_only + paired.second_only
    if differ:
        assert paired.p_value == pytest.approx(binomtest(paired.first_only, differ).pvalue)


def test_mcnemar_by_hand():
    # 1 against 5: 2 * (1 + 6) / 64
    assert PairedCounts(100, 0, 1, 5).p_value == pytest.approx(14 / 64)
    assert PairedCounts(100, 7, 0, 0).p_value == 1


def test_unequal_shots_are_refused():
    with pytest.raises(ValueError, match="same shots: got 2 and 3"):
        PairedCounts.from_failures(np.zeros(2, bool), np.zeros(3, bool))
