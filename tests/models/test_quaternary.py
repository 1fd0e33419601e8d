"""Quaternary BP: exact where BP is exact, and equal to a plain version written differently."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.models.quaternary import (
    BpResult,
    QubitOdds,
    bp4_on_the_way,
    min_sum,
    neighbours_of,
    run_bp4,
)

# Of I, X, Z, Y.
HAS_X = np.array([0, 1, 0, 1])
HAS_Z = np.array([0, 0, 1, 1])

# Cycle-free, both check types and several degrees; it need not be a code.
TREE_X = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]], np.uint8)
TREE_Z = np.array([[0, 0, 1, 1, 0], [1, 0, 0, 0, 0]], np.uint8)


def sum_product(incoming, present, syndrome):
    """The exact rule for a check: 2 atanh of the product of tanh, by leaving one out at a time."""
    halves = jnp.where(present[:, :, None], jnp.tanh(incoming / 2), 1.0)
    others = [jnp.prod(jnp.delete(halves, i, axis=1), axis=1) for i in range(halves.shape[1])]
    sign = jnp.where(syndrome, -1.0, 1.0)[:, None, :]
    return sign * 2 * jnp.arctanh(jnp.clip(jnp.stack(others, axis=1), -0.9999999, 0.9999999))


def run(checks_x, checks_z, probabilities, syndromes, num_iterations, rule) -> BpResult:
    """`run_bp4` on numpy arrays, shots first; syndromes are X checks, then Z checks."""
    identity, x, z, y = probabilities.T
    result = run_bp4(
        (neighbours_of(checks_x), neighbours_of(checks_z)),
        QubitOdds(*(jnp.asarray(np.log(identity / q)[:, None], jnp.float32) for q in (x, z, y))),
        (
            jnp.asarray(syndromes[:, : len(checks_x)].T == 1),
            jnp.asarray(syndromes[:, len(checks_x) :].T == 1),
        ),
        num_iterations=num_iterations,
        check_rule=rule,
    )
    return BpResult(*(np.asarray(leaf).T for leaf in result))


def some_channel(n: int, seed: int = 0) -> np.ndarray:
    errors = np.random.default_rng(seed).uniform(0.02, 0.12, (n, 3))
    return np.concatenate([1 - errors.sum(axis=1, keepdims=True), errors], axis=1)


def exact_odds(checks_x, checks_z, probabilities, syndrome) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of each X and Z bit given the syndrome, from a list of all 4^n errors."""
    n = checks_x.shape[1]
    errors = np.array(list(itertools.product(range(4), repeat=n)))
    weight = np.prod(probabilities[np.arange(n), errors], axis=1)
    got = np.concatenate([HAS_Z[errors] @ checks_x.T, HAS_X[errors] @ checks_z.T], axis=1) % 2
    weight = weight * (got == syndrome).all(axis=1)
    with np.errstate(divide="ignore"):
        return tuple(
            np.log(weight @ (bits == 0)) - np.log(weight @ (bits == 1))
            for bits in (HAS_X[errors], HAS_Z[errors])
        )


def plain_bp4(checks_x, checks_z, probabilities, syndrome, num_iterations, scaling):
    """One shot, messages to checks as distributions over I, X, Z, Y, one edge at a time."""
    checks = [(row, HAS_Z) for row in checks_x] + [(row, HAS_X) for row in checks_z]
    edges = [(c, q) for c, (row, _) in enumerate(checks) for q in np.flatnonzero(row)]
    told = dict.fromkeys(edges, 0.0)  # log-odds that the check's bit of the qubit is 0

    def belief(q: int, without: int | None) -> np.ndarray:
        """Probabilities of the qubit's Paulis from the channel and all checks but one."""
        total = np.log(probabilities[q])
        for c, other in edges:
            if other == q and c != without:
                total = total - told[c, q] * checks[c][1]
        return np.exp(total - total.max())

    for _ in range(num_iterations):
        heard = {}
        for c, q in edges:
            vector, bit = belief(q, without=c), checks[c][1]
            heard[c, q] = np.log(vector[bit == 0].sum() / vector[bit == 1].sum())
        for c, q in edges:
            others = [heard[edge] for edge in edges if edge[0] == c and edge[1] != q]
            sign = (-1) ** (syndrome[c] + sum(message <= 0 for message in others))
            told[c, q] = scaling * sign * min(abs(message) for message in others)

    beliefs = np.array([belief(q, None) for q in range(checks_x.shape[1])])
    odds = [
        np.log(beliefs[:, bit == 0].sum(axis=1) / beliefs[:, bit == 1].sum(axis=1))
        for bit in (HAS_X, HAS_Z)
    ]
    return beliefs.argmax(axis=1), *odds


def unsettled(checks_x, checks_z, probabilities, syndrome, num_iterations, rule):
    """Odds after all iterations: one more qubit, with checks that contradict each other, keeps
    the shot from being frozen and tells the other qubits nothing."""
    (mx, n), mz = checks_x.shape, len(checks_z)
    wide_x = np.zeros((mx + 2, n + 1), np.uint8)
    wide_x[:mx, :n] = checks_x
    wide_x[mx:, n] = 1
    wide_z = np.concatenate([checks_z, np.zeros((mz, 1), np.uint8)], axis=1)
    channel = np.concatenate([probabilities, probabilities[:1]])
    padded = np.concatenate([syndrome[:mx], [0, 1], syndrome[mx:]])
    result = run(wide_x, wide_z, channel, padded[None], num_iterations, rule)
    assert not result.converged[0]
    return result.x_bits[0, :n], result.z_bits[0, :n], result.x_odds[0, :n], result.z_odds[0, :n]


@pytest.mark.parametrize("syndrome", list(itertools.product([0, 1], repeat=4)))
def test_with_the_exact_check_rule_a_tree_gives_exact_marginals(syndrome):
    probabilities = some_channel(5)
    exact = exact_odds(TREE_X, TREE_Z, probabilities, np.array(syndrome))
    got = unsettled(TREE_X, TREE_Z, probabilities, np.array(syndrome), 8, sum_product)[2:]
    # The check of degree 1 fixes one X bit: infinite odds, of which only the sign is tested.
    assert np.isinf(exact[0]).sum() == 1
    for odds, expected in zip(got, exact, strict=True):
        known = np.isfinite(expected)
        np.testing.assert_allclose(odds[known], expected[known], rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(np.sign(odds), np.sign(expected))


def test_min_sum_is_exact_on_a_tree_of_checks_of_degree_two():
    """Then a check only passes on what its other qubit says, and min-sum loses nothing."""
    chain_x = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], np.uint8)
    chain_z = np.array([[0, 1, 1, 0]], np.uint8)
    probabilities = some_channel(4)
    for syndrome in itertools.product([0, 1], repeat=3):
        exact = exact_odds(chain_x, chain_z, probabilities, np.array(syndrome))
        got = unsettled(chain_x, chain_z, probabilities, np.array(syndrome), 6, min_sum(1.0))[2:]
        np.testing.assert_allclose(got, exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("num_iterations", [1, 2, 7])
def test_it_equals_a_plain_version_with_distributions_as_messages(num_iterations):
    code = get_code("bb18")
    probabilities = some_channel(18, seed=1)
    generator = np.random.default_rng(2)
    for _ in range(3):
        syndrome = generator.integers(0, 2, 18)
        arguments = (code.checks_x, code.checks_z, probabilities, syndrome, num_iterations)
        choice, x_odds, z_odds = plain_bp4(*arguments, scaling=0.5)
        got = unsettled(*arguments, min_sum(0.5))
        np.testing.assert_allclose(got[2], x_odds, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(got[3], z_odds, rtol=1e-3, atol=1e-3)
        np.testing.assert_array_equal(got[0], HAS_X[choice])
        np.testing.assert_array_equal(got[1], HAS_Z[choice])


def noisy_syndromes(code, shots: int) -> np.ndarray:
    """X checks, then Z checks, of errors that hit each qubit with probability 0.1."""
    generator = np.random.default_rng(3)
    hit = generator.random((shots, code.n)) < 0.1
    errors = np.where(hit, generator.integers(1, 4, (shots, code.n)), 0)
    halves = HAS_Z[errors] @ code.checks_x.T, HAS_X[errors] @ code.checks_z.T
    return np.concatenate(halves, axis=1) % 2


def looks(code, syndromes, iterations=(1, 2, 7)):
    odds = jnp.full((18, 1), np.log(0.94 / 0.02), jnp.float32)
    graphs = neighbours_of(code.checks_x), neighbours_of(code.checks_z)
    return jax.jit(
        lambda *halves: bp4_on_the_way(
            graphs,
            QubitOdds(odds, odds, odds),
            halves,
            iterations=iterations,
            check_rule=min_sum(0.5),
        )
    )(jnp.asarray(syndromes[:, :9].T == 1), jnp.asarray(syndromes[:, 9:].T == 1))


def test_looks_on_the_way_are_whole_runs_of_so_many_iterations(way):
    code = get_code("bb18")
    probabilities = np.tile([0.94, 0.02, 0.02, 0.02], (18, 1))
    syndromes = noisy_syndromes(code, 64)
    found = looks(code, syndromes)
    for result, steps in zip(found, (1, 2, 7), strict=True):
        whole = run(code.checks_x, code.checks_z, probabilities, syndromes, steps, min_sum(0.5))
        for part, expected in zip(result, whole, strict=True):
            np.testing.assert_allclose(part.T, expected, rtol=1e-4, atol=1e-4)
    assert 0 < found[0].converged.sum() < found[-1].converged.sum() < 64


def test_both_ways_of_looking_decide_alike(request):
    code = get_code("bb18")
    syndromes = noisy_syndromes(code, 64)
    one_by_one = looks(code, syndromes)
    request.getfixturevalue("as_on_an_accelerator")
    for found, together in zip(one_by_one, looks(code, syndromes), strict=True):
        for name in ("x_bits", "z_bits", "converged"):
            np.testing.assert_array_equal(getattr(found, name), getattr(together, name))


def test_a_shot_is_frozen_when_its_decision_fits_and_not_before():
    code = get_code("bb18")
    probabilities = np.tile([0.94, 0.02, 0.02, 0.02], (18, 1))
    syndromes = noisy_syndromes(code, 64)
    runs = [
        run(code.checks_x, code.checks_z, probabilities, syndromes, steps, min_sum(0.5))
        for steps in (1, 2, 3, 40)
    ]
    last = runs[-1]
    assert 10 < runs[0].converged.sum() < last.converged.sum() < 64
    for result in runs:
        found = result.converged
        got_x = (result.z_bits @ code.checks_x.T.astype(int)) % 2
        got_z = (result.x_bits @ code.checks_z.T.astype(int)) % 2
        fits = (np.concatenate([got_x, got_z], axis=1) == syndromes).all(axis=1)
        np.testing.assert_array_equal(fits, found)
        # Whoever has converged stays as he is, however long the others take.
        for name in BpResult._fields:
            early, late = getattr(result, name), getattr(last, name)
            np.testing.assert_array_equal(early[found], late[found])


def test_messages_stay_finite_where_bp_diverges():
    code = get_code("bb18")
    probabilities = np.tile([0.97, 0.01, 0.01, 0.01], (18, 1))
    syndromes = np.random.default_rng(4).integers(0, 2, (20, 18))
    result = run(code.checks_x, code.checks_z, probabilities, syndromes, 300, min_sum(1.0))
    assert not result.converged.all()
    assert np.isfinite(result.x_odds).all()
