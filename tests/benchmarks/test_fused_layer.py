"""Trial kernels beside the block they stand for, interpreted on a CPU."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

pytest.importorskip("jax.experimental.pallas.triton", exc_type=ImportError)

from fused_block import KERNELS, fused_block
from fused_cases import CANDIDATES, Setting, cases
from fused_kernels import Tiling, feedforward
from fused_layer import NarrowNorm
from fused_math import normalised
from fused_tables import Parameters, Routes

from unmasq.codes.tanner_graph import labelled_graph
from unmasq.models.blocks import MessageBlock
from unmasq.models.layers import LayerNorm
from unmasq.models.messages import Messages, Wires

SMALL = Setting("bb18", 32, 32, 64, 16, True)
TILING = Tiling(16, 8, 4, 2, splits=5)  # 5 does not divide the 18 steps of a weight's gradient
PLANS = {"by kernels": dict.fromkeys(KERNELS, TILING), "by XLA": {}}


@pytest.fixture(scope="module")
def plain():
    return SMALL.block()


def value_and_gradients(run, block, x, g):
    return jax.jit(jax.value_and_grad(lambda *a: jnp.vdot(run(*a), g), (0, 1)))(block, x)


@pytest.mark.parametrize("plan", PLANS)
def test_kernels_agree_with_the_block_in_value_and_all_gradients(plain, plan):
    block, wires = plain
    shape = (18, SMALL.batch, SMALL.width)
    x, g = (jr.normal(jr.key(seed), shape) for seed in (1, 2))
    fused = fused_block(Routes.of(wires), PLANS[plan], interpret=True)
    got = value_and_gradients(lambda block, x: fused(Parameters.of(block), x), block, x, g)
    want = value_and_gradients(lambda block, x: block(x, wires), block, x, g)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    assert len(jax.tree.leaves(got)) == 10  # the value, eight matrices and x
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert jnp.linalg.norm(a - b) <= 2e-6 * jnp.linalg.norm(b) + 1e-4 * (a.ndim == 0)


def test_a_table_turned_round_twice_is_the_same_sum(plain):
    for table in Routes.of(plain[1]):
        terms = np.sort(table.source * 100 + table.matrix, axis=1)
        again = table.turned().turned()
        np.testing.assert_array_equal(np.sort(again.source * 100 + again.matrix, axis=1), terms)
        source, out = table.pairs().transpose(2, 0, 1)
        assert len(set(zip(source.ravel(), out.ravel(), strict=True))) == table.source.size


def test_checks_that_are_not_in_the_order_of_their_groups_are_found():
    """X and Z checks in turn: no graph of ours has them so."""
    size = 4
    check = np.repeat(np.arange(2 * size), 2)
    qubit = np.stack([np.arange(2 * size) // 2, (np.arange(2 * size) // 2 + 1) % size], 1).ravel()
    labels = [f"{'XZ'[c % 2]}{side}" for c in range(2 * size) for side in (1, 2)]
    wires = Wires(labelled_graph(check, qubit, labels, 2 * size, size))
    assert wires.site is not None
    assert wires.full
    x = jr.normal(jr.key(1), (2 * size, SMALL.batch, SMALL.width))
    config_block, _ = SMALL.block()
    block = rewired(config_block, wires)
    got = fused_block(Routes.of(wires), PLANS["by kernels"], interpret=True)(
        Parameters.of(block), x
    )
    np.testing.assert_allclose(got, block(x, wires), atol=1e-5)


def rewired(block: MessageBlock, wires: Wires) -> MessageBlock:
    """The block with messages along other wires."""
    mixing = Messages(SMALL.width, SMALL.message, wires, key=jr.key(5))
    return eqx.tree_at(lambda block: block.mixing, block, mixing)


def test_a_graph_with_a_boundary_is_refused():
    row = labelled_graph(np.array([0, 0, 1]), np.array([0, 1, 1]), ["X1", "X2", "Z1"], 2, 2)
    with pytest.raises(ValueError, match="as many neighbours: got {1, 2} of checks, {1, 2} of q"):
        Routes.of(Wires(row))


def test_constant_rows_give_no_nan():
    x = jnp.full((2, 16, 32), 3.0, jnp.bfloat16)
    zeros = jnp.zeros((32, 64), jnp.bfloat16)
    for tiling in (None, TILING):
        out, inverse = feedforward(x, zeros, zeros.T, tiling=tiling, interpret=True)
        assert not np.asarray(out, np.float32).any()
        np.testing.assert_allclose(inverse, 1e-5**-0.5, rtol=1e-6)
    g = jax.grad(lambda x: normalised(x)[0].sum())(x.astype(jnp.float32))
    assert np.isfinite(g).all()


def test_the_norm_in_bfloat16_is_the_norm_to_its_digits():
    x = jr.normal(jr.key(0), (4, 32), jnp.bfloat16)
    wide = np.asarray(LayerNorm(32, bias=False)(x), np.float32)
    np.testing.assert_allclose(np.asarray(NarrowNorm()(x), np.float32), wide, atol=0.05)


@pytest.mark.filterwarnings("ignore:The Pallas Triton backend is deprecated")
def test_kernels_of_each_form_lower_to_triton_at_full_size():
    """Shapes and types only; that the compiler takes them is seen on a GPU."""
    made = cases(Setting("bb18", 256))
    assert set(made) == set(KERNELS) == set(CANDIDATES)
    for name in ("to_checks", "to_qubits_gradient", "feedforward_backward"):
        case = made[name]()
        run = jax.jit(case.call(CANDIDATES[name][0]))
        try:
            lowered = run.trace(*case.inputs).lower(lowering_platforms=("cuda",))
        except RuntimeError as error:  # of jax 0.11 on: it asks the device for its capability
            pytest.skip(str(error))
        assert "triton" in lowered.as_text()
