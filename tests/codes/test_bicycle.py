import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmasq.codes import BicycleShape, parse_polynomial


@st.composite
def shapes(draw):
    """Arguments of a `BicycleShape`; the tests build it (run-time types draw random numbers)."""
    size = st.integers(1, 4)
    height, width = draw(size), draw(size)
    term = st.tuples(st.integers(0, height - 1), st.integers(0, width - 1))
    terms = st.lists(term, min_size=1, max_size=3, unique=True).map(tuple)
    return height, width, draw(terms), draw(terms)


def polynomial(shape, terms):
    """The sum of x^u y^v with x = S_l (x) I and y = I (x) S_m, by matrix powers."""

    def shift(size):
        return np.roll(np.eye(size, dtype=int), 1, axis=1)

    x, y = (
        np.kron(shift(shape.l), np.eye(shape.m, dtype=int)),
        np.kron(np.eye(shape.l), shift(shape.m)),
    )
    powers = [np.linalg.matrix_power(x, u) @ np.linalg.matrix_power(y, v) for u, v in terms]
    return sum(powers).astype(int) % 2


@given(shapes())
def test_checks_are_the_polynomials_in_the_shifts(arguments):
    shape = BicycleShape(*arguments)
    a, b = polynomial(shape, shape.a), polynomial(shape, shape.b)
    checks_x, checks_z = shape.checks()
    np.testing.assert_array_equal(checks_x, np.hstack([a, b]))
    np.testing.assert_array_equal(checks_z, np.hstack([b.T, a.T]))
    assert not (checks_x.astype(int) @ checks_z.T % 2).any()


@given(shapes())
def test_translations_take_check_i_to_check_i_plus_g(arguments):
    shape = BicycleShape(*arguments)
    u, v = np.divmod(np.arange(shape.sites), shape.m)
    for g, images in enumerate(shape.qubit_images()):
        moved_sites = (u + u[g]) % shape.l * shape.m + (v + v[g]) % shape.m
        for checks in shape.checks():
            moved = np.zeros_like(checks)
            moved[:, images] = checks
            np.testing.assert_array_equal(moved, checks[moved_sites])


def test_translations_of_a_torus():
    images = BicycleShape(2, 3, ((0, 0),), ((0, 0),)).qubit_images()
    assert images.shape == (6, 12)
    assert images[0].tolist() == list(range(12))
    assert images[1].tolist() == [1, 2, 0, 4, 5, 3, 7, 8, 6, 10, 11, 9]
    assert images[3].tolist() == [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8]


@given(shapes())
def test_duality_takes_x_check_i_to_z_check_minus_i_and_back(arguments):
    shape = BicycleShape(*arguments)
    checks_x, checks_z = shape.checks()
    dual = shape.dual_qubits()
    np.testing.assert_array_equal(dual[dual], np.arange(2 * shape.sites))
    for checks, others in ((checks_x, checks_z), (checks_z, checks_x)):
        moved = np.zeros_like(checks)
        moved[:, dual] = checks
        np.testing.assert_array_equal(moved, others[shape.inverse_sites()])


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("x3+y+y2", ((3, 0), (0, 1), (0, 2))),
        ("1 + x^2*y + xy^10", ((0, 0), (2, 1), (1, 10))),
        ("x0+y", ((0, 0), (0, 1))),
    ],
)
def test_polynomials_are_read_term_by_term(text, terms):
    assert parse_polynomial(text) == terms


@pytest.mark.parametrize("text", ["", "x+", "x++y", "z", "x-1", "2", "yx", "x^-1"])
def test_what_is_no_polynomial_is_refused(text):
    with pytest.raises(ValueError, match="must be a sum of terms such as x3, y or x2y: got"):
        parse_polynomial(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 3, "x3+y", "1"), "exponents of A must fit the 3 x 3 torus: got x^3 y^0"),
        ((3, 3, "x", "y+y5"), "exponents of B must fit the 3 x 3 torus: got x^0 y^5"),
        ((3, 3, "x+x", "1"), "terms of A must be distinct"),
        ((0, 3, "1", "1"), "l and m must be at least 1: got l = 0"),
    ],
)
def test_polynomials_that_do_not_fit_are_refused(arguments, message):
    height, width, a, b = arguments
    with pytest.raises(ValueError) as error:
        BicycleShape(height, width, parse_polynomial(a), parse_polynomial(b))
    assert message in str(error.value)
