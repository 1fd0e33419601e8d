"""Lifting: names of tied values, what carries over, the double cover, and what is refused."""

import collections
import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.codes.tanner_graph import labelled_graph
from unmasq.models import NetworkConfig, build_network, geometry_for
from unmasq.models.catalogue_geometries import memory_geometry
from unmasq.models.lifting import (
    BY_OFFSET,
    CARRIED,
    CHECK_ATTENTION,
    LOGICAL_ATTENTION,
    NEW,
    NotLiftableError,
    Side,
    fate_table,
    lifted,
)
from unmasq.models.tie_names import Origin, joint_names, kind_names, readout_names
from unmasq.models.weights import named_arrays, with_weights
from unmasq.problems.building import problem_from_code

TINY = NetworkConfig(
    width=8,
    feedforward=8,
    heads=2,
    encoder_layers=1,
    decoder_layers=1,
    ties="tied",
    biases=False,
    mixing="messages",
    message_width=4,
    decoder="still",
)


def side(code="bb36", rounds=1, basis="X", **changes):
    geometry = memory_geometry(code, rounds, basis)
    return Side(dataclasses.replace(TINY, **changes), geometry, Origin(code, basis))


def weights_of(which, seed):
    network = build_network(which.config, which.geometry, key=jr.key(seed))
    return network, named_arrays(eqx.filter(network, eqx.is_inexact_array))


def lift(old, new):
    """The lifted network, its arrays, those it came from, fresh ones, and the shares."""
    _, arrays = weights_of(old, 1)
    network, fresh = weights_of(new, 2)
    found, shares = lifted(old, arrays, new, fresh)
    fates = {(share.part, share.fate): share.numbers for share in shares}
    return with_weights(network, found), found, arrays, fresh, fates


@pytest.mark.parametrize("names", [readout_names, joint_names])
@pytest.mark.parametrize("code", ["bb18", "bb72"])
def test_every_tied_value_has_a_name_of_its_own(code, names):
    which = side(code)
    ties = getattr(which.geometry.symmetry, names.__name__.replace("names", "ties"))()
    found = names(which.geometry, which.origin)
    assert len(found) == len(set(found)) == ties.num_values


def test_names_say_kind_and_offset():
    """Value by value: the pair (X check at (1, 2), Z check at (0, 5)) of the 6 x 6 torus."""
    which = side("bb72")
    ties = which.geometry.symmetry.joint_ties()
    names = joint_names(which.geometry, which.origin)
    logicals = which.geometry.num_logicals
    x, z = logicals + 1 * 6 + 2, logicals + 36 + 0 * 6 + 5
    assert names[ties.index[x, z]] == ("X", "Z", (5, 3))
    assert names[ties.index[z, x]] == ("Z", "X", (1, 3))
    kinds = collections.Counter(kind for kind, *_ in (names[v] for v in np.unique(ties.index)))
    assert set(kinds) == {"X", "Z", *(f"bb72 X logical {shape}" for shape in range(3))}
    assert kind_names(which.geometry, tied=True) == ["X", "Z"]


def test_values_of_a_logical_are_named_by_where_the_check_stands_from_it():
    which = side("bb72")
    symmetry = which.geometry.symmetry
    names = readout_names(which.geometry, which.origin)
    every = np.arange(symmetry.num_tokens, dtype=np.int32)
    ties = dataclasses.replace(symmetry, basis_tokens=every).readout_ties()
    move = 8
    for token in (0, 3):
        for check in (0, 40):
            moved = ties.index[
                symmetry.token_images[move, token],
                symmetry.num_tokens + symmetry.check_images[move, check],
            ]
            assert names[moved] == names[ties.index[token, symmetry.num_tokens + check]]
    assert names[ties.index[0, symmetry.num_tokens + 8]] == ("bb72 X logical 0", "X", (1, 2))


@pytest.mark.parametrize(("small", "large"), [("bb36", "bb72"), ("bb72", "bb144")])
def test_a_syndrome_repeated_on_the_double_cover_gives_the_hidden_state_repeated(small, large):
    old, new = side(small, rounds=2), side(large, rounds=2)
    narrow, _ = weights_of(old, 1)
    wide, *_ = lift(old, new)
    sites = get_code(small).n // 2
    cover = np.arange(2 * sites) % sites  # (u, v) -> (u mod l, v): sites are numbered u m + v
    checks = np.concatenate([cover, sites + cover])
    bits = np.random.default_rng(0).integers(0, 2, (2, 3, 2 * sites))
    encode = eqx.filter_jit(lambda net, syndrome: net.encode(syndrome))
    once = encode(narrow, jnp.asarray(bits.reshape(2, -1), jnp.uint8))
    twice = encode(wide, jnp.asarray(bits[:, :, checks].reshape(2, -1), jnp.uint8))
    np.testing.assert_allclose(twice, once[checks], atol=2e-5)


def test_another_code_keeps_all_but_the_attention_of_logicals():
    _, found, arrays, fresh, fates = lift(side("bb36"), side("bb72", rounds=2))
    for name in fresh:
        same = arrays if "attention" not in name else fresh
        np.testing.assert_array_equal(found[name], same[name], err_msg=name)
    assert set(fates) == {("encoder", CARRIED), ("decoder", CARRIED), (LOGICAL_ATTENTION, NEW)}
    assert sum(fates.values()) == sum(array.size for array in fresh.values())


def test_another_number_of_rounds_keeps_everything():
    _, found, arrays, _, fates = lift(side("bb36"), side("bb36", rounds=3))
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
    assert {fate for _, fate in fates} == {CARRIED}


def test_another_basis_of_other_codes_keeps_all_but_the_attention_of_logicals():
    """Bicycle codes have a duality: see `test_duality`."""
    *_, fates = lift(side("toric:3", basis="X"), side("toric:3", basis="Z"))
    assert fates.keys() == {("encoder", CARRIED), ("decoder", CARRIED), (LOGICAL_ATTENTION, NEW)}


def test_both_bases_keep_the_attention_of_the_logicals_that_one_had():
    both = problem_from_code(get_code("bb18"), "circuit", 0.01, 1, "XZ")
    new = Side(TINY, geometry_for(TINY, both), Origin("bb18", "XZ"))
    old = side("bb18")
    *_, fates = lift(old, new)
    values = old.geometry.symmetry.readout_ties().num_values * TINY.heads
    assert fates[LOGICAL_ATTENTION, CARRIED] == values
    across = 2 * old.geometry.symmetry.num_tokens**2 // 9 * TINY.heads  # between the bases
    assert fates[LOGICAL_ATTENTION, NEW] == values + across


def test_attention_among_checks_goes_by_offset():
    old, new = side("bb36", decoder="joint"), side("bb72", decoder="joint")
    _, found, arrays, fresh, fates = lift(old, new)
    name = "blocks.0.mixing.attention"
    small, large = (
        {label: i for i, label in enumerate(joint_names(which.geometry, which.origin))}
        for which in (old, new)
    )

    def value(which, table, offset):
        return table[name][:, which["X", "Z", offset]].tolist()

    for offset, source in {(1, 2): (1, 2), (5, 4): (2, 4), (0, 3): (0, 3)}.items():
        assert value(large, found, offset) == value(small, arrays, source)
    for far in ((2, 0), (3, 1), (4, 1)):  # the small torus is 3 wide: -1, 0, 1
        assert value(large, found, far) == value(large, fresh, far)
    values = 2 * 2 * 3 * 6 * TINY.heads
    assert fates[CHECK_ATTENTION, BY_OFFSET] == values
    assert fates[CHECK_ATTENTION, NEW] == values  # half of the larger torus is farther


def test_the_table_says_what_became_of_each_part():
    old, new = side("bb36"), side("bb72")
    shares = lifted(old, weights_of(old, 1)[1], new, weights_of(new, 2)[1])[1]
    head, *rows = fate_table(shares)
    assert head.split() == ["numbers", "carried", "over", "by", "offset", "new"]
    assert [row[:24].strip() for row in rows] == ["encoder", "decoder", LOGICAL_ATTENTION]
    assert all(len(row) == len(head) <= 72 for row in rows)


def test_free_attention_is_kept_only_for_the_same_code_and_basis():
    *_, rounds = lift(side("bb36", ties="free"), side("bb36", rounds=2, ties="free"))
    assert (LOGICAL_ATTENTION, CARRIED) in rounds
    *_, basis = lift(side("bb36", ties="free"), side("bb36", basis="Z", ties="free"))
    assert (LOGICAL_ATTENTION, NEW) in basis


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 16}, "network.width must be that of the weights to start from, 8: got 16"),
        ({"decoder_layers": 2}, "network.decoder_layers must be .* 1: got 2"),
        ({"message_width": 2}, "network.message_width must be .* 4: got 2"),
        ({"decoder": "joint"}, "network.decoder must be .* still: got joint"),
    ],
)
def test_networks_of_other_sizes_are_refused(changes, message):
    old, new = side("bb36"), side("bb72", **changes)
    with pytest.raises(NotLiftableError, match=message) as refused:
        lifted(old, {}, new, {})
    assert "\n" not in str(refused.value)


def test_attention_is_not_lifted_to_messages():
    old = side("bb36", mixing="attention")
    with pytest.raises(NotLiftableError, match="must be a network of messages .* got attention"):
        lifted(old, {}, side("bb72"), {})


def test_closing_layers_are_lifted_relation_by_relation():
    new = side("bb72")
    graph = new.geometry.tanner
    labels = [f"other {name}" if name == "X3" else name for name in graph.names]
    renamed = [labels[r] for r in graph.relation]
    other = labelled_graph(graph.check, graph.qubit, renamed, graph.num_checks, graph.num_qubits)
    geometry = dataclasses.replace(new.geometry, tanner=other)
    renewed = []
    for layers in (0, 1):
        config = dataclasses.replace(TINY, closing_layers=layers)
        target = dataclasses.replace(new, config=config, geometry=geometry)
        *_, fates = lift(side("bb36", closing_layers=layers), target)
        renewed.append(fates["encoder", NEW])
    assert renewed == [renewed[0], 2 * renewed[0]]
    assert renewed[0] == TINY.message_width * (TINY.message_width + TINY.width)


def test_networks_that_share_no_relation_are_refused():
    new = side("bb72")
    graph = new.geometry.tanner
    labels = [f"other {graph.names[r]}" for r in graph.relation]
    other = labelled_graph(graph.check, graph.qubit, labels, graph.num_checks, graph.num_qubits)
    geometry = dataclasses.replace(new.geometry, tanner=other)
    with pytest.raises(NotLiftableError, match="init must share a relation .* got X2, X3"):
        lifted(side("bb36"), {}, dataclasses.replace(new, geometry=geometry), {})
