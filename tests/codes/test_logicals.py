"""The search for light logicals against brute force on the two small codes."""

import itertools

import numpy as np
import pytest

from unmasq.codes import CATALOGUE, get_code, gf2
from unmasq.codes.logicals import canonical_basis, light_logicals, spanning_weight, translates


def as_words(rows):
    """Each row as one integer."""
    return rows.astype(np.uint64) @ (np.uint64(1) << np.arange(rows.shape[1], dtype=np.uint64))


def span(rows):
    sums = np.zeros(1, np.uint64)
    for word in as_words(rows):
        sums = np.concatenate([sums, sums ^ word])
    return sums


def every_logical(code):
    """All X operators that commute with the Z checks and are no product of X checks."""
    stabilisers = span(gf2.row_reduce(code.checks_x)[0])
    classes = span(code.logicals_x)[1:]
    return (stabilisers[:, None] ^ classes[None, :]).ravel()


@pytest.mark.parametrize("name", ["bb18", "bb36"])
def test_distance_by_brute_force(name):
    code = get_code(name)
    assert np.bitwise_count(every_logical(code)).min() == code.distance == 4


@pytest.mark.parametrize("name", ["bb18", "bb36"])
def test_the_search_finds_every_operator_up_to_the_weight(name):
    code = get_code(name)
    words = every_logical(code)
    light = words[np.bitwise_count(words) <= 4]
    found = light_logicals(code.checks_z, code.logicals_z, weight=4, num_sets=100)
    assert set(as_words(gf2.from_supports(list(found), code.n))) == set(light)


def test_one_information_set_gives_all_words_with_at_most_two_ones_in_it():
    code = get_code("bb18")
    found = light_logicals(code.checks_z, code.logicals_z, weight=6, num_sets=1, seed=3)
    order = np.random.default_rng(3).permutation(code.n)
    basis = np.empty((11, code.n), np.uint8)
    basis[:, order] = gf2.row_reduce(gf2.kernel(code.checks_z)[:, order])[0]
    words = [*basis, *(one ^ other for one, other in itertools.combinations(basis, 2))]
    light = [word for word in words if word.sum() <= 6]
    logical = [word for word in light if (code.logicals_z.astype(int) @ word % 2).any()]
    assert any((word == row).all() for word in logical for row in basis)
    assert found == {tuple(np.flatnonzero(word).tolist()) for word in logical}


def test_stabilisers_are_not_logicals():
    code = get_code("bb18")
    checks = {tuple(np.flatnonzero(row).tolist()) for row in code.checks_x}
    found = light_logicals(code.checks_z, code.logicals_z, weight=6, num_sets=200)
    assert any(len(support) == 6 for support in found)
    assert not checks & found


def canonical_by_hand(supports, code, images):
    """The rule of `canonical_basis`, word for word, with ranks of whole operators."""

    def rank(operators):
        return gf2.rank(np.concatenate([code.checks_x, gf2.from_supports(operators, code.n)]))

    kept, operators = {}, []
    for weight in sorted({len(support) for support in supports}):
        orbits = {
            frozenset(translates(support, images)) for support in supports if len(support) == weight
        }
        while True:
            gain = {orbit: rank([*operators, *orbit]) - rank(operators) for orbit in orbits}
            useful = [orbit for orbit in orbits if gain[orbit]]
            if not useful:
                break
            shape = min(min(useful, key=lambda o: (-gain[o], len(o), min(o))))
            kept[shape] = ()
            for g, operator in enumerate(translates(shape, images)):
                if rank([*operators, operator]) > rank(operators):
                    operators.append(operator)
                    kept[shape] += (g,)
    return kept


def test_the_canonical_basis_follows_its_rule():
    code = get_code("bb18")
    images = CATALOGUE["bb18"].shape.qubit_images()
    light = light_logicals(code.checks_z, code.logicals_z, weight=6, num_sets=100)
    for supports in (light, {s for s in light if len(s) == 6}, set(sorted(light)[::7])):
        expected = canonical_by_hand(supports, code, images)
        if sum(map(len, expected.values())) == code.k:
            found = canonical_basis(supports, code.logicals_z, images)
            assert list(found.items()) == list(expected.items())
        else:
            with pytest.raises(ValueError, match="must span 4 logical operators: got"):
                canonical_basis(supports, code.logicals_z, images)


def test_lighter_operators_come_first_and_heavier_ones_only_where_needed():
    code = get_code("bb18")
    images = CATALOGUE["bb18"].shape.qubit_images()
    light = light_logicals(code.checks_z, code.logicals_z, weight=6, num_sets=100)
    first, second = (translates(shape, images) for shape in CATALOGUE["bb18"].logicals)
    only_one_light = set(first) | {s for s in light if len(s) == 6}
    weights = [len(s) for s in canonical_basis(only_one_light, code.logicals_z, images)]
    assert weights[0] == 4
    assert weights[1:] == [6] * (len(weights) - 1)
    assert spanning_weight(only_one_light, code.logicals_z) == 6
    assert spanning_weight(set(first) | set(second), code.logicals_z) == 4


def test_supports_that_do_not_span_are_refused():
    code = get_code("bb18")
    images = CATALOGUE["bb18"].shape.qubit_images()
    one_orbit = set(translates(next(iter(CATALOGUE["bb18"].logicals)), images))
    with pytest.raises(ValueError, match="must span 4 logical operators: got 2"):
        canonical_basis(one_orbit, code.logicals_z, images)
    with pytest.raises(ValueError, match="must span 4 logical operators"):
        spanning_weight(one_orbit, code.logicals_z)


def test_translates_are_in_the_order_of_the_translations():
    shape = CATALOGUE["bb18"].shape
    moved = translates((0, 9), shape.qubit_images())
    expected = [(3 * u + v, 9 + 3 * u + v) for u, v in itertools.product(range(3), repeat=2)]
    assert moved == expected
