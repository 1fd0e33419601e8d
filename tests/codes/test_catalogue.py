"""Every catalogue code: size, commutation, and the basis that the rule gives again."""

import numpy as np
import pytest

from unmasq.codes import CATALOGUE, code_names, get_code, gf2
from unmasq.codes.logicals import canonical_basis, independent_logicals, light_logicals

PUBLISHED = {
    "bb18": (18, 4, 4),
    "bb36": (36, 8, 4),
    "bb72": (72, 12, 6),
    "bb90": (90, 8, 10),
    "bb108": (108, 8, 10),
    "bb144": (144, 12, 12),
    "bb288": (288, 12, 18),
}


def test_the_catalogue_holds_these_codes_smallest_first():
    assert code_names() == tuple(PUBLISHED)
    assert [(e.n, e.k, e.distance) for e in CATALOGUE.values()] == list(PUBLISHED.values())


@pytest.mark.parametrize("name", PUBLISHED)
def test_size_and_commutation(name):
    code = get_code(name)
    n, k, distance = PUBLISHED[name]
    x, z = code.checks_x.astype(int), code.checks_z.astype(int)
    assert (code.n, code.k, code.distance) == (n, k, distance)
    assert code.num_checks == n
    assert (x.sum(axis=0) == 3).all()
    assert (x.sum(axis=1) == 6).all()
    assert n - gf2.rank(code.checks_x) - gf2.rank(code.checks_z) == k
    assert not (x @ z.T % 2).any()
    assert not (code.logicals_x.astype(int) @ z.T % 2).any()
    assert not (code.logicals_z.astype(int) @ x.T % 2).any()


@pytest.mark.parametrize("name", PUBLISHED)
def test_logicals_of_both_bases_pair_fully(name):
    """X and Z logicals are bases: their commutation matrix is invertible."""
    code = get_code(name)
    pairing = (code.logicals_x.astype(int) @ code.logicals_z.T % 2).astype(np.uint8)
    assert gf2.rank(pairing) == code.k == len(pairing)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_logical_has_the_weight_of_the_distance(name):
    code = get_code(name)
    weights = code.logicals_x.sum(axis=1)
    np.testing.assert_array_equal(weights, code.logicals_z.sum(axis=1))
    # [[108,8,10]] has only four independent operators of weight 10.
    expected = [10] * 4 + [12] * 4 if name == "bb108" else [code.distance] * code.k
    np.testing.assert_array_equal(weights, expected)


QUICK = [(name, 0, 200) for name in PUBLISHED if name != "bb288"]
LONG = [(name, 1, 1000) for name in PUBLISHED]


@pytest.mark.parametrize(
    ("name", "seed", "num_sets"),
    [*QUICK, *(pytest.param(*search, marks=pytest.mark.slow) for search in LONG)],
)
def test_the_search_repeats_the_catalogue(name, seed, num_sets):
    entry = CATALOGUE[name]
    checks_x, checks_z = entry.shape.checks()
    opposite = independent_logicals(checks_z, checks_x)
    heaviest = max(len(shape) for shape in entry.logicals)
    supports = light_logicals(checks_z, opposite, heaviest, num_sets, seed)
    assert min(map(len, supports)) == entry.distance
    found = canonical_basis(supports, opposite, entry.shape.qubit_images())
    assert list(found.items()) == list(entry.logicals.items())


@pytest.mark.parametrize("name", PUBLISHED)
def test_z_logicals_are_the_duals_of_the_x_logicals(name):
    code = get_code(name)
    moved = np.zeros_like(code.logicals_x)
    moved[:, CATALOGUE[name].shape.dual_qubits()] = code.logicals_x
    np.testing.assert_array_equal(moved, code.logicals_z)


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("basis", ["X", "Z", "XZ"])
def test_tokens_move_as_the_logicals_do(name, basis):
    """Basis token k is logical k; g takes tokens to operators with the moved supports."""
    code, shape = get_code(name), CATALOGUE[name].shape
    symmetry = code.symmetries[basis]
    blocks = {"X": [code.logicals_x], "Z": [code.logicals_z]}
    logicals = np.concatenate(blocks.get(basis, [code.logicals_x, code.logicals_z]))
    images = shape.qubit_images()
    assert symmetry.order == (2 if basis == "XZ" else 1) * shape.sites
    operators: dict[int, np.ndarray] = {}
    for g in range(shape.sites):
        moved = np.zeros_like(logicals)
        moved[:, images[g]] = logicals
        for token, operator in zip(
            symmetry.token_images[g, symmetry.basis_tokens], moved, strict=True
        ):
            np.testing.assert_array_equal(operators.setdefault(int(token), operator), operator)
    assert sorted(operators) == list(range(symmetry.num_tokens))


def test_a_code_by_its_polynomials_is_the_catalogue_code():
    by_name, by_text = get_code("bb36"), get_code("bb:3,6,1+y+y2,y3+x+x2")
    np.testing.assert_array_equal(by_name.logicals_x, by_text.logicals_x)
    np.testing.assert_array_equal(by_name.checks_z, by_text.checks_z)
    assert by_text.distance is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bb27", "got 'bb27'. Did you mean bb72?"),
        ("BB144", "got 'BB144'. Did you mean bb144?"),
        (
            "steane",
            "code must be one of bb18, bb36, bb72, bb90, bb108, bb144, bb288, or bb:l,m,A,B",
        ),
        ("bb:3,3,1+x", "must have the form bb:l,m,A,B: got 'bb:3,3,1+x'"),
        ("bb:3,3,1+x5,1", "exponents of A must fit the 3 x 3 torus: got x^5"),
        ("bb:2,2,1,1", "must encode at least one logical qubit: got k = 0"),
    ],
)
def test_unknown_codes_are_refused(name, message):
    with pytest.raises(ValueError) as error:
        get_code(name)
    assert message in str(error.value)
