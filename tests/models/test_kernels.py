"""Kernels beside the blocks that they stand for, interpreted on a CPU."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

pytest.importorskip("jax.experimental.pallas.triton", exc_type=ImportError)

from unmasq.codes import get_code
from unmasq.codes.tanner_graph import labelled_graph
from unmasq.models import NetworkConfig, kernels
from unmasq.models.blocks import MessageBlock
from unmasq.models.kernels import products
from unmasq.models.kernels.arithmetic import gelu, gelu_slope, normalised
from unmasq.models.kernels.tables import Routes
from unmasq.models.messages import Wires

BATCH, WIDTH, HIDDEN, MESSAGE = 32, 32, 64, 16
# Two tiles, several chunks; 5 does not divide the 18 steps of a weight's gradient.
SMALL = products.Tiling(16, 8, 4, 2, splits=5)


@pytest.fixture
def interpreted(monkeypatch):
    monkeypatch.setattr(products, "INTERPRETED", True)
    monkeypatch.setattr(products, "TILINGS", dict.fromkeys(products.TILINGS, SMALL))


@pytest.fixture(scope="module")
def wires():
    return Wires(get_code("bb18").schedule.tanner_graph())


def block_of(wires, norm="post", biases=False):
    config = NetworkConfig(
        width=WIDTH,
        feedforward=HIDDEN,
        heads=1,
        norm=norm,
        biases=biases,
        mixing="messages",
        message_width=MESSAGE,
    )
    return MessageBlock(config, wires, key=jr.key(0))


def value_and_gradients(run, block, x, g):
    return jax.jit(jax.value_and_grad(lambda *a: jnp.vdot(run(*a), g), (0, 1)))(block, x)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_kernels_agree_with_the_block_in_value_and_all_gradients(interpreted, wires, norm):
    block = block_of(wires, norm)
    x, g = (jr.normal(jr.key(seed), (18, BATCH, WIDTH)) for seed in (1, 2))
    got = value_and_gradients(lambda block, x: block.by_kernels(x, wires.routes), block, x, g)
    want = value_and_gradients(lambda block, x: block(x, wires), block, x, g)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    assert len(jax.tree.leaves(got)) == 10  # the value, eight matrices and x
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert jnp.linalg.norm(a - b) <= 2e-6 * jnp.linalg.norm(b) + 1e-4 * (a.ndim == 0)


def test_a_table_turned_round_is_the_same_sum(wires):
    for exchange in wires.routes:
        forth = {
            (source, out, matrix)
            for out, row in enumerate(zip(*exchange.forth, strict=True))
            for source, matrix in zip(*row, strict=True)
        }
        back = {
            (source, out, matrix)
            for source, row in enumerate(zip(*exchange.back, strict=True))
            for out, matrix in zip(*row, strict=True)
        }
        pairs = {
            (source, out, matrix)
            for matrix, rows in enumerate(exchange.pairs)
            for source, out in rows
        }
        assert forth == back == pairs
        assert len(forth) == exchange.forth.source.size


def test_checks_that_are_not_in_the_order_of_their_groups_are_found(interpreted):
    """X and Z checks in turn: no graph of ours has them so."""
    size = 4
    check = np.repeat(np.arange(2 * size), 2)
    qubit = np.stack([np.arange(2 * size) // 2, (np.arange(2 * size) // 2 + 1) % size], 1).ravel()
    labels = [f"{'XZ'[c % 2]}{side}" for c in range(2 * size) for side in (1, 2)]
    wires = Wires(labelled_graph(check, qubit, labels, 2 * size, size))
    assert wires.site is not None
    assert wires.routes is not None
    block = block_of(wires)
    x = jr.normal(jr.key(1), (2 * size, BATCH, WIDTH))
    found = eqx.filter_jit(block.by_kernels)(x, wires.routes)
    np.testing.assert_allclose(found, eqx.filter_jit(block)(x, wires), atol=1e-5)


def test_a_graph_with_a_boundary_has_no_routes():
    row = labelled_graph(np.array([0, 0, 1]), np.array([0, 1, 1]), ["X1", "X2", "Z1"], 2, 2)
    assert Routes.of(Wires(row)) is None


def test_a_graph_with_more_checks_of_one_type_has_no_routes():
    """One X check on both qubits, a Z check on each: no neighbour is missing, sizes differ."""
    check, qubit = np.array([0, 1, 2, 3]), np.array([0, 1, 0, 1])
    labels = ["X1", "X1", "Z1", "Z1"]
    assert Routes.of(Wires(labelled_graph(check, qubit, labels, 4, 2))) is not None
    check, qubit = np.array([0, 0, 1, 2]), np.array([0, 1, 0, 1])
    wires = Wires(labelled_graph(check, qubit, ["X1", "X2", "Z1", "Z1"], 3, 2))
    assert Routes.of(wires) is None


def test_constant_rows_give_no_nan(interpreted):
    x = jnp.full((2, 16, 32), 3.0, jnp.bfloat16)
    zeros = jnp.zeros((32, 64), jnp.bfloat16)
    out, inverse = products.feedforward(x, zeros, zeros.T)
    assert not np.asarray(out, np.float32).any()
    np.testing.assert_allclose(inverse, 1e-5**-0.5, rtol=1e-6)
    g = jax.grad(lambda x: normalised(x)[0].sum())(x.astype(jnp.float32))
    assert np.isfinite(g).all()


def test_gelu_and_its_slope_are_those_of_jax():
    x = jnp.linspace(-6.0, 6.0, 101)
    np.testing.assert_allclose(gelu(x), jax.nn.gelu(x), atol=1e-5)
    np.testing.assert_allclose(gelu_slope(x), jax.vmap(jax.grad(jax.nn.gelu))(x), atol=1e-5)


def test_kernels_serve_only_what_they_were_measured_for(monkeypatch, wires):
    x = jnp.zeros((18, 128, 64), jnp.bfloat16)
    assert not kernels.serve(x, wires.routes, 128)  # no such GPU here
    monkeypatch.setattr(kernels, "on_such_a_gpu", lambda: True)
    assert kernels.serve(x, wires.routes, 128)
    assert not kernels.serve(x, None, 128)
    assert not kernels.serve(x.astype(jnp.float32), wires.routes, 128)
    assert not kernels.serve(x[:, :64], wires.routes, 128)
    assert not kernels.serve(x, wires.routes, 96)
    assert not kernels.serve(x[..., :32], wires.routes, 128)
    monkeypatch.setenv("UNMASQ_KERNELS", "0")
    assert not kernels.serve(x, wires.routes, 128)


def test_batches_fit_every_tile():
    assert all(kernels.ALIGNED % tiling.rows == 0 for tiling in products.TILINGS.values())


def test_a_block_asks_its_kernels_where_they_serve(interpreted, monkeypatch, wires):
    monkeypatch.setattr("unmasq.models.blocks.serve", lambda *_: True)
    block = block_of(wires)
    x = jr.normal(jr.key(1), (18, BATCH, WIDTH))
    assert "pallas_call" in str(jax.make_jaxpr(lambda x: block(x, wires))(x))
    told = block_of(wires, biases=True)  # scales and shifts: not without them
    assert "pallas_call" not in str(jax.make_jaxpr(lambda x: told(x, wires))(x))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_kernels_lower_to_triton_at_full_size(wires, norm):
    """Shapes and types only; that the compiler takes them is seen on a GPU."""
    config = NetworkConfig(
        width=256,
        feedforward=512,
        heads=1,
        norm=norm,
        biases=False,
        mixing="messages",
        message_width=128,
    )
    block = MessageBlock(config, wires, key=jr.key(0))
    block = jax.tree.map(lambda a: a.astype(jnp.bfloat16) if eqx.is_inexact_array(a) else a, block)
    x = jnp.zeros((18, 128, 256), jnp.bfloat16)
    run = jax.jit(jax.grad(lambda x: block.by_kernels(x, wires.routes).astype("float32").sum()))
    try:
        lowered = run.trace(x).lower(lowering_platforms=("cuda",))
    except RuntimeError as error:  # of jax 0.11 on: it asks the device for its capability
        pytest.skip(str(error))
    assert "triton" in lowered.as_text()
