import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmasq.codes import gf2


@st.composite
def bit_matrices(draw, max_rows=6, max_columns=7):
    rows, columns = draw(st.integers(0, max_rows)), draw(st.integers(1, max_columns))
    bits = draw(st.lists(st.integers(0, 1), min_size=rows * columns, max_size=rows * columns))
    return np.array(bits, np.uint8).reshape(rows, columns)


def span(matrix):
    """All sums of rows, as a set of tuples."""
    sums = {(0,) * matrix.shape[1]}
    for row in matrix:
        sums |= {tuple(a ^ b for a, b in zip(total, row.tolist(), strict=True)) for total in sums}
    return sums


@given(bit_matrices())
def test_row_reduction_keeps_the_span_and_has_unit_pivot_columns(matrix):
    reduced, pivots = gf2.row_reduce(matrix)
    assert span(reduced) == span(matrix)
    assert pivots == sorted(set(pivots))
    np.testing.assert_array_equal(reduced[:, pivots], np.eye(len(pivots)))
    for row, pivot in zip(reduced, pivots, strict=True):
        assert not row[:pivot].any()


@given(bit_matrices())
def test_rank_counts_the_span(matrix):
    assert len(span(matrix)) == 2 ** gf2.rank(matrix)


@given(bit_matrices())
def test_kernel_is_every_vector_the_matrix_kills(matrix):
    vectors = np.indices((2,) * matrix.shape[1]).reshape(matrix.shape[1], -1).T
    killed = vectors[~((vectors @ matrix.T) % 2).any(axis=1)]
    assert span(gf2.kernel(matrix)) == set(map(tuple, killed.tolist()))


@given(bit_matrices(max_rows=5), st.data())
def test_combine_finds_the_coefficients(rows, data):
    size = 3 * len(rows)
    bits = data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
    target = np.array(bits, np.uint8).reshape(3, len(rows)) @ rows % 2
    coefficients = gf2.combine(rows, target)
    np.testing.assert_array_equal(coefficients @ rows % 2, target)
    independent = gf2.row_reduce(rows.T)[1]
    assert not np.delete(coefficients, independent, axis=1).any()


def test_combine_refuses_a_target_outside_the_span():
    with pytest.raises(ValueError, match="must lie in the span"):
        gf2.combine(np.array([[1, 1, 0]], np.uint8), np.array([[1, 0, 0]], np.uint8))


def test_supports_become_rows():
    rows = gf2.from_supports([(0, 2), ()], 3)
    np.testing.assert_array_equal(rows, [[1, 0, 1], [0, 0, 0]])


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([1, 0], "two dimensions: got shape (2,)"),
        ([[0, 1], [2, 0]], "only 0 and 1: got name[1, 0] = 2"),
        ([[0.5]], "only 0 and 1: got name[0, 0] = 0.5"),
        ([[-1]], "only 0 and 1: got name[0, 0] = -1"),
    ],
)
def test_as_bits_refuses_what_is_no_bit_matrix(matrix, message):
    with pytest.raises(ValueError) as error:
        gf2.as_bits(matrix, "name")
    assert message in str(error.value)
