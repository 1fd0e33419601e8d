"""Min-sum with memory, against sums written out edge by edge."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unmasq.models.memory_bp import Found, Neighbours, believe, neighbours_of

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


_SHAPE = (8, 6, 16)  # detectors, slots, faults: always the same, so that little is compiled
_LAST = 9  # iterations
_SHOTS = 8


def _some_shots(seed):
    """A graph of up to six faults around each detector, in any slots; odds; syndromes."""
    generator = np.random.default_rng(seed)
    detectors, slots, faults = _SHAPE
    around = np.full((detectors, slots), -1, np.int32)
    for row in around:
        own = generator.choice(faults, generator.integers(1, slots + 1), replace=False)
        row[generator.permutation(slots)[: len(own)]] = own
    graph = neighbours_of(around, faults)
    messages = np.full((detectors, faults), detectors * slots, np.int32)
    messages[: len(graph.messages)] = graph.messages
    prior = generator.uniform(0.5, 6, faults).astype(np.float32)
    return Neighbours(graph.faults, messages), prior, generator.random((detectors, _SHOTS)) < 0.3


def _believing(iterations):
    """Traced anew by each caller: what is traced depends on the way."""
    settings = {"iterations": iterations, "scaling": 1.0, "memory": 0.15}
    return jax.jit(lambda graph, prior, syndrome: believe(graph, prior, syndrome, **settings))


def _assert_same(found, expected):
    """Bit for bit, but for the running mean, which may be rounded once or twice."""
    for name in ("errors", "odds", "solved"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-5, atol=1e-5)


def test_what_a_shot_gets_does_not_depend_on_the_others(way):
    together, alone = _believing(_LAST), _believing(_LAST)
    solved = 0
    for seed in range(20):
        graph, prior, syndrome = _some_shots(seed)
        found = together(graph, prior, syndrome)
        singles = [alone(graph, prior, syndrome[:, [shot]]) for shot in range(_SHOTS)]
        expected = (np.concatenate(each, -1) for each in zip(*singles, strict=True))
        _assert_same(found, Found(*expected))
        solved += found.solved.sum()
    assert 0.2 < solved / (20 * _SHOTS) < 0.9


def test_a_shot_stays_as_it_was_when_first_solved(way):
    by_count = [_believing(count) for count in (1, 3, _LAST)]
    late = 0
    for seed in range(20):
        shots = _some_shots(seed)
        *earlier, found = (call(*shots) for call in by_count)
        expected = Found(*map(np.array, found))
        for before in reversed(earlier):
            for field, value in zip(expected, before, strict=True):
                field[..., before.solved] = np.asarray(value)[..., before.solved]
            assert not (before.solved & ~found.solved).any()
        _assert_same(found, expected)
        late += (found.solved & ~earlier[0].solved).sum()
    assert late > 5


def test_both_ways_end_alike(request):
    on_a_cpu, elsewhere = _believing(_LAST), _believing(_LAST)
    shots = [_some_shots(seed) for seed in range(20)]
    found = [on_a_cpu(*each) for each in shots]
    request.getfixturevalue("as_on_an_accelerator")
    for one, each in zip(found, shots, strict=True):
        _assert_same(elsewhere(*each), one)


def test_equal_least_messages_answer_each_other(way):
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
