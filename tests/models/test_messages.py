"""Messages along the Tanner graph: a dense product, equivariance, gradients, missing neighbours."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.codes.tanner_graph import TannerGraph, labelled_graph
from unmasq.models import NetworkConfig, build_network, for_rounds, geometry_for
from unmasq.models.messages import Messages, Wires
from unmasq.models.weights import load_weights, named_arrays, save_weights
from unmasq.problems.building import problem_from_code, problem_from_matrices
from unmasq.training import OptimizerConfig
from unmasq.training.update import learning_rates

SMALL = NetworkConfig(
    width=16,
    feedforward=32,
    heads=4,
    encoder_layers=1,
    decoder_layers=1,
    ties="tied",
    mixing="messages",
    message_width=8,
)
WIDTH, MESSAGE = 6, 3


@eqx.filter_jit
def encode(network, syndrome, last_frame=None):
    return network.encode(syndrome, last_frame)


@pytest.fixture(scope="module")
def problem():
    return problem_from_code(get_code("bb18"), "circuit", 0.01, 1)


@pytest.fixture(scope="module")
def network(problem):
    return build_network(SMALL, geometry_for(SMALL, problem), key=jr.key(1))


@pytest.fixture(scope="module")
def syndrome(problem):
    bits = np.random.default_rng(0).integers(0, 2, (5, problem.num_detectors))
    return jnp.asarray(bits, jnp.uint8)


def row_graph() -> TannerGraph:
    """Checks between qubits in a row; a lonely check first, types mixed, a lonely qubit last."""
    check = np.array([1, 1, 2, 2, 3, 3, 4])
    qubit = np.array([0, 1, 1, 2, 2, 3, 3])
    labels = ["X1", "X2", "Z1", "Z2", "X1", "X2", "Z1"]
    return labelled_graph(check, qubit, labels, 5, 5)


def graphs():
    bicycle = get_code("bb18").schedule.tanner_graph()
    images = get_code("bb18").symmetries["XZ"].check_images
    return {"bb18": bicycle, "bb18 with duality": bicycle.under(images, images), "row": row_graph()}


def messages_on(graph):
    wires = Wires(graph)
    layer = Messages(WIDTH, MESSAGE, wires, key=jr.key(3))
    return layer, jax.tree.map(jnp.asarray, wires), wires


def dense(layer, wires, graph, x):
    """The same with one large matrix for each step, edge by edge."""

    def matrix_of(linears, groups, relation):
        for linear, group in zip(linears, groups, strict=True):
            if relation in group.relations:
                place = group.relations.index(relation) * MESSAGE
                return np.asarray(linear.weight)[place : place + MESSAGE]
        raise AssertionError

    def reduce_of(check):
        relation = graph.relation[graph.check == check][0]
        (number,) = [i for i, group in enumerate(wires.check_groups) if relation in group.relations]
        return np.asarray(layer.reduce[number].weight)

    edges = list(zip(graph.check, graph.qubit, graph.relation, strict=True))
    z = {c: np.asarray(x)[c] @ reduce_of(c) for c in set(graph.check)}
    y = np.zeros((graph.num_qubits, x.shape[1], MESSAGE))
    for c, q, r in edges:
        y[q] += z[c] @ matrix_of(layer.to_qubits, wires.qubit_groups, r)
    y = np.asarray(jax.nn.gelu(jnp.asarray(y, jnp.float32)))
    m = np.zeros(x.shape)
    for c, q, r in edges:
        m[c] += y[q] @ matrix_of(layer.to_checks, wires.check_groups, r)
    return m


@pytest.mark.parametrize("name", graphs())
def test_messages_equal_sums_over_edges(name):
    graph = graphs()[name]
    layer, wires, on_host = messages_on(graph)
    x = jr.normal(jr.key(0), (graph.num_checks, 4, WIDTH))
    np.testing.assert_allclose(
        eqx.filter_jit(layer)(x, wires), dense(layer, on_host, graph, x), atol=1e-5
    )


@pytest.mark.parametrize("name", graphs())
def test_the_gradient_is_that_of_the_plain_gather(name, monkeypatch):
    graph = graphs()[name]
    layer, wires, _ = messages_on(graph)
    x = jr.normal(jr.key(0), (graph.num_checks, 4, WIDTH))

    def gradients():
        both = eqx.filter_grad(lambda pair: jnp.sum(jnp.sin(pair[0](pair[1], wires))))
        return jax.tree.leaves(eqx.filter_jit(both)((layer, x)))

    own = gradients()
    monkeypatch.setattr(
        "unmasq.models.messages._carried",
        lambda x, forth, back, full: jnp.where((forth >= 0)[:, None, None], x[forth], 0.0),
    )
    for one, other in zip(own, gradients(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_no_gradient_is_a_scatter(network, syndrome):
    def loss(net):
        return jnp.sum(net.encode(syndrome))

    assert "scatter" not in str(jax.make_jaxpr(eqx.filter_grad(loss))(network))


def test_matrices_of_bicycle_codes_are_grouped_by_data_block_and_check_type(network):
    shapes = {
        name.removeprefix("encoder.blocks.0.mixing."): array.shape
        for name, array in named_arrays(network).items()
        if name.startswith("encoder.blocks.0.mixing.")
    }
    assert shapes == {
        **{f"reduce.{i}.weight": (16, 8) for i in range(2)},
        **{f"to_qubits.{i}.weight": (48, 8) for i in range(2)},
        **{f"to_checks.{i}.weight": (48, 16) for i in range(2)},
    }
    weights = eqx.filter(network, eqx.is_inexact_array)
    rates = learning_rates(OptimizerConfig("muon", 1e-3, 2e-2), weights)
    rates = jax.tree.leaves(rates.encoder.blocks[0].mixing)
    assert len(rates) == 6
    assert min(rates) >= 2e-2  # Muon's, not Adam's


def test_groups_are_linked_by_relations_that_meet():
    wires = Wires(row_graph())
    names = row_graph().names
    checks, qubits = (
        [{names[r] for r in group.relations} for group in groups]
        for groups in (wires.check_groups, wires.qubit_groups)
    )
    assert checks == [{"X1", "X2"}, {"Z1", "Z2"}]
    assert qubits == [{"X1", "Z2"}, {"X2", "Z1"}]
    assert wires.qubit_groups[-1].stop == 4  # the lonely one is left out


def test_a_check_without_qubits_gets_no_message():
    layer, wires, _ = messages_on(row_graph())
    out = layer(jr.normal(jr.key(0), (5, 2, WIDTH)), wires)
    assert not out[0].any()
    assert out[1:].any(axis=(1, 2)).all()


def test_hidden_state_moves_with_every_translation(problem, network, syndrome):
    state = encode(network, syndrome)
    for images in problem.symmetry.check_images:
        moved = jnp.zeros_like(syndrome)
        for r in range(problem.layout.num_frames):
            first = r * problem.layout.num_checks
            moved = moved.at[:, first + images].set(syndrome[:, first : first + len(images)])
        np.testing.assert_allclose(encode(network, moved)[images], state, atol=2e-5)


def test_hidden_state_of_code_capacity_moves_with_the_duality():
    problem = problem_from_code(get_code("bb18"), "code-capacity", 0.05)
    network = build_network(SMALL, geometry_for(SMALL, problem), key=jr.key(1))
    bits = jnp.asarray(np.random.default_rng(0).integers(0, 2, (3, 18)), jnp.uint8)
    state = encode(network, bits)
    for images in problem.symmetry.check_images[[1, 9, 14]]:
        moved = jnp.zeros_like(bits).at[:, images].set(bits)
        np.testing.assert_allclose(encode(network, moved)[images], state, atol=2e-5)


def test_all_frames_equal_one_frame_after_the_other(network, syndrome):
    together = eqx.filter_jit(network.encoder.all_frames)(syndrome)
    for r, state in enumerate(together):
        last = jnp.full((len(syndrome),), r, jnp.int32)
        np.testing.assert_allclose(encode(network, syndrome, last), state, atol=1e-5)


def test_a_batch_equals_its_shots(network, syndrome):
    together = encode(network, syndrome)
    np.testing.assert_allclose(encode(network, syndrome[1:2])[:, 0], together[:, 1], atol=1e-5)


def test_a_network_of_messages_has_no_code_weights_and_fits_every_number_of_rounds(network):
    assert network.encoder.code_weights is None
    assert "encoder.code_weights" not in named_arrays(network)
    longer = problem_from_code(get_code("bb18"), "circuit", 0.01, 4)
    geometry = geometry_for(SMALL, longer)
    trained = {name: array.shape for name, array in named_arrays(network).items()}
    fresh = named_arrays(build_network(SMALL, geometry, key=jr.key(0)))
    del trained["encoder.grid"]
    assert {name: array.shape for name, array in fresh.items() if name in trained} == trained
    syndrome = jnp.zeros((1, longer.num_detectors), jnp.uint8)
    assert encode(for_rounds(network, geometry), syndrome).shape == (18, 1, 16)


def test_a_weight_file_carries_the_relations(problem, network, syndrome, tmp_path):
    geometry = geometry_for(SMALL, problem)
    header = {"name": "x", "structure_id": "0" * 16, "objective": "masked", "num_steps": 4}
    save_weights(tmp_path / "x.safetensors", network, SMALL, geometry, header, np.float32)
    again = load_weights(tmp_path / "x.safetensors")
    assert again.geometry.tanner.names == problem.tanner.names
    np.testing.assert_array_equal(encode(again.network, syndrome), encode(network, syndrome))


def test_messages_need_a_tanner_graph():
    problem = problem_from_matrices(np.eye(2), [[1, 0]], [0.1, 0.1])
    config = dataclasses.replace(SMALL, ties="free")
    with pytest.raises(ValueError, match="mixing must be 'attention' for a problem whose Tanner"):
        build_network(config, geometry_for(config, problem), key=jr.key(0))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mixing": "gossip"}, "mixing must be one of attention, messages: got 'gossip'"),
        ({"decoder": "loud"}, "decoder must be one of joint, still: got 'loud'"),
        ({"message_width": 0}, "message_width must be at least 1: got 0"),
        ({"kind": "continuous"}, "mixing and decoder must be left alone for a continuous"),
    ],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SMALL, **changes)
