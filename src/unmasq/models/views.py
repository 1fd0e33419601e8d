"""One encoded shot several times, each perhaps as another translate of it.

A tied encoder is equivariant: the hidden state of a translated shot is the translated hidden state,
so translates cost no encoding. Their logicals are other sums of the same ones. Training hides bits
of several views of a shot; a decoder may let them vote.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, Int32, UInt8

from unmasq.problems.translates import Translates


class Views(eqx.Module):
    """Shots as the elements of a symmetry see them."""

    sources: Int32[Array, "G n"]
    logical_maps: Float32[Array, "G K K"]
    flip_maps: Float32[Array, "G K n"]
    check: Int32[Array, " M"]

    def __init__(self, translates: Translates):
        self.sources = jnp.asarray(translates.sources)
        self.logical_maps = jnp.asarray(translates.logical_maps, jnp.float32)
        self.flip_maps = jnp.asarray(translates.flip_maps, jnp.float32)
        self.check = jnp.asarray(translates.check)

    @property
    def order(self) -> int:
        return len(self.sources)

    def __call__(
        self,
        logicals: UInt8[Array, "B K"],
        flips: Float32[Array, "B n"],
        elements: Int32[Array, " E"],
    ) -> UInt8[Array, "S K"]:
        """Logicals of each shot under each of the elements, shots outermost."""
        moved = jnp.einsum("ekl,bl->bek", self.logical_maps[elements], logicals.astype(jnp.float32))
        parity = jnp.mod(moved + self.offsets(flips, elements), 2).astype(jnp.uint8)
        return parity.reshape(-1, logicals.shape[1])

    def flips(self, syndrome: UInt8[Array, "B M"]) -> Float32[Array, "B n"]:
        """How often each check flips in a shot."""
        sums = jax.nn.one_hot(self.check, self.sources.shape[1], dtype=jnp.float32)
        return jnp.einsum("bm,mn->bn", syndrome.astype(jnp.float32), sums)

    def offsets(
        self, flips: Float32[Array, "B n"], elements: Int32[Array, " E"]
    ) -> Float32[Array, "B E K"]:
        """chi f, as whole numbers: what the check flips add to the logicals."""
        return jnp.einsum("ekn,bn->bek", self.flip_maps[elements], flips)


def moved(memory: Float[Array, "n B d"], sources: Int32[Array, "E n"]) -> Float[Array, "n S d"]:
    """Hidden state of each shot with check `sources[e, i]` in place i, for each e."""
    size = memory.shape[0]
    # Products with 0/1 matrices: the gradient of a gather would be a scatter.
    moves = jax.nn.one_hot(sources, size, dtype=memory.dtype)
    return jnp.einsum("eij,jbd->ibed", moves, memory).reshape(size, -1, memory.shape[2])


def repeated(
    memory: Float[Array, "n B d"], logicals: UInt8[Array, "B K"], times: int
) -> tuple[Float[Array, "n S d"], UInt8[Array, "S K"]]:
    """Each shot `times` times in a row, so that shots stay on the device that has them."""
    return jnp.repeat(memory, times, axis=1), jnp.repeat(logicals, times, axis=0)
