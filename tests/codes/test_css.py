import numpy as np
import pytest

from unmasq.codes import CSSCode, css_code, gf2

HAMMING = [[1, 0, 1, 0, 1, 0, 1], [0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 1]]


def test_steane_code_from_its_matrices():
    code = css_code(HAMMING, HAMMING, "steane")
    assert (code.n, code.k, code.num_checks, code.label) == (7, 1, 6, "[[7,1,?]]")
    assert not (code.logicals_x @ np.array(HAMMING).T % 2).any()
    assert gf2.rank(np.concatenate([code.checks_x, code.logicals_x])) == 4


def test_repetition_code_has_checks_of_one_type_only():
    code = css_code(np.zeros((0, 3)), [[1, 1, 0], [0, 1, 1]])
    assert (code.n, code.k) == (3, 1)
    np.testing.assert_array_equal(code.logicals_x, [[1, 1, 1]])


def test_dependent_checks_count_as_checks_and_not_in_the_rank():
    code = css_code([[1, 1, 1, 1], [1, 1, 1, 1]], [[1, 1, 1, 1]])
    assert (code.k, code.num_checks) == (2, 3)


@pytest.mark.parametrize(
    ("checks_x", "checks_z", "message"),
    [
        ([[1, 1, 0]], [[1, 0, 0], [0, 1, 1]], "must commute: got rows 0 and 0"),
        ([[1, 1]], [[1, 1, 0]], "equally many columns: got 2 and 3"),
        ([[1, 2]], [[1, 1]], "checks_x must hold only 0 and 1: got checks_x[0, 1] = 2"),
        ([1, 1], [[1, 1]], "checks_x must have two dimensions"),
    ],
)
def test_bad_matrices_are_refused(checks_x, checks_z, message):
    with pytest.raises(ValueError) as error:
        css_code(checks_x, checks_z)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("logicals_x", "message"),
    [
        ([[1, 0, 0, 0], [0, 0, 1, 1]], "logicals_x and checks_z must commute: got rows 0 and 0"),
        ([[1, 1, 0, 0], [0, 0, 1, 1]], "2 operators independent modulo the checks: got 2 of rank"),
        ([[1, 1, 0, 0]], "2 operators independent modulo the checks: got 1 of rank 1"),
        ([[1, 1, 0]], "logicals_x must have the 4 columns of checks_x: got 3"),
    ],
)
def test_bad_logicals_are_refused(logicals_x, message):
    checks = np.ones((1, 4), np.uint8)
    good = np.array([[1, 1, 0, 0], [0, 1, 1, 0]], np.uint8)
    CSSCode("422", checks, checks, good, good)
    with pytest.raises(ValueError) as error:
        CSSCode("422", checks, checks, np.array(logicals_x, np.uint8), good)
    assert message in str(error.value)
