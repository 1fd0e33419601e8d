import numpy as np
import pytest
import stim
from hypothesis import given

from exact_distribution import distribution
from tiny_models import NUM_DETECTORS, NUM_LOGICALS, dem_text
from tiny_models import faults as random_faults
from unmasq.problems.stim_faults import (
    channels_of_circuit,
    elementary_errors,
    error_model,
    faults_of_dem,
    greatest_rate,
)


def test_faults_merge_on_detectors_and_logicals_and_never_on_detectors_alone():
    dem = stim.DetectorErrorModel("""
        error(0.1) D0 D1
        error(0.2) D1 D0 L0
        error(0.3) D0 D1
    """)
    assert faults_of_dem(dem) == {
        ((0, 1), ()): pytest.approx(0.34, abs=1e-15),
        ((0, 1), (0,)): pytest.approx(0.2, abs=1e-15),
    }


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("error(0.1) D0 D1 ^ D2 L0", ((0, 1, 2), (0,))),
        ("error(0.1) D0 D1 ^ D1 D2", ((0, 2), ())),
        ("error(0.1) D3 D1 D3", ((1,), ())),
        ("error(0.1) L1 D0 L0 L1", ((0,), (0,))),
        ("error(0.1) L0", ((), (0,))),
        ("repeat 1 {\n error(0.1) D0\n shift_detectors 5\n}", ((0,), ())),
        ("shift_detectors 3\nerror(0.1) D1", ((4,), ())),
    ],
)
def test_targets_are_read_as_stim_means_them(line, key):
    assert faults_of_dem(stim.DetectorErrorModel(line)) == {key: 0.1}


@pytest.mark.parametrize("line", ["error(0) D0", "error(0.1) D0 ^ D0", "detector D0", ""])
def test_lines_without_effect_make_no_fault(line):
    assert faults_of_dem(stim.DetectorErrorModel(line)) == {}


@given(random_faults)
def test_reading_keeps_the_distribution(found):
    faults = faults_of_dem(stim.DetectorErrorModel(dem_text(found)))
    np.testing.assert_allclose(
        distribution([(d, k, p) for (d, k), p in faults.items()], NUM_DETECTORS, NUM_LOGICALS),
        distribution(found, NUM_DETECTORS, NUM_LOGICALS),
        rtol=0,
        atol=1e-14,
    )


def channels(text):
    circuit = stim.Circuit(text)
    faults = faults_of_dem(error_model(circuit))
    order = sorted(faults)
    p = greatest_rate(circuit)
    return channels_of_circuit(circuit, p, order), np.array([faults[key] for key in order]), p


@pytest.mark.parametrize(
    "text",
    [
        "R 0\nX_ERROR(0.1) 0\nX_ERROR(0.1) 0\nY_ERROR(0.2) 0\nM(0.05) 0\nDETECTOR rec[-1]",
        "R 0 1\nDEPOLARIZE2(0.1) 0 1\nMR(0.1) 0 1\nDETECTOR rec[-1]\nDETECTOR rec[-2]",
        "RX 0 1\nDEPOLARIZE1(0.1) 0\nMXX(0.01) 0 1\nDETECTOR rec[-1]",
        "R 0 1\nX_ERROR(0.3) 0\nMPP(0.2) Z0*Z1 !Z0\nDETECTOR rec[-1]\nDETECTOR rec[-2]",
        "REPEAT 5 {\n R 0\n X_ERROR(0.1) 0\n M 0\n DETECTOR rec[-1]\n}",
        "R 0\nX_ERROR(0.5) 0\nX_ERROR(0.2) 0\nM(0) !0\nDETECTOR rec[-1]",
    ],
)
def test_channels_give_stims_priors_back(text):
    found, priors, p = channels(text)
    np.testing.assert_allclose(found.priors(p), priors, rtol=0, atol=1e-15)


def test_channels_of_one_kind_and_two_rates_are_counted_apart():
    found, _, _ = channels(
        "R 0\nX_ERROR(0.1) 0\nX_ERROR(0.1) 0\nX_ERROR(0.2) 0\nM 0\nDETECTOR rec[-1]"
    )
    assert found.kinds == ("flip", "flip")
    assert found.ratios == (0.5, 1.0)
    np.testing.assert_array_equal(found.counts, [[2, 1]])


@pytest.mark.parametrize("number", [1_500, 40_000, 500_000])
def test_any_number_of_merged_channels_is_counted(number):
    """At 1e-2 the fault of 1,500 flips happens half of the time, and their number is lost."""
    text = f"X_ERROR(1e-7) {'0 ' * number}\nM 0\nDETECTOR rec[-1]"
    found, priors, p = channels(text)
    assert found.counts.tolist() == [[number]]
    np.testing.assert_allclose(found.priors(p), priors, rtol=1e-9)


def test_errors_are_estimated_without_unrolling():
    circuit = stim.Circuit("""
        REPEAT 1000000000000 {
            DEPOLARIZE2(0.1) 0 1 2 3
            DEPOLARIZE1(0.1) 0
            X_ERROR(0) 0
            M(0.1) 0
        }
    """)
    assert elementary_errors(circuit) == 10**12 * (2 * 15 + 3 + 1 + 1)


@pytest.mark.parametrize(
    "noise",
    [
        "PAULI_CHANNEL_1(0.1, 0.05, 0.02) 0",
        "E(0.1) X0",
        "HERALDED_ERASE(0.1) 0\nDETECTOR rec[-1]",
    ],
)
def test_other_noise_has_no_channels(noise):
    found, priors, _ = channels(f"R 0\nX_ERROR(0.01) 0\n{noise}\nM 0\nDETECTOR rec[-1]")
    assert found is None
    assert len(priors)


def test_a_circuit_with_random_detectors_is_refused_in_one_line():
    with pytest.raises(ValueError, match="deterministic without noise") as error:
        error_model(stim.Circuit("RX 0\nM 0\nDETECTOR rec[-1]"))
    assert "\n" not in str(error.value)
