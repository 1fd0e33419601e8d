import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exact_distribution import distribution
from tiny_models import NUM_DETECTORS, NUM_LOGICALS
from tiny_models import faults as random_faults
from unmasq.problems.faults import (
    CHANNEL_KINDS,
    Channels,
    column_supports,
    fault_columns,
    merge_faults,
    merge_probabilities,
)


def odd(values):
    return tuple(sorted(value for value in set(values) if values.count(value) % 2))


@given(random_faults)
def test_merging_keeps_the_distribution_and_leaves_no_two_alike(found):
    merged = merge_faults(((odd(d), odd(k)), p) for d, k, p in found)
    assert ((), ()) not in merged
    np.testing.assert_allclose(
        distribution([(d, k, p) for (d, k), p in merged.items()], NUM_DETECTORS, NUM_LOGICALS),
        distribution(found, NUM_DETECTORS, NUM_LOGICALS),
        rtol=0,
        atol=1e-14,
    )


def test_faults_with_equal_detectors_and_other_logicals_stay_apart():
    keys = [((0, 1), ()), ((0, 1), (0,)), ((0, 1), ())]
    merged = merge_faults(zip(keys, [0.1, 0.2, 0.3], strict=True))
    assert merged == {
        ((0, 1), ()): pytest.approx(0.1 * 0.7 + 0.3 * 0.9, abs=1e-15),
        ((0, 1), (0,)): pytest.approx(0.2, abs=1e-15),
    }


@given(st.floats(0, 0.5), st.floats(0, 0.5))
def test_two_probabilities_merge_to_that_of_exactly_one(p, q):
    merged = merge_probabilities(p, q)
    assert 1 - 2 * merged == pytest.approx((1 - 2 * p) * (1 - 2 * q), abs=1e-15)
    assert max(p, q) - 1e-15 <= merged <= 0.5


@given(random_faults)
def test_columns_stand_in_canonical_order_whatever_the_order_of_the_faults(found):
    merged = merge_faults(((odd(d), odd(k)), p) for d, k, p in found)
    h, lo, priors, order = fault_columns(merged, NUM_DETECTORS, NUM_LOGICALS)
    assert order == sorted(merged)
    assert list(zip(column_supports(h), column_supports(lo), strict=True)) == order
    assert priors.tolist() == [merged[key] for key in order]
    reversed_faults = dict(reversed(merged.items()))
    again = fault_columns(reversed_faults, NUM_DETECTORS, NUM_LOGICALS)
    np.testing.assert_array_equal(h.toarray(), again[0].toarray())
    np.testing.assert_array_equal(priors, again[2])


def test_channels_follow_the_formula_at_every_rate():
    """One fault of two depolarizing channels and a flip at half the rate."""
    channels = Channels(
        ("depolarize1", "depolarize2", "flip"),
        (1.0, 1.0, 0.5),
        np.array([[1, 1, 1], [0, 2, 0]], np.int16),
    )
    for p in (1e-9, 0.003, 0.5):
        one = (1 - np.sqrt(1 - 4 * p / 3)) / 2
        two = (1 - (1 - 16 * p / 15) ** (1 / 8)) / 2
        merged = merge_probabilities(merge_probabilities(one, two), p / 2)
        expected = [merged, merge_probabilities(two, two)]
        np.testing.assert_allclose(channels.priors(p), expected, rtol=1e-6, atol=1e-16)


def test_a_channel_at_its_greatest_rate_flips_a_fair_coin():
    counts = np.array([[1, 0], [0, 1], [2, 3]], np.int16)
    channels = Channels(("flip", "depolarize1"), (1.0, 0.1), counts)
    priors = channels.priors(0.5)
    assert priors[0] == priors[2] == 0.5
    assert 0 < priors[1] < 0.5


def test_a_channel_beyond_its_greatest_rate_is_refused():
    channels = Channels(("flip",), (2.0,), np.ones((1, 1), np.int16))
    with pytest.raises(ValueError, match=r"every flip channel at most 0.5: got 0.3, which makes"):
        channels.priors(0.3)


def test_the_kinds_are_stims_conversions():
    stim = pytest.importorskip("stim")
    circuits = {
        "depolarize1": "RX 1\nR 0\nCX 1 0\nDEPOLARIZE1(0.1) 0\nMPP X0*X1 Z0*Z1",
        "depolarize2": "RX 2 3\nR 0 1\nCX 2 0 3 1\nDEPOLARIZE2(0.1) 0 1\n"
        "MPP X0*X2 Z0*Z2 X1*X3 Z1*Z3",
        "flip": "R 0\nX_ERROR(0.1) 0\nM 0",
    }
    assert set(circuits) == set(CHANNEL_KINDS)
    for kind, text in circuits.items():
        circuit = stim.Circuit(text)
        for record in range(circuit.num_measurements):
            circuit.append("DETECTOR", [stim.target_rec(record - circuit.num_measurements)])
        faults = [i.args_copy()[0] for i in circuit.detector_error_model() if i.type == "error"]
        one = Channels((kind,), (1.0,), np.ones((1, 1), np.int16)).priors(0.1)
        np.testing.assert_allclose(faults, one[0], rtol=0, atol=1e-15)
