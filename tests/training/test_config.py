"""Recipes as data: JSON there and back, overrides, and every kind of wrong value."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmasq.training import Stage, TrainConfig, from_json, override, to_json

BASE = TrainConfig("base", 100, 8, stages=(Stage(0, -1, 0.25),))

fractions = st.floats(0, 1)
positive = st.floats(1e-9, 1e3)
rates = st.floats(1e-6, 0.5)
# Trees as JSON holds them: hypothesis must not see the type checks, which draw random numbers.
trees = st.fixed_dictionaries(
    {
        "name": st.from_regex(r"[a-z][a-z0-9-]{0,9}", fullmatch=True),
        "num_updates": st.integers(1, 10**9 - 1),
        "batch_size": st.integers(1, 10**6),
    },
    optional={
        "problem": st.fixed_dictionaries({"rounds": st.none() | st.integers(1, 20)}),
        "network": st.fixed_dictionaries(
            {"width": st.sampled_from([8, 64]), "heads": st.sampled_from([1, 8])},
            optional={"biases": st.booleans(), "norm": st.sampled_from(["post", "pre"])},
        ),
        "optimizer": st.fixed_dictionaries(
            {},
            optional={
                "kind": st.sampled_from(["adamw", "muon"]),
                "learning_rate": positive,
                "b2": st.floats(0, 1, exclude_max=True),
                "clip": st.none() | positive,
                "warm_up": fractions,
                "flat_until": fractions,
            },
        ),
        "noise": st.fixed_dictionaries({"p": rates}, optional={"ramp": fractions}),
        "objective": st.sampled_from(["masked", "autoregressive"]),
        "num_steps": st.none() | st.integers(1, 24),
        "stages": st.lists(
            st.fixed_dictionaries(
                {
                    "first": st.integers(-9, 9),
                    "last": st.integers(-9, 9),
                    "fraction": st.floats(1e-6, 0.2),
                },
                optional={"rate": positive},
            ),
            max_size=4,
        ),
        "evaluate_p": st.lists(rates, max_size=3),
        "evaluate_every": st.none() | st.integers(1, 100),
    },
)


@given(trees)
def test_json_gives_the_same_config_back(tree):
    config = from_json(json.dumps(tree))
    assert from_json(to_json(config)) == config
    found = dict(leaves(json.loads(to_json(config))))
    assert all(found[key] == value for key, value in leaves(tree) if key != "stages")
    for stage, given_stage in zip(config.stages, tree.get("stages", []), strict=True):
        assert dataclasses.asdict(stage) == {"rate": 1.0, **given_stage}


def leaves(tree, prefix=""):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


@given(trees)
def test_setting_every_key_gives_that_config(tree):
    config = from_json(json.dumps(tree))
    assignments = [
        f"{key}={json.dumps(value)}" for key, value in leaves(dataclasses.asdict(config))
    ]
    assert override(BASE, assignments) == config


def test_overrides_change_only_what_they_name():
    changed = override(BASE, ["network.width=64", "optimizer.kind=muon", "noise.p=1e-2", "seed=7"])
    assert changed.network == dataclasses.replace(BASE.network, width=64)
    assert changed.optimizer == dataclasses.replace(BASE.optimizer, kind="muon")
    assert changed.noise == dataclasses.replace(BASE.noise, p=0.01)
    parts = {"network": BASE.network, "optimizer": BASE.optimizer, "noise": BASE.noise}
    assert dataclasses.replace(changed, seed=0, **parts) == BASE


def test_a_stage_may_be_a_list_or_have_keys():
    one = override(BASE, ["stages=[[0, -1, 0.5], [1, 2, 0.25, 0.1]]"])
    other = override(BASE, ['stages=[{"first":0,"last":-1,"fraction":0.5}, [1, 2, 0.25, 0.1]]'])
    assert one == other
    assert one.stages == (Stage(0, -1, 0.5), Stage(1, 2, 0.25, 0.1))


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("network.widht=64", "got 'network.widht'. Did you mean network.width?"),
        ("netwrk.width=64", "got 'netwrk.width'. Did you mean network.width?"),
        ("batchsize=64", "got 'batchsize'. Did you mean batch_size?"),
        ("network=64", "key must be one of the recipe's: got 'network'"),
        ("network.width.deep=64", "key must be one of the recipe's"),
        ("network.width", "--set must have the form key=value: got 'network.width'."),
        ("network.width=wide", 'network.width must be a whole number: got "wide".'),
        ("network.width=64.5", "network.width must be a whole number: got 64.5."),
        ("network.width=true", "network.width must be a whole number: got true."),
        ("network.biases=1", "network.biases must be true or false: got 1."),
        ("network.heads=3", "heads must divide width"),
        ("noise.p=often", 'noise.p must be a finite number: got "often".'),
        ("noise.p=NaN", "noise.p must be a finite number: got NaN."),
        ("noise.p=0.6", "p must lie in (0, 0.5]: got 0.6."),
        ("noise.low=0", "low must lie in (0, 1]: got 0.0."),
        ("noise.ramp=2", "ramp must lie in [0, 1]: got 2.0."),
        ("num_steps=many", 'num_steps must be a whole number: got "many".'),
        ("num_steps=0", "num_steps must be at least 1: got 0."),
        ("num_updates=0", "num_updates must be at least 1: got 0."),
        ("num_updates=1.5e0", "num_updates must be a whole number: got 1.5."),
        ("batch_size=-5", "batch_size must be at least 1: got -5."),
        ("seed=-1", "seed must lie in 0..999999999: got -1."),
        ("ema=1", "ema must lie in [0, 1): got 1.0."),
        ("optimizer.kind=adam", "Did you mean adamw?"),
        ("optimizer.learning_rate=0", "learning_rate must be above 0: got 0.0."),
        ("optimizer.clip=-1", "clip must be above 0, or null: got -1.0."),
        ("optimizer.fall_until=0.5", "fall_until must be at least flat_until (1.0): got 0.5."),
        ("objective=maskd", "Did you mean masked?"),
        ("objective=continuous", "objective continuous must go with its network: got masked."),
        ("translate_masks=true", "translate_masks must be false unless network.ties is tied"),
        ("pool=3", "pool must be 1 for a network without bp_iterations: got 3"),
        ("pool_iterations=2", "pool_iterations must be null for a network that reads what belief"),
        ("attempts=[[9, 0.5]]", "attempts must be empty for a network without bp_iterations"),
        ("attempts=[[1e6, 0.5]]", "iterations must lie in 1..999999: got 1000000."),
        ("attempts=[[9, 1.5]]", "scaling must lie in (0, 1]: got 1.5."),
        ("doubted=0.1", "doubted must be 0 without a pool: got 0.1. Set pool=4."),
        ("generator=threefry", "Did you mean threefry2x32?"),
        ("stages=5", "stages must be a list: got 5."),
        ("stages=[5]", "stages[0] must have keys and values: got 5."),
        ("stages=[[0, 1]]", "stages[0] must set first, last, fraction."),
        ('stages=[{"frist": 0}]', "got 'stages[0].frist'. Did you mean first?"),
        ("stages=[[0, 1, 0.7], [1, 1, 0.7]]", "fractions of at most 1 together: got 1.4."),
        ("stages=[[0, 1, 0]]", "fraction must lie in (0, 1]: got 0.0."),
        ("evaluate_p=0.1", "evaluate_p must be a list: got 0.1."),
        ("evaluate_p=[0.1, 0.9]", "evaluate_p must lie in (0, 0.5]: got (0.1, 0.9)."),
        ("evaluate_shots=-1", "evaluate_shots must be at least 0: got -1."),
        ("network.decoder_layers=1e8", "decoder_layers must be at most 1000: got 100000000."),
        ("name=metrics", "name must not be that of a file that every run has: got 'metrics'."),
        ("name=runs/mine", "name must be a plain file name: got 'runs/mine'."),
    ],
)
def test_wrong_settings_are_refused(assignment, message):
    with pytest.raises(ValueError) as refusal:
        override(BASE, [assignment])
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"name": "x"}', "config must set name, num_updates, batch_size."),
        ("[]", "config must set name"),
        ("5", "config must have keys and values: got 5."),
        ('{"name": "x", "num_updates": 1, "batch_size": 1, "sead": 1}', "Did you mean seed?"),
        ('{"name": "x", "num', "Unterminated string"),
    ],
)
def test_wrong_files_are_refused(text, message):
    with pytest.raises(ValueError) as refusal:
        from_json(text)
    assert message in str(refusal.value)


def test_whole_numbers_may_have_an_exponent():
    assert override(BASE, ["num_updates=1e4"]).num_updates == 10_000


def test_a_bottomless_recipe_is_refused():
    with pytest.raises(ValueError, match="config must be nested less deeply"):
        from_json("[" * 100_000)
