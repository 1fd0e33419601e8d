"""The networks: the paper's parameter counts, ties, equivariance, options."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.codes.symmetry import free_ties
from unmasq.diffusion.masking import MASK
from unmasq.models import (
    Geometry,
    NetworkConfig,
    build_network,
    cast_floats,
    count_parameters,
    geometry_for,
    initial_code_weights,
)
from unmasq.models.attention import TieExpander
from unmasq.problems.building import problem_from_code, problem_from_matrices
from unmasq.problems.problem import Layout

SMALL = NetworkConfig(width=16, feedforward=32, heads=4, encoder_layers=1, decoder_layers=2)


@eqx.filter_jit
def apply(net, syndrome, tokens):
    return net.denoise(net.encode(syndrome), tokens)


@eqx.filter_jit
def encode(net, syndrome, last_frame=None):
    return net.encode(syndrome, last_frame)


@eqx.filter_jit
def all_frames(net, syndrome, count=None):
    return net.encoder.all_frames(syndrome, count)


def circuit_geometry(sites: int, frames: int, num_logicals: int) -> Geometry:
    """As many places as a bicycle code's memory has; counting parameters needs no more."""
    frame, check = np.divmod(np.arange(2 * sites * frames, dtype=np.int32), 2 * sites)
    types = np.repeat(np.array([0, 1], np.int32), sites)
    layout = Layout(frame.astype(np.int32), check.astype(np.int32), types, frames)
    return Geometry(layout, num_logicals, None)


@pytest.mark.parametrize(
    ("config", "geometry", "expected"),
    [
        (NetworkConfig(width=256, feedforward=512), circuit_geometry(36, 7, 12), 2_705_217),
        (NetworkConfig(width=512, feedforward=1024), circuit_geometry(72, 13, 12), 10_820_225),
        (
            NetworkConfig(width=128, feedforward=512, encoder_layers=0, decoder_layers=4),
            circuit_geometry(36, 1, 24),
            956_929,
        ),
        (
            NetworkConfig(
                width=96,
                feedforward=384,
                encoder_layers=0,
                decoder_layers=32,
                place_weights=True,
            ),
            circuit_geometry(72, 1, 24),
            11_112_193,
        ),
        (
            NetworkConfig(kind="continuous", feedforward=2048),
            circuit_geometry(36, 1, 24),
            13_557_784,
        ),
        (
            NetworkConfig(kind="continuous", feedforward=2048),
            circuit_geometry(72, 1, 24),
            13_852_696,
        ),
    ],
)
def test_parameter_counts_are_the_papers(config, geometry, expected):
    shapes = eqx.filter_eval_shape(lambda: build_network(config, geometry, key=jr.key(0)))
    leaves = jax.tree.leaves(shapes)
    floats = [x for x in leaves if jnp.issubdtype(getattr(x, "dtype", np.int32), jnp.floating)]
    assert sum(leaf.size for leaf in floats) == expected


@pytest.mark.parametrize(
    ("code", "config", "expected"),
    [
        ("bb72", NetworkConfig(width=256, feedforward=512, ties="tied"), 2_396_049),
        ("bb144", NetworkConfig(width=512, feedforward=1024, ties="tied"), 9_501_185),
    ],
)
def test_tied_parameter_counts(code, config, expected):
    sites = get_code(code).n // 2
    rounds = get_code(code).distance
    geometry = dataclasses.replace(
        circuit_geometry(sites, rounds + 1, 12), symmetry=get_code(code).symmetries["X"]
    )
    assert count_parameters(build_network(config, geometry, key=jr.key(0))) == expected


@pytest.fixture(scope="module")
def problem():
    return problem_from_code(get_code("bb18"), "circuit", 0.01, 2)


@pytest.fixture(scope="module")
def shots(problem):
    rng = np.random.default_rng(0)
    syndrome = jnp.asarray(rng.integers(0, 2, (5, problem.num_detectors)), jnp.uint8)
    tokens = jnp.asarray(rng.integers(0, 3, (5, problem.num_logicals)), jnp.int32)
    return syndrome, tokens


def network(problem, config=SMALL, **changes):
    config = dataclasses.replace(config, **changes)
    net = build_network(config, Geometry.of(problem), initial_code_weights(problem), key=jr.key(1))
    # Random K, so that ties of K are tested too.
    return eqx.tree_at(
        lambda n: n.encoder.code_weights,
        net,
        net.encoder.code_weights * (1 + 0.3 * jr.normal(jr.key(2), net.encoder.code_weights.shape)),
    )


def freed(tied):
    """The untied network with the tied one's values expanded to every place."""
    expand_checks, expand_joint = tied.encoder.places.expand, tied.places.expand

    def flat(places, values):
        return places(values).reshape(*values.shape[:-1], -1)

    tree = tied
    for number in range(len(tied.encoder.blocks)):
        tree = eqx.tree_at(
            lambda n, i=number: n.encoder.blocks[i].mixing.attention,
            tree,
            flat(expand_checks, tied.encoder.blocks[number].mixing.attention),
        )
    for number in range(len(tied.blocks)):
        tree = eqx.tree_at(
            lambda n, i=number: n.blocks[i].mixing.attention,
            tree,
            flat(expand_joint, tied.blocks[number].mixing.attention),
        )
    sites, tokens = tied.encoder.places.shape[0], tied.places.shape[0]
    return eqx.tree_at(
        lambda n: (n.encoder.code_weights, n.encoder.places, n.places),
        tree,
        (
            flat(expand_checks, tied.encoder.code_weights),
            TieExpander(free_ties(sites, sites)),
            TieExpander(free_ties(tokens, tokens)),
        ),
    )


def test_tied_network_equals_the_free_one_with_expanded_values(problem, shots):
    tied = network(problem, ties="tied")
    free = freed(tied)
    assert count_parameters(free) > count_parameters(tied)
    np.testing.assert_allclose(apply(free, *shots), apply(tied, *shots), atol=1e-5)


def translated_syndrome(problem, syndrome, element):
    """P s: the bit of check i moves to the check's image, frame by frame."""
    images = problem.symmetry.check_images[element]
    frames = np.asarray(syndrome).reshape(len(syndrome), -1, len(images))
    moved = np.empty_like(frames)
    moved[:, :, images] = frames
    return jnp.asarray(moved.reshape(len(syndrome), -1))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_tied_network_is_equivariant_under_every_translation(problem, shots, norm):
    syndrome, tokens = shots
    tied = network(problem, ties="tied", norm=norm)
    symmetry = problem.symmetry
    assert symmetry.order == 9
    state = np.asarray(encode(tied, syndrome))
    logits = np.asarray(apply(tied, syndrome, tokens))
    for element in range(symmetry.order):
        moved = translated_syndrome(problem, syndrome, element)
        images = symmetry.check_images[element]
        np.testing.assert_allclose(np.asarray(encode(tied, moved))[images], state, atol=2e-5)
        relabelled = symmetry.token_images[element][symmetry.basis_tokens]
        places = TieExpander(dataclasses.replace(symmetry, basis_tokens=relabelled).joint_ties())
        other = eqx.tree_at(lambda n: n.places, tied, places)
        np.testing.assert_allclose(np.asarray(apply(other, moved, tokens)), logits, atol=2e-5)


@pytest.mark.parametrize("bp_iterations", [0, 9])
def test_tied_capacity_network_is_equivariant_under_translations_and_duality(bp_iterations):
    capacity = problem_from_code(get_code("bb18"), "code-capacity", 0.05)
    rng = np.random.default_rng(1)
    syndrome = jnp.asarray(rng.integers(0, 2, (4, capacity.num_detectors)), jnp.uint8)
    tokens = jnp.asarray(rng.integers(0, 3, (4, capacity.num_logicals)), jnp.int32)
    config = dataclasses.replace(SMALL, ties="tied", encoder_layers=0, bp_iterations=bp_iterations)
    tied = build_network(config, geometry_for(config, capacity), key=jr.key(0))
    assert tied.encoder.embedding.table.shape[0] == 1  # the duality exchanges X and Z checks
    logits = np.asarray(apply(tied, syndrome, tokens))
    symmetry = capacity.symmetry
    assert symmetry.order == 18
    for element in range(symmetry.order):
        moved = translated_syndrome(capacity, syndrome, element)
        relabelled = symmetry.token_images[element][symmetry.basis_tokens]
        places = TieExpander(dataclasses.replace(symmetry, basis_tokens=relabelled).joint_ties())
        other = eqx.tree_at(lambda n: n.places, tied, places)
        np.testing.assert_allclose(np.asarray(apply(other, moved, tokens)), logits, atol=2e-5)


def test_free_network_is_not_equivariant(problem, shots):
    free = network(problem)
    moved = translated_syndrome(problem, shots[0], 1)
    images = problem.symmetry.check_images[1]
    difference = np.asarray(encode(free, moved))[images] - np.asarray(encode(free, shots[0]))
    assert np.abs(difference).max() > 1e-2


def test_shots_of_a_batch_do_not_touch_each_other(problem, shots):
    syndrome, tokens = shots
    net = network(problem, ties="tied")
    together = apply(net, syndrome, tokens)
    for i in range(len(syndrome)):
        np.testing.assert_allclose(
            apply(net, syndrome[i : i + 1], tokens[i : i + 1])[0], together[i], atol=1e-5
        )


def test_states_after_each_frame_agree_with_the_recurrence(problem, shots):
    syndrome, _ = shots
    net = network(problem, ties="tied")
    states = all_frames(net, syndrome)
    np.testing.assert_allclose(encode(net, syndrome), states[-1], atol=1e-6)
    np.testing.assert_allclose(all_frames(net, syndrome, 2), states[:2], atol=1e-6)
    last = jnp.array([0, 1, 2, 1, 0], jnp.int32)
    stopped = encode(net, syndrome, last)
    for shot, frame in enumerate(last):
        np.testing.assert_allclose(stopped[:, shot], states[frame, :, shot], atol=1e-6)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_leaving_rows_out_does_not_change_the_others(problem, norm):
    block = network(problem, norm=norm).blocks[0]
    places = network(problem).places
    x = jr.normal(jr.key(5), (places.shape[0], 3, SMALL.width))
    apply = eqx.filter_jit(block)
    np.testing.assert_allclose(apply(x, places, rows=4), apply(x, places)[:4], atol=1e-5)


def test_a_state_does_not_see_later_frames(problem, shots):
    syndrome, _ = shots
    net = network(problem, ties="tied")
    per_frame = problem.layout.num_checks
    changed = syndrome.at[:, 2 * per_frame :].set(1 - syndrome[:, 2 * per_frame :])
    before, after = (all_frames(net, s) for s in (syndrome, changed))
    np.testing.assert_array_equal(before[:2], after[:2])
    assert np.abs(before[2] - after[2]).max() > 1e-3


@pytest.mark.parametrize("changes", [{"norm": "pre"}, {"heads": 16}, {"width": 32}])
def test_options_change_the_network(problem, shots, changes):
    base, other = network(problem), network(problem, **changes)
    assert np.abs(np.asarray(apply(base, *shots)) - np.asarray(apply(other, *shots))).max() > 1e-4


def test_without_biases_only_matrices_and_tables_are_trained(problem):
    net = network(problem, biases=False)
    names = [
        jax.tree_util.keystr(path)
        for path, _ in jax.tree_util.tree_flatten_with_path(eqx.filter(net, eqx.is_inexact_array))[
            0
        ]
    ]
    assert not [name for name in names if "norm" in name]
    assert [name for name in names if name.endswith("bias")] == [".head.bias"]


def test_ragged_frames_read_zero_where_no_detector_is(problem, shots):
    layout = problem.layout
    keep = np.flatnonzero(~((layout.frame == 1) & (layout.check >= 10)))
    ragged = Layout(layout.frame[keep], layout.check[keep], layout.check_type, layout.num_frames)
    full = network(problem)
    part = eqx.tree_at(lambda n: n.encoder.grid, full, jnp.asarray(ragged.grid()))
    syndrome, tokens = shots
    zeroed = syndrome.at[:, np.setdiff1d(np.arange(problem.num_detectors), keep)].set(0)
    np.testing.assert_allclose(
        apply(part, syndrome[:, keep], tokens), apply(full, zeroed, tokens), atol=1e-6
    )


def test_bfloat16_stays_close_to_float32(problem, shots):
    net = network(problem, ties="tied")
    low = cast_floats(net, jnp.dtype("bfloat16"))
    logits = apply(low, *shots)
    assert logits.dtype == jnp.float32
    np.testing.assert_allclose(logits, apply(net, *shots), atol=0.1)


def test_free_network_needs_no_symmetry_and_tied_says_so(problem):
    geometry = dataclasses.replace(Geometry.of(problem), symmetry=None)
    build_network(SMALL, geometry, key=jr.key(0))
    with pytest.raises(ValueError, match="ties must be 'free'"):
        build_network(dataclasses.replace(SMALL, ties="tied"), geometry, key=jr.key(0))


def test_a_problem_without_detectors_is_refused():
    empty = problem_from_matrices(np.zeros((0, 1)), np.ones((1, 1)), [0.1], name="blind")
    with pytest.raises(ValueError, match="problem 'blind' must have at least one detector"):
        geometry_for(SMALL, empty)


def test_frames_need_an_encoder(problem):
    with pytest.raises(ValueError, match="encoder_layers must be at least 1 for 3 frames"):
        network(problem, encoder_layers=0)


def test_bad_configs_are_refused():
    with pytest.raises(ValueError, match="heads must divide width"):
        NetworkConfig(width=10, heads=4)
    with pytest.raises(ValueError, match="norm must be one of post, pre"):
        NetworkConfig(norm="middle")  # type: ignore[arg-type]


def test_shown_tokens_matter_to_hidden_ones(problem, shots):
    syndrome, _ = shots
    net = network(problem)
    hidden = jnp.full((5, problem.num_logicals), MASK, jnp.int32)
    shown = hidden.at[:, 0].set(1)
    assert (
        np.abs(np.asarray(apply(net, syndrome, hidden) - apply(net, syndrome, shown))[:, 1:]).max()
        > 1e-3
    )
