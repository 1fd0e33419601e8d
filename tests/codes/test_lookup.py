"""Values and moved sets are found again; what is not there is not."""

import numpy as np
from scipy import sparse

from unmasq.codes.lookup import Lookup, random_words, xor_at_ones


def test_nothing_is_found_in_an_empty_array():
    places, found = Lookup(np.zeros(0, np.uint64)).find(np.array([0, 5], np.uint64))
    assert places.shape == (2,)
    assert not found.any()


def test_only_values_of_one_place_are_unique():
    assert Lookup(np.array([4, 2, 4, 9])).unique().tolist() == [False, True, False, True]


def test_a_moved_set_is_found_by_the_hash_of_its_members():
    rng = np.random.default_rng(1)
    sets = np.unique(rng.integers(0, 2, (12, 40)), axis=1).astype(np.uint8)
    images = rng.permutation(12)
    moved = np.zeros_like(sets)
    moved[images] = sets
    words = random_words(12, rng)
    both = sparse.csc_array(np.concatenate([moved, sets], axis=1))
    places, found = Lookup(xor_at_ones(both, words)).find(
        xor_at_ones(sparse.csc_array(sets), words[images])
    )
    assert found.all()
    assert places.tolist() == list(range(sets.shape[1]))


def test_the_empty_set_has_hash_zero_and_no_single_member_has():
    words = random_words(50, np.random.default_rng(2))
    hashes = xor_at_ones(sparse.csc_array(np.eye(50, 51, dtype=np.uint8)), words)
    assert hashes[-1] == 0
    assert (hashes[:-1] == words).all()
    assert words.all()
