"""Training on experiments that end several times."""

import functools

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from tiny_runs import TINY
from unmasq.codes import get_code
from unmasq.models import build_network, for_rounds, geometry_for
from unmasq.models.views import Views
from unmasq.models.weights import named_arrays
from unmasq.problems.building import problem_from_code
from unmasq.problems.rounds import with_rounds
from unmasq.problems.translates import translates_of
from unmasq.shots.endings import EndedShots, EndingSampler
from unmasq.shots.sampling import Shots
from unmasq.training import override
from unmasq.training.curriculum import frame_ranges
from unmasq.training.loss_draws import draw
from unmasq.training.make_trainer import make_trainer

MESSAGES = override(
    TINY,
    [
        "network.mixing=messages",
        "network.message_width=4",
        "network.ties=tied",
        "network.encoder_layers=1",
        "network.closing_layers=1",
        "network.decoder=still",
        "masks_per_shot=2",
        "translate_masks=true",
        "noise.p=0.01",
    ],
)


@functools.cache
def problem():
    return problem_from_code(get_code("bb18"), "circuit", 0.01, 3)


def whole(shots, number, ending):
    """One of the endings, as shots of so many rounds."""
    frames = jnp.concatenate([shots.frames[:, :ending], shots.last[:, number, None]], axis=1)
    return Shots(frames.reshape(len(frames), -1), shots.logicals[:, number])


def test_an_ending_is_encoded_as_the_shorter_experiment():
    geometry = geometry_for(MESSAGES.network, problem())
    network = build_network(MESSAGES.network, geometry, key=jr.key(0))
    shots = EndingSampler(problem(), (1, 3))(jnp.full((5,), 0.02), key=jr.key(1))
    found = eqx.filter_jit(network.encoder.endings)(shots.frames, shots.last, (1, 3))
    for number, ending in enumerate((1, 3)):
        other = with_rounds(problem(), ending)
        shorter = for_rounds(network, geometry.on(other, other.layout))
        expected = eqx.filter_jit(shorter.encode)(whole(shots, number, ending).syndrome)
        np.testing.assert_allclose(found[:, 5 * number : 5 * (number + 1)], expected, atol=1e-5)


def loss(trainer, network, shots, views, key):
    frames = frame_ranges(trainer.config, 4)[0]

    @eqx.filter_jit
    def found(network, shots):
        draws = draw(trainer.config, trainer.num_steps, shots, frames, views, key=key)
        return trainer.loss(network, shots, draws, frames, views)

    return float(found(network, shots))


@pytest.mark.parametrize("translate", ["true", pytest.param("false", marks=pytest.mark.slow)])
def test_the_loss_is_the_mean_over_the_endings(translate):
    """Draws differ from shape to shape, so that networks which see no shown bit are compared."""
    config = override(MESSAGES, [f"translate_masks={translate}", "num_steps=1"])
    views = Views(translates_of(problem())) if translate == "true" else None
    network = make_trainer(config, problem()).network(
        make_trainer(config, problem()).start().weights
    )
    network = eqx.tree_at(  # of one value, so that every translate of a shot has the same loss
        lambda net: net.token_embedding, network, jnp.tile(network.token_embedding[2], (3, 1))
    )
    shots = EndingSampler(problem(), (1, 3))(jnp.full((64,), 0.01), key=jr.key(1))
    both = loss(
        make_trainer(override(config, ["endings=[1,3]"]), problem()),
        network,
        shots,
        views,
        jr.key(3),
    )
    parts = []
    for number, ending in enumerate((1, 3)):
        alone = EndedShots(
            shots.frames[:, :ending],
            *(each[:, number, None] for each in (shots.last, shots.logicals, shots.flips)),
        )
        trainer = make_trainer(override(config, [f"endings=[{ending}]"]), problem())
        parts.append(loss(trainer, network, alone, views, jr.key(3)))
    assert parts[0] != pytest.approx(parts[1], rel=1e-3)
    assert both == pytest.approx(np.mean(parts), rel=1e-5)
    plain = make_trainer(config, problem())
    assert parts[1] == pytest.approx(
        loss(plain, network, whole(shots, 1, 3), views, jr.key(3)), rel=1e-5
    )


def test_a_run_with_endings_moves_every_weight():
    trainer = make_trainer(override(MESSAGES, ["endings=[1,3]", "noise.spread=0.3"]), problem())
    start = named_arrays(trainer.start().weights)
    state, losses = trainer.advance(trainer.start(), frame_ranges(trainer.config, 4)[0], 2)
    assert np.isfinite(losses).all()
    assert [
        name for name, array in named_arrays(state.weights).items() if (array == start[name]).all()
    ] == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["endings=[0,2]"], r"endings must rise, from 1 on: got \(0, 2\)"),
        (["endings=[3,2]"], r"endings must rise, from 1 on: got \(3, 2\)"),
        (["endings=[2]", "rounds=[2]"], r"beside rounds: got \[2\]. Set endings=\[\] or rounds="),
        (["endings=[2]", "stages=[[0,-1,0.5]]"], "beside stages"),
        (["endings=[2]", "network.told_rates=true"], "beside rates that are told"),
        (["endings=[2]", "network.bp_iterations=3"], "beside what belief propagation says"),
        (
            ["endings=[2]", "network.bp_iterations=3", "network.bp_use=filter", "pool=2"],
            "beside a pool",
        ),
        (["endings=[2]", "network.mixing=attention", "network.closing_layers=0"], "attention"),
    ],
)
def test_endings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        override(MESSAGES, settings)
