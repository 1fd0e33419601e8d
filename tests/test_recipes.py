"""Recipes: the paper's six against its tables, and all of them against their networks."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.models import Geometry, build_network, geometry_for
from unmasq.models.catalogue_geometries import capacity_geometry, memory_geometry
from unmasq.problems.building import problem_from_code
from unmasq.recipes import RECIPES, get_recipe
from unmasq.training import from_json, to_json
from unmasq.training.curriculum import frame_ranges, learning_rate_factor
from unmasq.training.update import training_steps

PAPER = [name for name in RECIPES if name.startswith("paper-")]


def geometry_of(recipe):
    problem = recipe.problem
    if problem.code is None:  # any problem
        return memory_geometry("bb18", 2)
    if problem.noise == "code-capacity":
        return capacity_geometry(problem.code)
    rounds = problem.rounds or get_code(problem.code).distance
    if recipe.network.mixing == "messages":
        rounds = min(rounds, 2)  # such a network does not know them; a large problem takes seconds
    if recipe.network.bp_iterations:
        built = problem_from_code(get_code(problem.code), "circuit", 0.003, rounds, problem.basis)
        return geometry_for(recipe.network, built)
    return memory_geometry(problem.code, rounds, problem.basis)


def rate_at(recipe, step):
    """The learning rate of an update, as the training loop multiplies it together."""
    num_frames = geometry_of(recipe).layout.num_frames
    (frames,) = [r for r in frame_ranges(recipe, num_frames) if r.start <= step < r.stop]
    factor = learning_rate_factor(
        recipe.optimizer,
        jnp.int32(step),
        jnp.float32(recipe.num_updates),
        jnp.float32(frames.rate_start),
    )
    return recipe.optimizer.learning_rate * frames.rate * float(factor)


def test_geometries_are_those_of_the_problems():
    code = get_code("bb18")
    for here, problem in [
        (memory_geometry("bb18", 2), problem_from_code(code, "circuit", 0.01, 2)),
        (capacity_geometry("bb18"), problem_from_code(code, "code-capacity", 0.01)),
    ]:
        built = Geometry.of(problem)
        assert here.num_logicals == built.num_logicals
        for name in ("frame", "check", "check_type", "num_frames"):
            np.testing.assert_array_equal(getattr(here.layout, name), getattr(built.layout, name))
        for name in ("check_images", "token_images", "basis_tokens"):
            np.testing.assert_array_equal(
                getattr(here.symmetry, name), getattr(built.symmetry, name)
            )


# 'Hyperparameters for training' and the training p of the text.
@pytest.mark.parametrize(
    ("name", "batch", "updates", "p", "steps", "rates"),
    [
        ("paper-bb72-circuit", 250, 1_200_000, 0.006, 12, "warm"),
        ("paper-bb144-circuit", 125, 1_986_000, 0.006, 12, "warm twice"),
        ("paper-bb72-capacity", 250, 16_000_000, 0.12, 24, (1e-4, 1e-5)),
        ("paper-bb144-capacity", 250, 8_800_000, 0.06, 24, (1e-4, 1e-5)),
        ("paper-bb72-continuous", 250, 80_000_000, 0.12, 200, (1e-3, 1e-5)),
        ("paper-bb144-continuous", 250, 80_000_000, 0.06, 200, (1e-3, 1e-5)),
    ],
)
def test_training_is_the_papers(name, batch, updates, p, steps, rates):
    recipe = get_recipe(name)
    optimizer, noise = recipe.optimizer, recipe.noise
    assert (recipe.batch_size, recipe.num_updates) == (batch, updates)
    assert (noise.p, noise.low, noise.ramp) == (p, 1.0, 0.0)
    assert training_steps(recipe, geometry_of(recipe).num_logicals) == steps
    assert (optimizer.kind, optimizer.b1, optimizer.b2) == ("adamw", 0.9, 0.999)
    assert (optimizer.weight_decay, optimizer.clip, recipe.ema) == (1e-4, None, 0.0)
    if isinstance(rates, tuple):
        high, low = rates
        expected = {0: high, 1000: (high + low) / 2, 2000: low, 10**6: low, updates - 1: low}
    else:
        expected = {0: 1e-6, 1000: 5.05e-5, 2000: 1e-4, 10**6: 1e-4}
        if rates == "warm twice":
            first = 7 * 160_000  # updates before 'Change learning rate'
            expected |= {first - 1: 1e-4, first: 1e-7, first + 1000: 5.05e-6, first + 2000: 1e-5}
            expected[updates - 1] = 1e-5
    found = {step: rate_at(recipe, step) for step in expected}
    assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("paper-bb72-circuit", [*[(r, 6, 80_000) for r in range(6)], (6, 6, 720_000)]),
        (
            "paper-bb144-circuit",
            [
                *[(r, 6, 160_000) for r in range(7)],
                *[(r, 12, 96_000) for r in range(6, 12)],
                (12, 12, 290_000),
            ],
        ),
    ],
)
def test_stages_are_the_papers(name, expected):
    recipe = get_recipe(name)
    ranges = frame_ranges(recipe, geometry_of(recipe).layout.num_frames)
    assert [(r.first, r.last, r.stop - r.start) for r in ranges] == expected
    assert recipe.frames == "sum"
    assert ranges[0].start == 0
    assert all(one.stop == after.start for one, after in zip(ranges, ranges[1:], strict=False))
    assert ranges[-1].stop == recipe.num_updates


def test_circuit_level_samples_are_those_of_the_text():
    samples = {name: RECIPES[name].num_updates * RECIPES[name].batch_size for name in PAPER}
    assert samples["paper-bb72-circuit"] == 300_000_000
    assert samples["paper-bb144-circuit"] == 248_250_000


# 'Hyperparameters for neural networks', and the tied ones of our own recipes.
PARAMETERS = {
    "paper-bb72-circuit": 2_705_217,
    "paper-bb144-circuit": 10_820_225,
    "paper-bb72-capacity": 956_929,
    "paper-bb144-capacity": 11_112_193,
    "paper-bb72-continuous": 13_557_784,
    "paper-bb144-continuous": 13_852_696,
}


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_builds_its_network(name):
    recipe = get_recipe(name)
    geometry = geometry_of(recipe)
    training_steps(recipe, geometry.num_logicals)
    frame_ranges(recipe, geometry.layout.num_frames)
    shapes = eqx.filter_eval_shape(
        lambda: build_network(recipe.network, geometry, key=jr.key(recipe.seed))
    )
    floats = [
        leaf
        for leaf in jax.tree.leaves(shapes)
        if jnp.issubdtype(getattr(leaf, "dtype", np.int32), jnp.floating)
    ]
    count = sum(leaf.size for leaf in floats)
    assert count == PARAMETERS.get(name, count)
    assert count > 1000


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_have_their_names_and_survive_json(name):
    assert RECIPES[name].name == name
    assert from_json(to_json(RECIPES[name])) == RECIPES[name]


def test_an_unknown_recipe_suggests_the_nearest():
    with pytest.raises(ValueError, match="recipe must be one of .* Did you mean bb18-circuit"):
        get_recipe("bb18-circiut")
