"""One update: the loss of a stage, the optimizers, the average, the compute dtype."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

from tiny_runs import TINY, framed_problem, repetition_problem
from unmasq.codes import get_code
from unmasq.diffusion.loss import cross_entropy
from unmasq.diffusion.masking import MASK, draw_times
from unmasq.models import Geometry, build_network, geometry_for
from unmasq.models.beliefs import Attempt
from unmasq.models.views import repeated
from unmasq.problems.building import problem_from_code
from unmasq.shots.sampling import Shots, ShotSampler
from unmasq.training import OptimizerConfig, override
from unmasq.training import update as update_module
from unmasq.training.curriculum import FrameRange, frame_ranges
from unmasq.training.loss_draws import Draws, draw
from unmasq.training.make_trainer import make_trainer
from unmasq.training.objectives import autoregressive_objective, masked_objective
from unmasq.training.optimizer import learning_rates, make_optimizer
from unmasq.training.pool import unsolved_first

# The loss of a stage, on a network small enough to write the sum out


@pytest.fixture(scope="module")
def stage():
    """Random weights, shots with all intermediate logicals, and each shot's loss at each frame."""
    problem = framed_problem()
    sampler = ShotSampler(problem, intermediate=True)
    shots = jax.jit(lambda key: sampler(jnp.full((512,), problem.p), key=key))(jr.key(1))
    config = override(TINY, ["network.encoder_layers=1"])
    network = build_network(config.network, Geometry.of(problem), key=jr.key(2))
    return problem, network, shots, losses_by_frame(network, shots)


@eqx.filter_jit
def losses_by_frame(network, shots):
    """-log q of all logicals l[r] given nothing but the frames up to r, (R+1, shots): T = 1."""
    hidden = jnp.full(shots.logicals[:, 0].shape, MASK, jnp.int32)
    return jnp.stack(
        [
            cross_entropy(network.denoise(memory, hidden), shots.logicals[:, r]).sum(axis=1)
            for r, memory in enumerate(network.encoder.all_frames(shots.syndrome))
        ]
    )


def stage_loss(problem, network, shots, frames, *settings):
    settings = ["network.encoder_layers=1", "num_steps=1", *settings]
    trainer = make_trainer(override(TINY, settings), problem)
    return float(drawn_loss(trainer, frames)(network, shots))


def drawn_loss(trainer, frames, views=None):
    """The loss under draws with key 0."""

    @eqx.filter_jit
    def loss(network, shots):
        draws = draw(trainer.config, trainer.num_steps, shots, frames, views, key=jr.key(0))
        return trainer.loss(network, shots, draws, frames, views)

    return loss


@pytest.mark.parametrize(("first", "last"), [(0, 2), (1, 1)])
def test_the_loss_of_a_stage_is_the_sum_over_its_frames(stage, first, last):
    problem, network, shots, losses = stage
    literal = sum(float(losses[r].mean()) for r in range(first, last + 1))
    found = stage_loss(problem, network, shots, FrameRange(first, last, 0, 1))
    assert found == pytest.approx(literal, rel=1e-5)


def test_masks_of_one_shot_share_its_hidden_state_and_its_logicals(stage):
    """Seeing no shown bit, a network has one loss: with T = 1, and with every prefix in turn."""
    _, network, shots, losses = stage
    logicals = shots.logicals[:, -1]
    embedding = jnp.tile(network.token_embedding[MASK], (3, 1))
    blind = eqx.tree_at(lambda net: net.token_embedding, network, embedding)
    size = logicals.shape[1]
    assert size > 1

    @eqx.filter_jit
    def found(blind):
        memory = blind.encode(shots.syndrome)
        three, every = (
            Draws(
                None,
                None,
                draw_times(len(logicals), T, E, key=jr.key(3)).reshape(1, -1, E),
                jr.uniform(jr.key(4), (1, len(logicals), E, size)),
            )
            for T, E in ((1, 3), (size, size))
        )
        masked = masked_objective(blind, *repeated(memory, logicals, 3), three, 1)
        return masked, autoregressive_objective(blind, *repeated(memory, logicals, size), every)

    expected = float(losses[-1].mean())
    np.testing.assert_allclose(found(blind), [expected, expected], rtol=1e-5)


def test_masks_look_at_translates_in_the_last_stage_alone(monkeypatch):
    """Element 0 moves nothing: its views are the shot itself, repeated."""
    problem = problem_from_code(get_code("bb18"), "circuit", 0.006, 2)
    settings = ["network.encoder_layers=1", "network.ties=tied", "masks_per_shot=2"]
    last, every = FrameRange(2, 2, 0, 1), FrameRange(0, 2, 0, 1)

    def losses(translate):
        config = override(TINY, [*settings, f"translate_masks={translate}"])
        trainer = make_trainer(config, problem)
        network = trainer.network(trainer.start().weights)
        found = []
        for frames in (last, every):
            experiment = trainer.experiments(2, frames is every)
            shots = experiment.sampler(jnp.full((64,), problem.p), key=jr.key(1))
            loss = drawn_loss(trainer, frames, experiment.views)
            found.append(float(loss(network, shots)))
        return found

    plain, moved = losses("false"), losses("true")
    assert moved[0] != pytest.approx(plain[0], rel=1e-4)
    assert moved[1] == pytest.approx(plain[1], rel=1e-5)
    monkeypatch.setattr(
        update_module.jr, "randint", lambda key, shape, low, high: jnp.zeros(shape, jnp.int32)
    )
    assert losses("true")[0] == pytest.approx(plain[0], rel=1e-5)


def test_a_random_frame_of_each_shot_stands_for_all(stage, monkeypatch):
    """With frames r_b the estimate is exactly (R2 - R1 + 1) * the mean of L[r_b]."""
    problem, network, shots, losses = stage
    chosen = np.random.default_rng(0).integers(0, 3, losses.shape[1])
    drawn = update_module.jr.randint
    monkeypatch.setattr(
        update_module.jr,
        "randint",
        lambda key, shape, low, high: (
            jnp.asarray(chosen, jnp.int32) if high == 3 else drawn(key, shape, low, high)
        ),
    )
    found = stage_loss(problem, network, shots, FrameRange(0, 2, 0, 1), "frames=random")
    expected = 3 * np.mean(np.asarray(losses)[chosen, np.arange(len(chosen))])
    assert found == pytest.approx(expected, rel=1e-5)


def test_random_frames_are_an_unbiased_estimate(stage):
    """r uniform over the stage: within five standard errors of the sum, on the same shots."""
    problem, network, shots, losses = stage
    repeated = Shots(*(jnp.tile(bits, (8,) + (1,) * (bits.ndim - 1)) for bits in shots))
    found = stage_loss(problem, network, repeated, FrameRange(1, 2, 0, 1), "frames=random")
    used = np.asarray(losses)[1:]
    error = 2 * np.sqrt(used.var(axis=0).mean() / len(repeated.syndrome))
    assert abs(found - used.mean(axis=1).sum()) < 5 * error
    assert error < 0.02 * found


# Optimizers


@pytest.fixture(scope="module")
def weights():
    problem = framed_problem()
    config = override(TINY, ["network.encoder_layers=1"])
    network = build_network(config.network, Geometry.of(problem), key=jr.key(2))
    return eqx.filter(network, eqx.is_inexact_array)


def gradients_like(tree, seed, scale=1.0):
    generator = np.random.default_rng(seed)
    return jax.tree.map(
        lambda leaf: jnp.asarray(scale * generator.normal(size=leaf.shape), jnp.float32), tree
    )


@pytest.fixture
def standard_promotion():
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.mark.usefixtures("standard_promotion")
def test_adamw_is_optax_adamw_with_the_papers_settings():
    weights = {"matrix": jr.normal(jr.key(0), (3, 4)), "bias": jr.normal(jr.key(1), (4,))}
    config = OptimizerConfig("adamw", 1e-4)
    ours, theirs = make_optimizer(config), optax.adamw(1e-4, 0.9, 0.999, weight_decay=1e-4)
    states = [ours.init(weights), theirs.init(weights)]
    for seed in range(3):
        gradients = gradients_like(weights, seed)
        directions, states[0] = ours.update(gradients, states[0], weights)
        updates, states[1] = theirs.update(gradients, states[1], weights)
        rates = learning_rates(config, weights)
        scaled = jax.tree.map(lambda rate, direction: -rate * direction, rates, directions)
        assert set(jax.tree.leaves(rates)) == {1e-4}
        for found, expected in zip(jax.tree.leaves(scaled), jax.tree.leaves(updates), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-12)


def named(tree):
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {jax.tree_util.keystr(path): leaf for path, leaf in leaves}


@pytest.mark.usefixtures("standard_promotion")
def test_muon_takes_the_four_matrices_of_every_block(weights):
    config = OptimizerConfig("muon", 1e-3, 1e-2, weight_decay=0.0)
    adamw = dataclasses.replace(config, kind="adamw")
    gradients = gradients_like(weights, 0)
    results = {}
    for rule in (config, adamw):
        optimizer = make_optimizer(rule)
        update = jax.jit(lambda g, w, o=optimizer: o.update(g, o.init(w), w)[0])
        results[rule.kind] = update(gradients, weights)
    found, plain = named(results["muon"]), named(results["adamw"])
    rates = named(learning_rates(config, weights))
    by_muon = {name for name, rate in rates.items() if rate >= 1e-2}
    assert by_muon == {
        f"{blocks}[0].{part}.weight"
        for blocks in (".blocks", ".encoder.blocks")
        for part in ("mixing.value", "mixing.out", "feedforward.up", "feedforward.down")
    }
    for name in found:
        if name in by_muon:
            values = np.linalg.svd(found[name], compute_uv=False)
            assert ((values > 0.5) & (values < 1.5)).all(), name  # nearly orthogonal
        else:
            np.testing.assert_array_equal(found[name], plain[name])


def test_muon_rates_grow_where_a_matrix_widens():
    matrices = {"blocks": {"weight": jnp.zeros((4, 16))}, "other": jnp.zeros((4, 16))}

    class Named(eqx.Module):
        blocks: list

    class Matrix(eqx.Module):
        weight: jax.Array

    tree = Named([Matrix(jnp.zeros((4, 16))), Matrix(jnp.zeros((16, 4))), Matrix(jnp.zeros(4))])
    rates = learning_rates(OptimizerConfig("muon", 1e-3, 1e-2), tree)
    assert jax.tree.leaves(rates) == pytest.approx([2e-2, 1e-2, 1e-3])
    assert jax.tree.leaves(learning_rates(OptimizerConfig("muon", 1e-3), matrices)) == [1e-3] * 2


@pytest.mark.usefixtures("standard_promotion")
def test_clipping_makes_large_gradients_alike():
    weights = {"matrix": jnp.ones((3, 4)), "bias": jnp.ones(4)}
    optimizer = make_optimizer(OptimizerConfig("adamw", clip=1.0, weight_decay=0.0))
    small = gradients_like(weights, 0, scale=1e-2)
    norm = float(optax.tree.norm(small))
    state = optimizer.init(weights)
    for factor in (2 / norm, 1000 / norm):  # both above the limit: the same direction
        scaled = jax.tree.map(lambda leaf, factor=factor: factor * leaf, small)
        _, new = optimizer.update(scaled, state, weights)
        moment = optax.tree.get(new, "mu")
        assert float(optax.tree.norm(moment)) == pytest.approx(0.1, rel=1e-4)  # (1 - b1) * 1


# The whole update


def test_the_average_follows_the_weights():
    trainer = make_trainer(TINY, repetition_problem())
    (frames,) = frame_ranges(TINY, 1)
    start = jax.tree.map(np.asarray, trainer.start())
    one, _ = trainer.advance(trainer.start(), frames, 1)
    one = jax.tree.map(np.asarray, one)
    assert int(one.step) == 1
    later = one._replace(step=np.int32(10**6))  # by now the decay is `ema`
    two, _ = trainer.advance(trainer.place(later), frames, 1)
    for before, now, average in zip(
        *(jax.tree.leaves(t) for t in (start.weights, one.weights, one.average)), strict=True
    ):
        assert not np.array_equal(before, now)
        np.testing.assert_allclose(average, 0.1 * before + 0.9 * now, rtol=1e-5, atol=1e-7)
    for before, now, average in zip(
        *(jax.tree.leaves(t) for t in (one.average, two.weights, two.average)), strict=True
    ):
        np.testing.assert_allclose(average, 0.999 * before + 0.001 * now, rtol=1e-5, atol=1e-7)


def test_a_call_may_be_cut_anywhere():
    """Updates know their number, not their call: 3 + 1 updates are 4, bit for bit."""
    (frames,) = frame_ranges(TINY, 1)
    trainer = make_trainer(TINY, repetition_problem())
    whole, losses = trainer.advance(trainer.start(), frames, 4)
    part, first = trainer.advance(trainer.start(), frames, 3)
    part, last = trainer.advance(part, frames, 1)
    assert np.concatenate([first, last]).tolist() == np.asarray(losses).tolist()
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(part), strict=True):
        np.testing.assert_array_equal(one, other)


def test_bfloat16_computes_in_16_bit_and_keeps_float32_masters():
    (frames,) = frame_ranges(TINY, 1)
    losses = {}
    for dtype in ("float32", "bfloat16"):
        trainer = make_trainer(override(TINY, [f"compute_dtype={dtype}"]), repetition_problem())
        state, found = trainer.advance(trainer.start(), frames, 4)
        assert {leaf.dtype for leaf in jax.tree.leaves(state)} == {np.dtype("f4"), np.dtype("i4")}
        assert found.dtype == np.float32
        losses[dtype] = np.asarray(found)
    np.testing.assert_allclose(losses["bfloat16"], losses["float32"], rtol=0.05)
    assert not np.array_equal(losses["bfloat16"], losses["float32"])


# A pool of shots


def test_of_a_pool_the_unsolved_shots_are_taken_and_stay_whole():
    problem = problem_from_code(get_code("bb18"), "code-capacity", 0.08)
    config = dataclasses.replace(TINY.network, bp_iterations=9)
    network = build_network(config, geometry_for(config, problem), key=jr.key(0))
    shots = eqx.filter_jit(ShotSampler(problem))(jnp.full((256,), 0.08), key=jr.key(1))
    unsolved = ~np.asarray(eqx.filter_jit(network.guess)(shots.syndrome).solved)
    assert 0 < unsolved.sum() < 200
    left = np.asarray(eqx.filter_jit(network.begin)(shots.syndrome).syndrome)
    np.testing.assert_array_equal(unsolved, left.any(axis=1))
    pairs = np.concatenate([np.asarray(part) for part in shots], axis=1)
    wanted = np.concatenate([pairs[unsolved], pairs[~unsolved]])
    for count in (int(unsolved.sum()) // 2, 200):
        taken, outcome = eqx.filter_jit(unsolved_first)(network, shots, count)
        np.testing.assert_array_equal(np.concatenate(taken, axis=1), wanted[:count])
        again = eqx.filter_jit(network.encoder.run_bp)(taken.syndrome)
        for known, found in zip(outcome, again, strict=True):
            np.testing.assert_allclose(known, found, atol=1e-5)


def test_a_pool_may_be_chosen_by_fewer_iterations_than_the_network_begins_with():
    problem = problem_from_code(get_code("bb18"), "circuit", 0.006, 2)
    settings = ["network.bp_iterations=30", "network.bp_use=filter", "network.bp_memory=0.15"]
    settings += ["network.encoder_layers=1", "pool=2", "pool_iterations=2"]
    config = override(TINY, settings)
    network = build_network(config.network, geometry_for(config.network, problem), key=jr.key(0))
    shots = eqx.filter_jit(ShotSampler(problem))(jnp.full((128,), 0.006), key=jr.key(1))
    few, all_of_them = (
        np.asarray(eqx.filter_jit(network.guess)(shots.syndrome, attempt).solved)
        for attempt in (Attempt(2, 0.5, 0.15), None)
    )
    assert few.sum() < all_of_them.sum()
    assert not (few & ~all_of_them).any()
    outcome = eqx.filter_jit(unsolved_first)(network, shots, 64, 0, config.pool_iterations)[1]
    assert (~np.asarray(outcome.solved)).sum() == min(64, (~few).sum())


def test_of_a_pool_the_solved_shots_with_the_heaviest_guesses_may_come_first():
    problem = problem_from_code(get_code("bb18"), "code-capacity", 0.08)
    config = dataclasses.replace(TINY.network, bp_iterations=9)
    network = build_network(config, geometry_for(config, problem), key=jr.key(0))
    shots = eqx.filter_jit(ShotSampler(problem))(jnp.full((256,), 0.08), key=jr.key(1))
    outcome = eqx.filter_jit(network.encoder.run_bp)(shots.syndrome)
    solved, weight = np.asarray(outcome.solved), np.asarray(outcome.weight)
    pairs = np.concatenate([np.asarray(part) for part in shots], axis=1)
    count = 10 + int((~solved).sum())
    taken = eqx.filter_jit(unsolved_first)(network, shots, count, 10)[0]
    places = {tuple(pair): i for i, pair in enumerate(pairs)}
    found = np.array([places[tuple(pair)] for pair in np.concatenate(taken, axis=1)])
    first, rest = found[:10], found[10:]
    assert solved[first].all()
    assert sorted(weight[first]) == sorted(weight[solved])[-10:]
    assert not solved[rest].any()
    # All of them, where there are fewer.
    all_taken = eqx.filter_jit(unsolved_first)(network, shots, 256, 256)[0]
    assert sorted(map(tuple, np.concatenate(all_taken, axis=1))) == sorted(map(tuple, pairs))


def test_the_weight_of_a_guess_is_that_of_the_error_it_names():
    problem = problem_from_code(get_code("bb18"), "code-capacity", 0.08)
    config = dataclasses.replace(TINY.network, bp_iterations=9)
    network = build_network(config, geometry_for(config, problem), key=jr.key(0))
    singles = problem.check_matrix.toarray().T.astype(np.uint8)  # one faulty qubit each
    outcome = eqx.filter_jit(network.encoder.run_bp)(np.concatenate([0 * singles[:1], singles]))
    assert not outcome.residual.any()
    np.testing.assert_array_equal(outcome.weight, [0, *np.ones(len(singles))])


# What is compiled


def lowered(*settings):
    """The program of an update, as text."""
    trainer = make_trainer(override(TINY, list(settings)), repetition_problem())
    frames = frame_ranges(trainer.config, 1)[0]
    state = trainer.start()
    experiment, function = trainer._compile(frames, 0)
    return function.lower(state, experiment, trainer._schedule(frames), jnp.int32(1)).as_text()


def test_runs_that_differ_by_the_numbers_of_their_schedules_share_what_is_compiled():
    settings = ["noise.p=0.1", "noise.low=0.5", "noise.ramp=0.3", "optimizer.learning_rate=1e-4"]
    settings += ["optimizer.warm_up=0.2", "optimizer.last=0.1", "num_updates=80", "seed=3"]
    assert lowered(*settings) == lowered()
    assert lowered("optimizer.b2=0.9") != lowered()
