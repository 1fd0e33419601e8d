"""Assertions about rates that chance alone all but never breaks."""

from scipy.stats import binom

FALSE_ALARM = 1e-9


def assert_rate(hits: int, shots: int, expected: float) -> None:
    """If the true rate is `expected`, fails with probability at most FALSE_ALARM."""
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], shots, expected)
    assert low <= hits <= high, f"{hits=} of {shots=}, expected rate {expected}"
