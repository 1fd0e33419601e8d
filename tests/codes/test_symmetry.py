"""The translations really are symmetries of the problems, and the tie tables follow from them."""

import dataclasses
import functools

import numpy as np
import pytest
from scipy import sparse

from unmasq.codes import get_code, gf2
from unmasq.codes.symmetry import Symmetry, TieTable, free_ties, pair_orbits
from unmasq.problems.building import problem_from_code
from unmasq.problems.frames import check_correlations, seen_checks


@functools.cache
def problem(name, basis, rounds=2):
    """Circuit noise of basis X or Z; code capacity for XZ."""
    code = get_code(name)
    if basis == "XZ":
        return problem_from_code(code, "code-capacity", 0.01)
    return problem_from_code(code, "circuit", 0.006, rounds, basis)


PROBLEMS = pytest.mark.parametrize("basis", ["X", "Z", "XZ"])
NAMES = pytest.mark.parametrize("name", ["bb18", "bb36", "bb72"])
LARGE = [pytest.param(name, marks=pytest.mark.slow) for name in ("bb90", "bb108", "bb144")]


def operators(code, basis):
    """Logicals and checks of a basis as rows, X part left of Z part (2n columns)."""
    x, z = np.eye(2, dtype=np.uint8)
    rows = {
        "X": (np.kron(x, code.logicals_x), np.kron(x, code.checks_x)),
        "Z": (np.kron(z, code.logicals_z), np.kron(z, code.checks_z)),
    }
    if basis != "XZ":
        logicals, checks = rows[basis]
        other = np.zeros_like(checks)
        # Row i of `checks` belongs to check site i; those of the other type are not needed.
        return logicals, np.concatenate([checks, other] if basis == "X" else [other, checks])
    logicals = np.concatenate([rows["X"][0], rows["Z"][0]])
    return logicals, np.concatenate([rows["X"][1], rows["Z"][1]])


def moved_operators(code, rows, element):
    """The rows under group element number `element`: translations, then duality after each."""
    n, sites = code.n, code.n // 2
    blocks = rows.reshape(-1, 2, n)
    translated = np.empty_like(blocks)
    translated[:, :, code.bicycle.qubit_images()[element % sites]] = blocks
    if element < sites:
        return translated.reshape(-1, 2 * n)
    swapped = np.empty_like(blocks)
    swapped[:, :, code.bicycle.dual_qubits()] = translated[:, ::-1]
    return swapped.reshape(-1, 2 * n)


@pytest.mark.parametrize("name", ["bb18", "bb36", "bb72", *LARGE])
@PROBLEMS
def test_every_element_permutes_the_faults_and_maps_syndrome_and_logicals_linearly(name, basis):
    """Faults j -> g j with equal priors, and (s, l) -> (P s, M l + chi s) on every column.

    g^-1 takes logical k to a sum of basis logicals (M) and checks (chi); a check's flip is the sum
    of all its detectors.
    """
    code, found = get_code(name), problem(name, basis)
    symmetry, layout = found.symmetry, found.layout
    logicals, checks = operators(code, basis)
    grid = layout.grid()
    h, lo = found.check_matrix.toarray(), found.logical_matrix.toarray()
    check_flips = np.add.reduce(h.reshape(layout.num_frames, layout.num_checks, -1)) % 2
    column = {key: j for j, key in enumerate(zip_columns(h, lo))}
    for element, images in enumerate(symmetry.check_images):
        moved_rows = np.empty_like(grid)
        moved_rows[:, images] = grid
        moved_h = h[moved_rows.ravel()]  # detector (r, g i) of g e is detector (r, i) of e
        inverse = inverse_element(symmetry, element)
        moved_back = moved_operators(code, logicals, inverse)
        coefficients = gf2.combine(np.concatenate([logicals, checks]), moved_back)
        m, chi = np.split(coefficients.astype(np.int64), [len(logicals)], axis=1)
        moved_l = ((m @ lo + chi @ check_flips) % 2).astype(np.uint8)
        places = np.array([column[key] for key in zip_columns(moved_h, moved_l)])
        assert len(set(places)) == found.num_faults
        np.testing.assert_allclose(found.priors[places], found.priors, rtol=1e-12)


def zip_columns(h, lo):
    """Each column of [H; L] as bytes."""
    packed = np.packbits(np.concatenate([h, lo]), axis=0)
    return [column.tobytes() for column in np.ascontiguousarray(packed.T)]


def inverse_element(symmetry, element):
    inverse = np.argsort(symmetry.check_images[element])
    (found,) = np.flatnonzero((symmetry.check_images == inverse).all(axis=1))
    return int(found)


@NAMES
@PROBLEMS
def test_the_elements_are_a_group_that_acts_on_checks_and_tokens_alike(name, basis):
    symmetry = get_code(name).symmetries[basis]
    joint = np.concatenate(
        [symmetry.check_images, symmetry.num_checks + symmetry.token_images], axis=1
    )
    elements = {row.tobytes() for row in joint}
    assert len(elements) == symmetry.order
    for g in joint[:: max(symmetry.order // 12, 1)]:
        assert {np.ascontiguousarray(g[h]).tobytes() for h in joint} == elements


@NAMES
@PROBLEMS
def test_each_token_image_is_the_moved_operator_up_to_nothing(name, basis):
    """Not only modulo the checks: token g k is exactly operator k under g."""
    code = get_code(name)
    symmetry = code.symmetries[basis]
    logicals, _ = operators(code, basis)
    seen: dict[int, bytes] = {}
    for element in range(symmetry.order):
        moved = moved_operators(code, logicals, element)
        for token, row in zip(
            symmetry.token_images[element, symmetry.basis_tokens], moved, strict=True
        ):
            assert seen.setdefault(int(token), row.tobytes()) == row.tobytes()
    assert len(set(seen.values())) == len(seen) == symmetry.num_tokens


# Tie tables.


def burnside(row_images, column_images):
    """The number of orbits of pairs, by counting fixed points."""
    fixed = [
        (rows == np.arange(len(rows))).sum() * (cols == np.arange(len(cols))).sum()
        for rows, cols in zip(row_images, column_images, strict=True)
    ]
    return sum(map(int, fixed)) // len(fixed)


@pytest.mark.parametrize(
    ("name", "basis", "check_values", "joint_values"),
    [
        ("bb18", "X", 4 * 9, 4 * 9 + 4 * 18 + 4 * 9),
        ("bb72", "X", 4 * 36, 4 * 36 + 2 * (72 + 72 + 24) + (4 * 36 + 4 * 12 + 12)),
        ("bb72", "Z", 4 * 36, 4 * 36 + 2 * (72 + 72 + 24) + (4 * 36 + 4 * 12 + 12)),
        ("bb144", "X", 4 * 72, 4 * 72 + 2 * (72 + 144) + (36 + 2 * 36 + 72)),
    ],
)
def test_one_value_for_each_type_type_and_offset(name, basis, check_values, joint_values):
    """Offsets of a token count modulo its stabiliser: bb72's shapes have 36, 12 and 36 translates
    (a stabiliser of order 3), those of bb144 36 and 72 (order 2)."""
    symmetry = get_code(name).symmetries[basis]
    assert symmetry.check_ties().num_values == check_values
    assert symmetry.joint_ties().num_values == joint_values


@NAMES
@PROBLEMS
def test_values_are_counted_by_burnsides_lemma(name, basis):
    symmetry = get_code(name).symmetries[basis]
    joint = np.concatenate(
        [symmetry.token_images, symmetry.num_tokens + symmetry.check_images], axis=1
    )
    assert symmetry.check_ties().num_values == burnside(*[symmetry.check_images] * 2)
    assert symmetry.joint_ties().num_values == burnside(joint, joint)


@NAMES
def test_check_ties_depend_on_types_and_relative_offset_alone(name):
    code = get_code(name)
    height, width = code.bicycle.l, code.bicycle.m
    ties = code.symmetries["X"].check_ties()
    kind, site = np.divmod(np.arange(code.n), code.n // 2)
    u, v = np.divmod(site, width)
    offset = (u[None, :] - u[:, None]) % height * width + (v[None, :] - v[:, None]) % width
    label = (kind[:, None] * 2 + kind[None, :]) * code.n + offset
    pairs = set(zip(label.ravel().tolist(), ties.index.ravel().tolist(), strict=True))
    assert len(pairs) == len(np.unique(label)) == ties.num_values


def constant_on(ties, values):
    """Whether `values` are equal wherever the table's numbers are."""
    low = np.full(ties.num_values, np.inf)
    high = np.full(ties.num_values, -np.inf)
    np.minimum.at(low, ties.index, values)
    np.maximum.at(high, ties.index, values)
    used = np.unique(ties.index)
    return (low[used] == high[used]).all()


@NAMES
@PROBLEMS
def test_correlations_of_the_problem_are_constant_on_the_ties(name, basis):
    found = problem(name, basis)
    ties = found.symmetry.check_ties()
    for correlation in check_correlations(found):
        assert constant_on(ties, correlation)
        assert not constant_on(ties, correlation + np.eye(len(correlation))[0])
    stacked = sparse.vstack([found.logical_matrix.astype(np.int32), seen_checks(found)[-1]])
    assert constant_on(found.symmetry.joint_ties(), (stacked @ stacked.T).toarray())


@pytest.mark.parametrize("basis", ["X", "XZ"])
def test_value_numbers_do_not_depend_on_the_tokens_shown(basis):
    symmetry = get_code("bb72").symmetries[basis]
    every_token = np.arange(symmetry.num_tokens, dtype=np.int32)
    full = dataclasses.replace(symmetry, basis_tokens=every_token).joint_ties()
    shown = symmetry.token_images[5, symmetry.basis_tokens]
    rows = np.concatenate([shown, symmetry.num_tokens + np.arange(symmetry.num_checks)])
    some = dataclasses.replace(symmetry, basis_tokens=shown).joint_ties()
    assert some.num_values == full.num_values
    np.testing.assert_array_equal(some.index, full.index[np.ix_(rows, rows)])
    # All tokens moved by one element see the same table, with the checks moved alike.
    size = len(symmetry.basis_tokens)
    basis_index = symmetry.joint_ties().index
    images = symmetry.check_images[5]
    np.testing.assert_array_equal(some.index[:size, :size], basis_index[:size, :size])
    np.testing.assert_array_equal(some.index[:size, size + images], basis_index[:size, size:])


def test_kinds_of_checks():
    symmetry = get_code("bb72").symmetries["X"]
    assert symmetry.check_kinds().tolist() == [0] * 36 + [1] * 36
    both = get_code("bb72").symmetries["XZ"]
    assert both.check_kinds().tolist() == [0] * 72  # the duality takes X checks to Z checks
    assert both.order == 72


def test_the_trivial_table_has_a_value_of_its_own_at_each_place():
    ties = free_ties(2, 3)
    assert ties.is_free
    assert ties.num_values == 6
    np.testing.assert_array_equal(ties.index, [[0, 1, 2], [3, 4, 5]])
    assert not get_code("bb18").symmetries["X"].check_ties().is_free
    assert free_ties(0, 0).num_values == 0


def test_the_trivial_group_ties_nothing():
    alone = np.arange(5, dtype=np.int32)[None]
    np.testing.assert_array_equal(pair_orbits(alone, alone), free_ties(5, 5).index)


@pytest.mark.parametrize(
    ("checks", "tokens", "basis", "message"),
    [
        ([[0, 0]], [[0]], [0], "check_images must hold one permutation a row"),
        ([[0, 1]], [[1]], [0], "token_images must hold one permutation a row"),
        ([[0, 1], [1, 0]], [[0]], [0], "one row for each group element: got 2 and 1"),
        ([[0, 1]], [[0, 1]], [1, 1], "basis_tokens must be distinct"),
    ],
)
def test_bad_symmetries_are_refused(checks, tokens, basis, message):
    arrays = (np.array(part, np.int32) for part in (checks, tokens, basis))
    with pytest.raises(ValueError, match=message):
        Symmetry(*arrays)


def test_a_table_with_too_few_values_is_refused():
    with pytest.raises(ValueError, match="index must lie in 0..1: got 0..2"):
        TieTable(np.array([[0, 2]], np.int32), 2)
