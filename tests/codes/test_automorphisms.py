"""Translations found from check matrices alone."""

import numpy as np
import pytest

from small_codes import product, random_product, ring, toric
from unmasq.codes import css_code, get_code
from unmasq.codes.automorphisms import free_automorphisms


@pytest.mark.parametrize("size", [(2, 2), (3, 3), (4, 4), (3, 5), (6, 4)])
def test_all_translations_of_a_toric_code_are_found(size):
    assert len(free_automorphisms(*toric(*size))) == np.prod(size)


@pytest.mark.parametrize("name", ["bb18", "bb36", "bb72"])
def test_as_many_as_a_bicycle_code_has_translations(name):
    code = get_code(name)
    assert len(free_automorphisms(code.checks_x, code.checks_z)) == code.n // 2


@pytest.mark.parametrize("matrices", [random_product(), product(ring(3)[:2], ring(4)[:3])])
def test_codes_without_translations_have_the_identity_alone(matrices):
    images = free_automorphisms(*matrices)
    assert np.array_equal(images, np.arange(images.shape[1])[None])


@pytest.mark.parametrize("matrices", [toric(3, 4), toric(4, 4)])
def test_they_are_a_group_that_keeps_the_checks_and_moves_everything(matrices):
    x, z = matrices
    checks = np.concatenate([x, z])
    m = len(checks)
    images = free_automorphisms(x, z)
    assert np.array_equal(images[0], np.arange(images.shape[1]))
    known = {tuple(row) for row in images.tolist()}
    assert all(tuple(one[other]) in known for one in images for other in images)
    for row in images[1:]:
        assert (row != np.arange(len(row))).all()
        assert (row[: len(x)] < len(x)).all()
        assert np.array_equal(checks[np.ix_(row[:m], row[m:] - m)], checks)


def test_shuffled_matrices_have_as_many():
    x, z = toric(4, 3)
    rng = np.random.default_rng(1)
    order = rng.permutation(x.shape[1])
    x, z = x[rng.permutation(len(x))][:, order], z[rng.permutation(len(z))][:, order]
    assert len(free_automorphisms(x, z)) == 12


def test_a_code_from_matrices_knows_its_symmetry_and_has_light_logicals():
    code = css_code(*toric(3, 3))
    assert {basis: symmetry.order for basis, symmetry in code.symmetries.items()} == {
        "X": 9, "Z": 9, "XZ": 9,
    }  # fmt: skip
    assert code.logicals_x.sum(axis=1).tolist() == code.logicals_z.sum(axis=1).tolist() == [3, 3]
    assert code.symmetries["X"].num_tokens == 6  # three lines in each direction
    assert css_code(*random_product()).symmetries == {}
