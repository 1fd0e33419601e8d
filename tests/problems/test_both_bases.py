"""The logicals of both bases over one set of faults, and each basis taken out of it again."""

import numpy as np
import pytest
import stim

from unmasq.codes import get_code
from unmasq.problems.both_bases import both_bases, read_out
from unmasq.problems.building import problem_from_code, problem_from_dem
from unmasq.problems.rounds import with_rounds
from unmasq.problems.translates import translates_of


def memory(basis, code="bb18", rounds=3):
    return problem_from_code(get_code(code), "circuit", 0.003, rounds=rounds, basis=basis)


@pytest.fixture(scope="module")
def joint():
    return memory("XZ")


def test_each_basis_can_be_read_out_of_both(joint):
    for basis, logicals in (("X", range(4)), ("Z", range(4, 8))):
        alone, expected = read_out(joint, logicals, basis), memory(basis)
        assert alone.structure_id == expected.structure_id
        assert alone.basis == basis
        np.testing.assert_allclose(alone.priors, expected.priors, atol=1e-12)
        np.testing.assert_allclose(alone.at(0.02).priors, expected.at(0.02).priors, atol=1e-12)


def test_both_bases_move_as_each_alone(joint):
    found = translates_of(joint)
    for basis, rows in (("X", slice(0, 4)), ("Z", slice(4, 8))):
        expected = translates_of(memory(basis))
        np.testing.assert_array_equal(found.logical_maps[:, rows, rows], expected.logical_maps)
        np.testing.assert_array_equal(found.flip_maps[:, rows], expected.flip_maps)
    assert not found.logical_maps[:, :4, 4:].any()


def test_logicals_read_out_keep_their_translates(joint):
    alone = translates_of(read_out(joint, range(4, 8), "Z"))
    np.testing.assert_array_equal(alone.logical_maps, translates_of(memory("Z")).logical_maps)


def test_both_bases_have_any_number_of_rounds_too(joint):
    assert with_rounds(joint, 2).structure_id == memory("XZ", rounds=2).structure_id


def test_other_faults_are_refused(joint):
    with pytest.raises(ValueError, match="must have the same faults in both bases: got .* and"):
        both_bases(memory("X"), memory("Z", rounds=2))
    with pytest.raises(ValueError, match="must have the same faults"):
        both_bases(memory("X"), memory("Z").at(0.004))


def test_faults_that_only_logicals_tell_apart_are_refused():
    problem = problem_from_dem(stim.DetectorErrorModel("error(0.1) D0\nerror(0.1) D0 L0"))
    for use in (lambda: both_bases(problem, problem), lambda: read_out(problem, [0], "X")):
        with pytest.raises(ValueError, match="must tell its faults apart by detectors"):
            use()
