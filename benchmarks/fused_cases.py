"""What `fused_layer.py` measures: each kernel's inputs, reference and tilings."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from fused_kernels import (
    Tiling,
    feedforward,
    feedforward_backward,
    gathered_product,
    norm_backward,
    weight_gradient,
)
from fused_tables import Parameters, Routes

from unmasq.codes import get_code
from unmasq.models import NetworkConfig
from unmasq.models.blocks import MessageBlock
from unmasq.models.layers import cast_floats
from unmasq.models.messages import Wires

BFLOAT16 = jnp.dtype(jnp.bfloat16)
GROUPS = {
    "to": ("reduce", "to_qubits", "to_checks"),
    "from": ("norm_backward", "from_checks", "from_qubits", "expand"),
    "gradients": ("reduce_gradient", "to_qubits_gradient", "to_checks_gradient"),
    "feedforward": ("feedforward", "feedforward_backward"),
}
# An index counts as one level of a pipeline: 3 or 4 stages fetch one chunk ahead, 5 or 6 two.
NARROW = (  # products to a width of 128
    Tiling(64, 64, 4, 5),
    Tiling(128, 64, 8, 5),
    Tiling(256, 64, 8, 3),
    Tiling(128, 64, 8, 3),
    Tiling(64, 64, 4, 3),
    Tiling(128, 128, 8, 3),
)
CANDIDATES: dict[str, tuple[Tiling, ...]] = {
    "reduce": NARROW[:5],
    "to_qubits": (*NARROW, NARROW[0]._replace(quick=True)),
    "to_checks": (
        Tiling(64, 64, 4, 3),
        Tiling(128, 64, 8, 5),
        Tiling(64, 64, 8, 5),
        Tiling(128, 64, 8, 3),
        Tiling(64, 64, 8, 3),
        Tiling(128, 32, 8, 5),
    ),
    "norm_backward": (Tiling(32, 1, 4, 1), Tiling(16, 1, 4, 1), Tiling(32, 1, 8, 1)),
    "from_checks": (*NARROW, NARROW[0]._replace(quick=True)),
    "from_qubits": NARROW,
    "expand": (
        Tiling(64, 64, 8, 2),
        Tiling(64, 64, 4, 2),
        Tiling(128, 64, 8, 2),
    ),
    "reduce_gradient": (
        Tiling(64, 1, 8, 3, 66),
        Tiling(64, 1, 16, 5, 66),
        Tiling(32, 1, 8, 5, 66),
    ),
    "to_qubits_gradient": (
        Tiling(64, 1, 8, 5, 11),
        Tiling(64, 1, 4, 3, 22),
        Tiling(128, 1, 8, 3, 11),
        Tiling(64, 1, 8, 3, 22),
    ),
    "to_checks_gradient": (
        Tiling(64, 1, 8, 3, 11),
        Tiling(64, 1, 16, 3, 11),
        Tiling(64, 1, 8, 5, 11),
        Tiling(32, 1, 8, 5, 11),
        Tiling(64, 1, 8, 3, 22),
    ),
    "feedforward": (
        Tiling(64, 64, 8, 2),
        Tiling(64, 64, 8, 2, quick=True),
        Tiling(64, 32, 4, 2),
        Tiling(128, 64, 8, 2),
        Tiling(64, 32, 8, 3),
        Tiling(64, 64, 8, 1),
        Tiling(64, 128, 8, 1),
        Tiling(128, 32, 8, 3, quick=True),
    ),
    "feedforward_backward": (
        Tiling(64, 32, 8, 2),
        Tiling(64, 32, 8, 2, quick=True),
        Tiling(64, 64, 8, 1),
        Tiling(128, 32, 8, 1),
        Tiling(64, 32, 8, 1),
        Tiling(64, 32, 4, 1),
        Tiling(64, 32, 8, 3),
        Tiling(32, 32, 4, 2),
    ),
}


class Setting(NamedTuple):
    code: str
    batch: int
    width: int = 256
    hidden: int = 512
    message: int = 128
    interpret: bool = False

    def block(self) -> tuple[MessageBlock, Wires]:
        config = NetworkConfig(
            width=self.width,
            feedforward=self.hidden,
            heads=1,
            biases=False,
            mixing="messages",
            message_width=self.message,
        )
        wires = Wires(get_code(self.code).schedule.tanner_graph())
        return MessageBlock(config, wires, key=jr.key(0)), wires

    def input(self, wires: Wires, seed: int = 1) -> jax.Array:
        shape = (wires.check_groups[-1].stop, self.batch, self.width)
        return jr.normal(jr.key(seed), shape, jnp.bfloat16)

    def flops(self, wires: Wires) -> int:
        """Of the products of a block, forward."""
        b, d = self.message, self.width
        checks, degree = np.shape(wires.qubit_of)[0], len(wires.check_groups[0].relations)
        each = d * b + degree * b * (b + d) + 2 * d * self.hidden
        return 2 * self.batch * checks * each


class Case(NamedTuple):
    """A kernel alone: `call(tiling)` is a function of `inputs`."""

    call: Callable[[Tiling | None], Callable]
    inputs: tuple[jax.Array, ...]
    flops: int


def cases(setting: Setting) -> dict[str, Callable[[], Case]]:
    """All kernels with random inputs, made when they are asked for."""
    block, wires = setting.block()
    routes, flip = Routes.of(wires), setting.interpret
    turned = Routes(*(table.turned() for table in routes))
    weights = cast_floats(Parameters.of(block), BFLOAT16)
    b, d, h, batch = setting.message, setting.width, setting.hidden, setting.batch
    sites, qubits = len(routes.to_checks.source), len(routes.to_qubits.source)

    def some(rows: int, width: int, seed: int) -> jax.Array:
        return jr.normal(jr.key(seed), (rows, batch, width), jnp.bfloat16)

    def product(table: Any, matrices: jax.Array, rows: int, *finish: Any) -> Callable[[], Case]:
        slots, (inner, width) = table.source.shape[1], matrices.shape[1:]

        def make() -> Case:
            extra = (some(len(table.source), width, 3),) if finish[1:] else ()
            return Case(
                lambda tiling: (
                    lambda rows, w, *extra: gathered_product(
                        rows, w, table, *finish[:1], *extra, tiling=tiling, interpret=flip
                    )
                ),
                (some(rows, inner, 2), matrices, *extra),
                2 * batch * len(table.source) * slots * inner * width,
            )

        return make

    def gradient(table: Any, rows: int, inner: int, width: int) -> Callable[[], Case]:
        return lambda: Case(
            lambda tiling: (
                lambda rows, g: (weight_gradient(rows, g, table, tiling=tiling, interpret=flip),)
            ),
            (some(rows, inner, 2), some(len(table.source), width, 3)),
            2 * batch * table.source.size * inner * width,
        )

    def norm() -> Case:
        inverse = jr.uniform(jr.key(4), (sites, batch), jnp.float32, 0.5, 2.0)
        return Case(
            lambda tiling: lambda *a: (norm_backward(*a, tiling=tiling, interpret=flip),),
            (some(sites, d, 2), some(sites, d, 3), inverse),
            0,
        )

    def hidden() -> Case:
        return Case(
            lambda tiling: lambda *a: feedforward(*a, tiling=tiling, interpret=flip),
            (some(sites, d, 2), weights.up, weights.down),
            4 * batch * sites * d * h,
        )

    def hidden_backward() -> Case:
        return Case(
            lambda tiling: lambda *a: feedforward_backward(*a, tiling=tiling, interpret=flip),
            (some(sites, d, 2), some(sites, d, 3), weights.up, weights.down),
            6 * batch * sites * d * h,
        )

    reduce, to_qubits, to_checks = (
        jnp.swapaxes(w, 1, 2) for w in (weights.reduce, weights.to_qubits, weights.to_checks)
    )
    return {
        "reduce": product(routes.reduce, weights.reduce, sites),
        "to_qubits": product(routes.to_qubits, weights.to_qubits, sites, "gelu"),
        "to_checks": product(routes.to_checks, weights.to_checks, qubits, "norm", "residual"),
        "norm_backward": norm,
        "from_checks": product(turned.to_checks, to_checks, sites, "slope", "before"),
        "from_qubits": product(turned.to_qubits, to_qubits, qubits),
        "expand": product(turned.reduce, reduce, sites, "add", "residual"),
        "reduce_gradient": gradient(routes.reduce, sites, d, b),
        "to_qubits_gradient": gradient(routes.to_qubits, sites, b, b),
        "to_checks_gradient": gradient(routes.to_checks, qubits, b, d),
        "feedforward": hidden,
        "feedforward_backward": hidden_backward,
    }


# Measuring.
