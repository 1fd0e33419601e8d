"""Counts and limits on the command line."""

import pytest

from command_line import refusal
from unmasq.cli.numbers import require_at_least, whole_number


@pytest.mark.parametrize("text", ["1.5", "x", "", "nan", "inf", "1e300", "1e-3"])
def test_what_is_no_count_is_refused(text):
    with pytest.raises(ValueError, match="must be a whole number such as 1000 or 1e3: got '"):
        whole_number(text)


@pytest.mark.parametrize("value", [0, -3, float("nan"), float("inf")])
def test_limits_are_checked(value):
    require_at_least(1, {"--a": None, "--b": 1})
    with pytest.raises(ValueError, match=r"--batch must be at least 1: got"):
        require_at_least(1, {"--batch": value})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "--minutes", "-1"], "--minutes must be at least 0: got -1."),
        (["evaluate", "--save-seconds", "nan"], "--save-seconds must be at least 0: got nan."),
        (["evaluate", "--batch", "0"], "--batch must be at least 1: got 0."),
        (["evaluate", "--workers", "0"], "--workers must be at least 1: got 0."),
        (["evaluate", "--figure", "rates.xyz"], "figure must end in one of "),
        (["bench", "--batches", "8", "0"], "--batches must be at least 1: got 0."),
        (["bench", "--seconds", "-1"], "--seconds must be at least 0: got -1."),
        (["bench", "--figure", "times.xyz"], "figure must end in one of "),
        (["demo", "--shots", "0"], "--shots must be at least 1: got 0."),
        (["demo", "--shots", "1e-1"], "Invalid value for '--shots'"),
    ],
)
def test_limits_are_refused_before_anything_is_loaded(capsys, words, message):
    assert message in refusal(capsys, *words)
