"""`--p 0.003 0.006` gives an option several values."""

import pytest

from unmasq.cli.many_values import ManySettings, repeat_options


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--p 1 2 3", "--p 1 --p 2 --p 3"),
        ("--p 1 --p 2", "--p 1 --p 2"),
        ("--p=1 2", "--p=1 --p 2"),
        ("--p 1 2 --seed 3 --names a b --json", "--p 1 --p 2 --seed 3 --names a --names b --json"),
        ("--seed 3 4", "--seed 3 4"),
        ("--p -1 -2.5e-3", "--p -1 --p -2.5e-3"),
        ("--p 1 -- 2 3", "--p 1 -- 2 3"),
        ("--p", "--p"),
        ("file --p 1", "file --p 1"),
    ],
)
def test_values_in_a_row_become_repeated_options(words, expected):
    assert repeat_options(words.split(), {"--p", "--names"}) == expected.split()


def test_settings_end_before_the_recipe():
    words = ["--set", "seed=3", "ema=0.9", "tiny", "--out", "x"]
    found = repeat_options(words, {"--set"}, ManySettings.is_value)
    assert found == ["--set", "seed=3", "--set", "ema=0.9", "tiny", "--out", "x"]
