import pytest
from scipy.stats import binom

from statistical import FALSE_ALARM, assert_rate


def test_the_expected_rate_passes():
    assert_rate(500, 10_000, 0.05)


@pytest.mark.parametrize("hits", [300, 700])
def test_a_rate_nine_sigma_off_fails(hits):
    with pytest.raises(AssertionError, match=f"hits={hits} of shots=10000"):
        assert_rate(hits, 10_000, 0.05)


@pytest.mark.parametrize(("shots", "rate"), [(10, 0.5), (1_000, 0.003), (1_000_000, 0.25)])
def test_refused_counts_have_at_most_the_stated_probability(shots, rate):
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], shots, rate)
    assert binom.cdf(low - 1, shots, rate) + binom.sf(high, shots, rate) <= FALSE_ALARM


def test_certain_events_are_exact():
    assert_rate(0, 100, 0.0)
    assert_rate(100, 100, 1.0)
    with pytest.raises(AssertionError):
        assert_rate(1, 100, 0.0)
