"""Belief propagation by kernels beside `memory_bp`, interpreted on a CPU.

With a memory of 0 or 1/2 no product is rounded, fused or not: both then agree bit for bit.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("jax.experimental.pallas.triton", exc_type=ImportError)

from unmasq.codes import get_code
from unmasq.models import kernels, memory_bp
from unmasq.models.kernels import min_sum, products
from unmasq.models.memory_bp import Neighbours, believe, neighbours_of
from unmasq.problems.building import problem_from_code
from unmasq.problems.fault_graph import fault_graph
from unmasq.shots.sampling import EvaluationShots

SHOTS, TILE = 64, 32
SMALL = {"detectors": products.Tiling(TILE, 4, 4, 1), "faults": products.Tiling(TILE, 8, 4, 1)}


def interpret(patch):
    patch.setattr(products, "INTERPRETED", True)
    patch.setattr(min_sum, "TILINGS", SMALL)


def on_a_gpu(patch):
    patch.setattr(kernels, "on_such_a_gpu", lambda: True)
    patch.setattr(jax, "device_count", lambda: 1)
    patch.setenv("UNMASQ_KERNELS", "trial")


@pytest.fixture
def interpreted(monkeypatch):
    interpret(monkeypatch)


def both_ways(of):
    """Found by XLA and by kernels, on an accelerator: compiled here, while the patches hold."""

    def compiled():
        return jax.jit(lambda prior, seen, told: memory_bp._believe(of, prior, seen, **told))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax.lax, "platform_dependent", lambda *a, cpu, default: default(*a))
        plain = compiled()
        plain(*blank(of))
        interpret(patch)
        patch.setattr(memory_bp, "serve_beliefs", lambda *_: True)
        ours = compiled()
        ours(*blank(of))
    return plain, ours


def blank(of):
    prior = jnp.ones(of.messages.shape[1])
    return prior, jnp.zeros((of.faults.shape[1], SHOTS), bool), settings(1)


def settings(iterations, scaling=1.0, memory=0.5):
    """Arrays, so that little is compiled."""
    return {
        "iterations": jnp.int32(iterations),
        "scaling": jnp.float32(scaling),
        "memory": jnp.float32(memory),
    }


@pytest.fixture(scope="module")
def circuit():
    """bb18 with circuit noise: 36 detectors with 33 slots, a fifth of them empty."""
    problem = problem_from_code(get_code("bb18"), "circuit", 0.006, 3)
    faults = fault_graph(problem, problem.symmetry)
    frames, sites, slots = faults.around.shape
    bits = np.asarray(EvaluationShots(problem).chunk(0).syndrome)[:SHOTS]
    seen = bits.T[problem.layout.grid()][:, faults.sites].reshape(frames * sites, SHOTS)
    graph = neighbours_of(faults.around.reshape(frames * sites, slots), len(faults.odds))
    return graph, jnp.asarray(faults.odds), jnp.asarray(seen == 1)


@pytest.fixture(scope="module")
def ways(circuit):
    return both_ways(circuit[0])


def assert_same(found, expected):
    """But for the mean, whose products are rounded once or twice."""
    for name in ("errors", "odds", "solved"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("memory", [0.0, 0.5])
def test_kernels_say_bit_for_bit_what_xla_says(ways, circuit, memory):
    _, prior, syndrome = circuit
    for iterations in (0, 1, 2, 5, 24):
        told = settings(iterations, 0.75, memory)
        expected, found = (way(prior, syndrome, told) for way in ways)
        assert_same(found, expected)
    assert 0.3 < found.solved.mean() < 1
    assert (found.odds < 0).any()


@pytest.mark.parametrize("memory", [0.15, -0.2])
def test_other_memories_agree_to_rounding(ways, circuit, memory):
    _, prior, syndrome = circuit
    expected, found = (way(prior, syndrome, settings(4, 1.0, memory)) for way in ways)
    for name in ("odds", "mean"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-4)
    expected, found = (way(prior, syndrome, settings(24, 1.0, memory)) for way in ways)
    np.testing.assert_array_equal(found.solved, expected.solved)
    np.testing.assert_array_equal(*(each.errors[:, found.solved] for each in (found, expected)))


def test_a_solved_shot_stays_as_it_is(ways, circuit):
    _, prior, syndrome = circuit
    before, after = (ways[1](prior, syndrome, settings(n)) for n in (3, 24))
    solved = np.asarray(before.solved)
    assert 0 < solved.sum() < after.solved.sum()
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(other[..., solved], one[..., solved])


def test_a_tile_of_solved_shots_stays_while_another_goes_on(ways, circuit):
    _, prior, syndrome = circuit
    expected, _ = (way(prior, syndrome, settings(24)) for way in ways)
    quiet = jnp.arange(SHOTS) < TILE
    found = ways[1](prior, syndrome & ~quiet[None], settings(24))
    once = ways[1](prior, jnp.zeros_like(syndrome), settings(1))
    np.testing.assert_array_equal(found.odds[:, quiet], once.odds[:, quiet])
    np.testing.assert_array_equal(found.odds[:, ~quiet], expected.odds[:, ~quiet])
    assert found.solved[quiet].all()


def test_any_slots_may_be_empty():
    """Detectors of one fault up to 19, in any slots: two words of marks, no whole chunks."""
    generator = np.random.default_rng(5)
    faults, slots = 30, 19
    around = np.full((7, slots), -1, np.int32)
    for row, own in zip(around, (1, 2, 3, 8, 16, 18, 19), strict=True):
        row[generator.permutation(slots)[:own]] = generator.choice(faults, own, replace=False)
    graph = neighbours_of(around, faults)
    prior = jnp.asarray(generator.uniform(0.5, 6, faults), jnp.float32).at[:2].set(2.0)
    syndrome = jnp.asarray(generator.random((len(around), SHOTS)) < 0.3)
    ways = both_ways(graph)
    for iterations in (1, 6):
        expected, found = (way(prior, syndrome, settings(iterations)) for way in ways)
        assert_same(found, expected)
    assert 0 < found.solved.sum() < SHOTS


def test_two_equally_sure_faults_hear_the_same(interpreted):
    graph = neighbours_of(np.array([[0, 1, 2]], np.int32), 3)
    odds, _ = min_sum.odds_and_mean(
        graph, jnp.array([2.0, 2.0, 5.0]), jnp.ones((1, TILE), bool),
        iterations=1, scaling=1.0, memory=0.0,
    )  # fmt: skip
    np.testing.assert_array_equal(odds, np.repeat([[0.0], [0.0], [3.0]], TILE, axis=1))


def test_unsolved_shots_are_brought_together_with_all_that_is_theirs(circuit):
    graph, prior, syndrome = circuit
    shots = min_sum._first(min_sum.Tables.of(graph), prior, syndrome)
    solved = shots.number % 3 > 0
    found = min_sum._unsolved_first(shots._replace(solved=solved))
    assert not found.solved[: SHOTS // 3].any()
    assert found.solved[SHOTS // 3 + 1 :].all()
    np.testing.assert_array_equal(found.syndrome, syndrome[:, found.number])


def test_nobody_computes_a_mean_that_nobody_asks_for(interpreted, circuit):
    """It would be a third of what an iteration reads and writes."""
    graph, prior, syndrome = circuit

    def loops(asked):
        def run(syndrome):
            return min_sum.odds_and_mean(graph, prior, syndrome, **settings(3))[:asked]

        text = jax.jit(run).lower(syndrome).compile().as_text()
        state = re.findall(r" = (\(.*?\)) while\(", text)
        of_odds, of_unmet = f"f32[{len(prior)},{SHOTS}]", f"s8[{len(syndrome)},{SHOTS}]"
        return [each.count(of_odds) for each in state if of_unmet in each and "pred[" in each]

    assert max(loops(2)) == 2
    assert max(loops(1)) == 1


def test_kernels_serve_only_what_they_were_made_for(monkeypatch):
    prior = jnp.zeros(3)
    assert not kernels.serve_beliefs(256, prior)  # no such GPU here
    on_a_gpu(monkeypatch)
    assert kernels.serve_beliefs(256, prior)
    assert not kernels.serve_beliefs(192, prior)
    assert not kernels.serve_beliefs(0, prior)
    assert not kernels.serve_beliefs(256, prior.astype(jnp.bfloat16))
    monkeypatch.setattr(jax, "device_count", lambda: 2)
    assert not kernels.serve_beliefs(256, prior)
    monkeypatch.setattr(jax, "device_count", lambda: 1)
    monkeypatch.delenv("UNMASQ_KERNELS")
    assert not kernels.serve_beliefs(256, prior)


def test_batches_fit_every_tile():
    for tiling in min_sum.TILINGS.values():
        rows = [min_sum._rows(tiling, kernels.ALIGNED * n) for n in (1, 3, 8, 24)]
        assert rows == [128, 128, min(1024, tiling.rows), min(1024, tiling.rows)]
    assert min_sum.MARKED % min_sum.TILINGS["detectors"].chunk == 0


def test_believe_asks_kernels_where_they_serve(interpreted, monkeypatch, as_on_an_accelerator):
    graph = neighbours_of(np.array([[0, 1, 2]], np.int32), 3)
    on_a_gpu(monkeypatch)

    def traced(shots):
        told = settings(3)
        syndrome = jnp.zeros((1, shots), bool)
        return str(jax.make_jaxpr(lambda s: believe(graph, jnp.ones(3), s, **told))(syndrome))

    assert "pallas_call" in traced(128)
    assert "pallas_call" not in traced(96)
    monkeypatch.delenv("UNMASQ_KERNELS")
    assert "pallas_call" not in traced(128)


def test_kernels_lower_to_triton_at_full_size():
    """Shapes and types only; that the compiler takes them is seen on a GPU."""
    slots, detectors, faults, batch = 35, 936, 8784, 3072
    graph = Neighbours(np.zeros((slots, detectors), np.int32), np.zeros((6, faults), np.int32))
    run = jax.jit(lambda *a: min_sum.odds_and_mean(graph, *a, **settings(40, 1.0, 0.15)))
    inputs = jnp.zeros(faults), jnp.zeros((detectors, batch), bool)
    try:
        lowered = run.trace(*inputs).lower(lowering_platforms=("cuda",))
    except RuntimeError as error:  # of jax 0.11 on: it asks the device for its capability
        pytest.skip(str(error))
    assert "triton" in lowered.as_text()
