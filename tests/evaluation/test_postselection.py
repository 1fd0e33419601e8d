"""Discarding the least confident shots, against plain counting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmasq.evaluation.postselection import SHARES, discard_points


@given(st.integers(1, 300), st.integers(0, 2**32 - 1), st.sampled_from([2, 10, 10**6]))
def test_points_count_what_is_left(shots, seed, levels):
    generator = np.random.default_rng(seed)
    confidence = generator.integers(0, levels, shots) / levels  # few levels: many ties
    failed = generator.random(shots) < 0.3
    points = discard_points(confidence, failed)
    assert points[0].discards == 0
    assert points[0].errors == failed.sum()
    for point in points:
        kept = confidence >= point.threshold
        assert point.discards == (~kept).sum() < shots
        assert point.errors == failed[kept].sum()
        assert point.discards <= max(SHARES) * shots
    discards = [point.discards for point in points]
    assert discards == sorted(discards)


def test_confidence_that_is_right_makes_the_rate_fall():
    confidence = np.linspace(0, 1, 1000)
    failed = np.arange(1000) < 100  # exactly the least confident ones
    points = discard_points(confidence, failed)
    rates = [point.rate.value for point in points]
    assert rates == sorted(rates, reverse=True)
    assert next(p for p in points if p.discards == 50).errors == 50
    assert next(p for p in points if p.discards == 100).rate.is_bound


def test_nan_is_refused():
    with pytest.raises(ValueError, match="got NaN in shot 1"):
        discard_points(np.array([0.5, np.nan]), np.array([True, False]))


def test_sizes_must_agree():
    with pytest.raises(ValueError, match="one value for each shot"):
        discard_points(np.zeros(3), np.zeros(4, bool))
