"""Lifting from one basis to the other: the dual network does the same on what the duality moves."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.codes.tanner_graph import labelled_graph
from unmasq.diffusion.masking import MASK
from unmasq.models import NetworkConfig, build_network
from unmasq.models.catalogue_geometries import memory_geometry
from unmasq.models.duality import dual_names, dual_relations
from unmasq.models.lifting import (
    BY_DUALITY,
    CARRIED,
    CHECK_ATTENTION,
    LOGICAL_ATTENTION,
    NEW,
    PARTS,
    Side,
    fate_table,
    lifted,
)
from unmasq.models.tie_names import Origin, joint_names
from unmasq.models.weights import named_arrays, with_weights

TINY = NetworkConfig(
    width=8,
    feedforward=8,
    heads=2,
    encoder_layers=1,
    closing_layers=1,
    decoder_layers=2,
    ties="tied",
    biases=False,
    mixing="messages",
    message_width=4,
    decoder="still",
    place_weights=True,
)
ROUNDS = 2
ENCODER, DECODER, *_ = PARTS


def side(code="bb18", basis="X", **changes):
    geometry = memory_geometry(code, ROUNDS, basis)
    return Side(dataclasses.replace(TINY, **changes), geometry, Origin(code, basis))


def network_of(which, seed):
    """All weights random: as built, closing layers are the identity and norms all alike."""
    network = build_network(which.config, which.geometry, key=jr.key(seed))
    weights, fixed = eqx.partition(network, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(weights)
    keys = jr.split(jr.key(seed), len(leaves))
    noisy = [x + 0.3 * jr.normal(key, x.shape) for x, key in zip(leaves, keys, strict=True)]
    weights = jax.tree.unflatten(structure, noisy)
    return eqx.combine(weights, fixed), named_arrays(weights)


def lift(old, new, arrays=None):
    """The lifted network's weights, and what became of them."""
    found, shares = lifted(old, arrays or network_of(old, 1)[1], new, network_of(new, 2)[1])
    return found, {(share.part, share.fate): share.numbers for share in shares}


def renamed(which, name):
    """With another name for a relation."""
    graph = which.geometry.tanner
    names = [f"other {r}" if r == name else r for r in graph.names]
    labels = [names[r] for r in graph.relation]
    other = labelled_graph(graph.check, graph.qubit, labels, graph.num_checks, graph.num_qubits)
    geometry = dataclasses.replace(which.geometry, tanner=other)
    return dataclasses.replace(which, geometry=geometry)


def test_relations_that_the_duality_takes_apart_have_no_duals():
    """Half of the X checks have a relation of their own at tick 2, the Z checks one at tick 6."""
    which = side()
    graph = which.geometry.tanner
    labels = [
        "X2 too" if graph.names[relation] == "X2" and check % 2 else graph.names[relation]
        for check, relation in zip(graph.check, graph.relation, strict=True)
    ]
    other = labelled_graph(graph.check, graph.qubit, labels, graph.num_checks, graph.num_qubits)
    geometry = dataclasses.replace(which.geometry, tanner=other)
    assert dual_relations(geometry, which.origin) is None


@pytest.mark.parametrize("basis", ["X", "Z"])
@pytest.mark.parametrize(
    ("code", "decoder"),
    [("bb18", "still"), ("bb18", "joint"), ("bb72", "still")],
)
def test_the_dual_network_says_of_moved_shots_what_the_old_one_says_of_them(code, decoder, basis):
    """Check site i is moved to -i of the other type; logical k of X is moved to that of Z."""
    old = side(code, basis, decoder=decoder)
    new = side(code, "Z" if basis == "X" else "X", decoder=decoder)
    ours, arrays = network_of(old, 1)
    theirs = with_weights(network_of(new, 2)[0], lift(old, new, arrays)[0])
    found = get_code(code)
    duality = found.bicycle.dual_qubits()
    logicals = {"X": found.logicals_x, "Z": found.logicals_z}
    same = logicals[new.origin.basis][:, duality] @ logicals[basis].T == logicals[basis].sum(axis=1)
    assert np.array_equal(same, np.eye(found.k)), "logical k goes to logical k"

    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (4, ROUNDS + 1, found.num_checks))
    moved = np.empty_like(bits)
    moved[:, :, duality] = bits
    tokens = jnp.asarray(rng.integers(0, MASK + 1, (4, found.k)))

    @eqx.filter_jit
    def run(network, syndrome):
        hidden = network.encode(jnp.asarray(syndrome.reshape(4, -1), jnp.uint8))
        return hidden, network.denoise(network.recall(hidden), tokens)

    (hidden, logits), (dual_hidden, dual_logits) = run(ours, bits), run(theirs, moved)
    assert float(jnp.std(logits)) > 0.1
    np.testing.assert_allclose(dual_hidden[duality], hidden, atol=2e-5)
    np.testing.assert_allclose(dual_logits, logits, atol=5e-5)


def test_relations_are_exchanged_as_the_terms_of_the_polynomials_are():
    """X checks touch L by A2 at tick 2, Z checks R by A2 at tick 6, and so on."""
    for which in (side("bb18"), side("bb72", "Z")):
        found = dual_relations(which.geometry, which.origin)
        pairs = {"X2": "Z6", "X3": "Z4", "X4": "Z3", "X5": "Z5", "X6": "Z1", "X7": "Z2"}
        assert found == {**pairs, **{z: x for x, z in pairs.items()}}


def test_values_are_exchanged_by_type_shape_and_negative_offset():
    """A logical of a shape's first translate sees X checks at -g as its dual sees Z checks at g."""
    which = side("bb72", "Z", decoder="joint")
    relations = dual_relations(which.geometry, which.origin)
    names = dual_names(which.geometry, which.origin, relations, still=False)
    assert names["X", "Z", (1, 2)] == ("Z", "X", (5, 4))
    assert names["Z", "Z", (0, 3)] == ("X", "X", (0, 3))
    assert names["bb72 Z logical 2", "Z", (1, 0)] == ("bb72 X logical 2", "X", (5, 0))
    ties = set(joint_names(which.geometry, which.origin))
    partners = joint_names(memory_geometry("bb72", ROUNDS, "X"), Origin("bb72", "X"))
    assert {names[tie] for tie in ties} == set(partners)


@pytest.mark.parametrize("decoder", ["still", "joint"])
def test_everything_is_carried_over_by_duality_and_back(decoder):
    x, z = side(basis="X", decoder=decoder), side(basis="Z", decoder=decoder)
    _, arrays = network_of(x, 1)
    there, fates = lift(x, z, arrays)
    assert {fate for _, fate in fates} == {CARRIED, BY_DUALITY}
    assert fates[ENCODER, BY_DUALITY]
    assert fates[LOGICAL_ATTENTION, BY_DUALITY]
    assert (LOGICAL_ATTENTION, CARRIED) not in fates
    back, _ = lift(z, x, there)
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array, err_msg=name)


def test_to_another_code_it_is_the_dual_of_the_lift():
    """In two steps, by duality and to the larger torus, and in one: only logicals are new."""
    small, dual = (side("bb36", basis, decoder="joint") for basis in "XZ")
    large = side("bb72", "Z", decoder="joint")
    found, fates = lift(small, large)
    in_two_steps, _ = lift(dual, large, lift(small, dual)[0])
    for name, array in found.items():
        np.testing.assert_array_equal(array, in_two_steps[name], err_msg=name)
    assert fates[CHECK_ATTENTION, BY_DUALITY] == fates[CHECK_ATTENTION, NEW]
    assert {fate for part, fate in fates if part == LOGICAL_ATTENTION} == {NEW}


def test_rows_of_one_check_type_go_to_the_other():
    name = "encoder.embedding.table"
    old, new = side(), side(basis="Z")
    _, arrays = network_of(old, 1)
    np.testing.assert_array_equal(lift(old, new, arrays)[0][name], arrays[name][::-1])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (side("toric:3"), side("toric:3", "Z")),
        (side(), side(basis="XZ")),
        (side(), renamed(side(basis="Z"), "X3")),
        (renamed(side(), "Z4"), side(basis="Z")),
        (side(), dataclasses.replace(side(basis="Z"), origin=Origin(None, "Z"))),
        (dataclasses.replace(side(), origin=Origin(None, "X")), side(basis="Z")),
        (side(), side()),
    ],
    ids=[
        "toric code",
        "both bases",
        "relation of new",
        "relation of old",
        "new of no code",
        "old of no code",
        "same basis",
    ],
)
def test_without_a_duality_all_goes_by_its_own_name(old, new):
    _, fates = lift(old, new)
    assert BY_DUALITY not in {fate for _, fate in fates}
    assert fates[ENCODER, CARRIED]


def test_free_attention_starts_anew_in_the_other_basis():
    _, fates = lift(side(ties="free"), side(basis="Z", ties="free"))
    assert fates[ENCODER, BY_DUALITY]
    assert {fate for part, fate in fates if part == LOGICAL_ATTENTION} == {NEW}


def test_checks_that_are_not_the_codes_own_are_not_exchanged():
    old, new = side(), side(basis="Z")
    symmetry = new.geometry.symmetry
    fewer = dataclasses.replace(
        symmetry,
        check_images=symmetry.check_images[:1],
        token_images=symmetry.token_images[:1],
    )
    other = dataclasses.replace(new.geometry, symmetry=fewer)
    assert dual_relations(new.geometry, new.origin) is not None
    assert dual_relations(other, new.origin) is None
    assert dual_relations(old.geometry, Origin("bb36", "X")) is None


def test_the_table_has_a_column_for_what_went_by_duality():
    old, new = side(), side(basis="Z")
    shares = lifted(old, network_of(old, 1)[1], new, network_of(new, 2)[1])[1]
    head, *rows = fate_table(shares)
    assert head.split() == ["numbers", "carried", "over", "by", "duality", "new"]
    assert [row.split()[-1] for row in rows] == ["0", "0", "0"]
    assert all(len(row) == len(head) <= 72 for row in rows)
