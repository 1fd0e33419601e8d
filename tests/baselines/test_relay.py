"""Relay-BP: the same shot always gets the same answer, in any company."""

import numpy as np
import pytest

from baselines.small_problems import sampled_shots
from unmasq.baselines import make_baseline
from unmasq.codes import get_code
from unmasq.problems.building import problem_from_code

pytest.importorskip("relay_bp")


@pytest.fixture(scope="module")
def bb18():
    return problem_from_code(get_code("bb18"), "circuit", 0.01, rounds=2)


@pytest.mark.parametrize("name", ["relay-xz", "relay5-x"])
def test_a_prediction_does_not_depend_on_what_was_decoded_before(name, bb18):
    """Left to itself the package draws new memory strengths for every shot."""
    syndromes, _ = sampled_shots(bb18, 60, seed=0)
    decoder = make_baseline(name, bb18)
    first = decoder.decode_batch(syndromes)
    np.testing.assert_array_equal(decoder.decode_batch(syndromes), first)
    np.testing.assert_array_equal(
        make_baseline(name, bb18).decode_batch(syndromes[30:]), first[30:]
    )


def test_more_solutions_do_not_cost_accuracy(bb18):
    """Five solutions and the best of them, against the first: paired, on the same shots."""
    syndromes, logicals = sampled_shots(bb18, 400, seed=1)
    one, five = (
        (make_baseline(name, bb18).decode_batch(syndromes) != logicals).any(axis=1)
        for name in ("relay-x", "relay5-x")
    )
    # Were both equally good, the discordant shots would be fair coins.
    better, worse = int((one & ~five).sum()), int((five & ~one).sum())
    assert worse <= better + 6 * max(1, better + worse) ** 0.5
    assert (one != five).any()
