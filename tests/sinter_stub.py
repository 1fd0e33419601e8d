"""Our sinter adapter around a network that never predicts a flip, for error models of any size.

sinter's suite imports this module by name, and so do the worker processes it starts.
"""

import jax.numpy as jnp

from stub_network import StubNetwork
from unmasq.decoding.diffusion_decoder import DiffusionDecoder
from unmasq.decoding.identity import Identity
from unmasq.decoding.sinter_adapter import SinterDecoder
from unmasq.problems.problem import DecodingProblem


class NeverFlips(StubNetwork):
    """Sure of every 0, the more so the more detectors fired."""

    def encode(self, syndrome):
        return jnp.sum(syndrome.astype(jnp.float32), axis=1)[None, :, None]

    def denoise(self, memory, tokens):
        return jnp.broadcast_to(-1 - memory[0], tokens.shape)


class StubModel:
    """Finds a stub for every structure, as `OneModel` finds weights for one."""

    def __call__(self, problem: DecodingProblem) -> DiffusionDecoder:
        size = problem.num_logicals
        identity = Identity(
            "stub", "5" * 64, problem.structure_id, "masked", size, problem.num_detectors, size
        )
        return DiffusionDecoder(NeverFlips(), identity)


def decoders() -> dict[str, SinterDecoder]:
    """sinter expects no accuracy of a decoder whose name says vacuous."""
    return {"unmasq-vacuous-stub": SinterDecoder(StubModel())}
