"""The script that makes the problem of a code with other logicals."""

import numpy as np
import pytest
from any_logicals import codes
from scipy import sparse

from unmasq.codes import get_code
from unmasq.codes.gf2 import rank
from unmasq.problems.building import problem_from_code


def test_either_basis_asks_for_the_same_in_other_words():
    """Faults that differ with one basis differ with the other: their columns are the same many."""
    found = codes(get_code("bb18"))
    assert found["any"].logicals_x.sum() > found["light"].logicals_x.sum()
    light, anyhow = (problem_from_code(code, "circuit", 0.01, 1, "X") for code in found.values())
    assert light.symmetry is None is anyhow.symmetry
    assert light.structure_id != anyhow.structure_id
    assert np.sort(light.priors) == pytest.approx(np.sort(anyhow.priors), rel=1e-12)
    ranks = {
        rank(sparse.vstack([each.check_matrix, each.logical_matrix]).toarray())
        for each in (light, anyhow)
    }
    assert len(ranks) == 1
