import pytest

from unmasq.circuits import NoiseModel


def test_uniform_noise_has_one_rate():
    assert NoiseModel.uniform(0.01) == NoiseModel(0.01, 0.01, 0.01, 0.01)


@pytest.mark.parametrize("p", [0.0, -0.1, 0.6, float("nan")])
def test_uniform_noise_outside_the_range_is_refused(p):
    with pytest.raises(ValueError, match=r"p must lie in \(0, 0.5\]: got"):
        NoiseModel.uniform(p)


@pytest.mark.parametrize("rate", [-0.1, 0.51, float("nan")])
@pytest.mark.parametrize("field", ["two_qubit", "idle", "preparation", "measurement"])
def test_a_rate_outside_the_range_is_refused(field, rate):
    rates = {"two_qubit": 0.1, "idle": 0.1, "preparation": 0.1, "measurement": 0.1, field: rate}
    with pytest.raises(ValueError, match=rf"{field} must lie in \[0, 0.5\]: got"):
        NoiseModel(**rates)


def test_noise_without_any_rate_is_refused():
    with pytest.raises(ValueError, match="at least one rate above 0"):
        NoiseModel(0.0, 0.0, 0.0, 0.0)


def test_a_rate_that_vanishes_in_rounding_is_refused():
    with pytest.raises(ValueError, match="idle must be 0 or at least 1e-12: got 1e-300"):
        NoiseModel(0.01, 1e-300, 0.01, 0.01)


def test_a_label_gives_the_rates_back():
    biased = NoiseModel(0.004, 0.001, 0.0, 0.008)
    assert biased.label == "circuit 0.5:0.125:0:1"
    assert NoiseModel.read(biased.label, 0.008) == biased
    assert NoiseModel.uniform(0.003).label == "circuit"
    assert NoiseModel.read("circuit", 0.003) == NoiseModel.uniform(0.003)


@pytest.mark.parametrize(
    "label", ["circuit 1:1", "circuit 1:1:x:1", "circuit 0.5:0:0:0", "z 1:1:1:1"]
)
def test_another_label_is_refused(label):
    with pytest.raises(
        ValueError, match="noise must be circuit, code-capacity, or circuit a:b:c:d"
    ):
        NoiseModel.read(label, 0.01)
