"""Min-sum with memory, against sums written out edge by edge."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unmasq.models.memory_bp import believe, neighbours_of

_H = np.array([[1, 1, 0, 1, 0, 0], [0, 1, 1, 0, 1, 0], [1, 0, 1, 0, 0, 1], [0, 0, 0, 1, 1, 0]])
_PRIOR = np.array([2.0, 2.5, 3.0, 1.5, 2.2, 4.0])


def _around(matrix, order=None):
    rows = [np.flatnonzero(row) for row in matrix]
    around = np.full((len(rows), max(map(len, rows)) + 1), -1, np.int32)
    for row, faults in zip(around, rows, strict=True):
        row[: len(faults)] = faults
    return around


def _by_hand(matrix, prior, syndrome, iterations, scaling, memory):
    """Messages in dictionaries, one shot."""
    edges = [(m, j) for m, j in np.argwhere(matrix)]
    messages = dict.fromkeys(edges, 0.0)
    odds = prior.copy()
    for _ in range(iterations):
        own = (1 - memory) * prior + memory * odds
        heard = {(m, j): odds[j] - messages[m, j] for m, j in edges}
        for m, j in edges:
            others = [heard[m, k] for k in np.flatnonzero(matrix[m]) if k != j]
            sign = np.prod(np.where(np.array(others) < 0, -1, 1)) * (-1) ** syndrome[m]
            messages[m, j] = scaling * sign * np.min(np.abs(others))
        odds = own + np.array([sum(messages[m, j] for m in np.flatnonzero(matrix[:, j]))
                               for j in range(len(prior))])  # fmt: skip
        errors = odds < 0
        if (matrix @ errors % 2 == syndrome).all():
            return errors, odds, True
    return errors, odds, False


@pytest.mark.parametrize(("scaling", "memory"), [(1.0, 0.15), (0.75, 0.0), (1.0, -0.2)])
def test_messages_are_those_written_out_by_hand(scaling, memory):
    syndromes = np.array([[s >> i & 1 for i in range(4)] for s in range(16)])
    graph = neighbours_of(_around(_H), 6)
    for iterations in (1, 2, 7):
        found = jax.jit(
            lambda s, n=iterations: believe(
                graph, jnp.asarray(_PRIOR, jnp.float32), s, iterations=n, scaling=scaling,
                memory=memory,
            )
        )(jnp.asarray(syndromes.T == 1))  # fmt: skip
        for shot, syndrome in enumerate(syndromes):
            errors, odds, solved = _by_hand(_H, _PRIOR, syndrome, iterations, scaling, memory)
            np.testing.assert_array_equal(found.errors[:, shot], errors)
            np.testing.assert_allclose(found.odds[:, shot], odds, rtol=1e-4)
            assert found.solved[shot] == solved


def test_equal_least_messages_answer_each_other():
    """At a detector with two equally sure faults, each hears of the other: the least is twice."""
    graph = neighbours_of(np.array([[0, 1, 2]], np.int32), 3)
    prior = jnp.array([2.0, 2.0, 5.0])
    found = believe(graph, prior, jnp.array([[True]]), iterations=1, scaling=1.0, memory=0.0)
    np.testing.assert_allclose(found.odds[:, 0], [0.0, 0.0, 3.0])


def test_a_quiet_shot_is_solved_by_no_fault():
    graph = neighbours_of(_around(_H), 6)
    prior = jnp.asarray(_PRIOR, jnp.float32)
    quiet = jnp.zeros((4, 2), bool)
    found = believe(graph, prior, quiet, iterations=3, scaling=1.0, memory=0.1)
    assert found.solved.all()
    assert not found.errors.any()
