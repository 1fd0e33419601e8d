"""The masked denoiser: syndrome and partly hidden logicals in, log-odds of each logical out."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Int, Int32, PRNGKeyArray, UInt8

from unmasq.diffusion.masking import NUM_TOKENS
from unmasq.models.attention import Places
from unmasq.models.blocks import Block
from unmasq.models.config import NetworkConfig
from unmasq.models.encoder import RecurrentEncoder
from unmasq.models.geometry import Geometry
from unmasq.models.layers import LayerNorm, Linear


class Beginning(NamedTuple):
    """Encoded shots, and which logicals and syndromes the denoiser means by them.

    A network that begins with belief propagation speaks of what the guess left: the sum of the
    logicals and `guess`, under the `syndrome` of guess and error together.
    """

    memory: Float[Array, "n B d"]
    syndrome: UInt8[Array, "B M"]
    guess: UInt8[Array, "B K"] | None


class Guess(NamedTuple):
    """The logicals that belief propagation's guess flips, and whether it explains the syndrome."""

    logicals: UInt8[Array, "B K"]
    solved: Bool[Array, " B"]


class MaskedDenoiser(eqx.Module):
    """Encode once, denoise many times: the encoder does not see the logicals.

    Decoder blocks run on (E(l_t), M_R); a linear head reads log-odds off the logical tokens.
    """

    encoder: RecurrentEncoder
    token_embedding: Float[Array, "3 d"]
    blocks: list[Block]
    place_weights: list[Float[Array, " V"]] | None
    final_norm: LayerNorm | None  # pre-norm networks only
    head: Linear
    places: Places
    num_logicals: int = eqx.field(static=True)

    def __init__(
        self,
        config: NetworkConfig,
        geometry: Geometry,
        code_weights: np.ndarray | None = None,
        *,
        key: PRNGKeyArray,
    ):
        encoder_key, token_key, head_key, *block_keys = jr.split(key, 3 + config.decoder_layers)
        self.encoder = RecurrentEncoder(config, geometry, code_weights, key=encoder_key)
        self.places = Places(geometry.joint_ties(config.ties == "tied"))
        self.token_embedding = jr.normal(token_key, (NUM_TOKENS, config.width))
        self.blocks = [Block(config, self.places, key=block_key) for block_key in block_keys]
        self.place_weights = (
            [jnp.ones((self.places.num_values,)) for _ in self.blocks]
            if config.place_weights
            else None
        )
        self.final_norm = (
            LayerNorm(config.width, bias=config.biases) if config.norm == "pre" else None
        )
        self.head = Linear(config.width, 1, key=head_key)
        self.num_logicals = geometry.num_logicals

    @property
    def knows_no_rounds(self) -> bool:
        """Whether no weight belongs to one frame, so that any number of rounds can be encoded."""
        return bool(self.encoder.blocks) and self.encoder.code_weights is None

    def encode(
        self, syndrome: UInt8[Array, "B M"], last_frame: Int32[Array, " B"] | None = None
    ) -> Float[Array, "n B d"]:
        """The checks' hidden state after all frames, or after each shot's `last_frame`."""
        return self.encoder(syndrome, last_frame)

    def begin(self, syndrome: UInt8[Array, "B M"]) -> Beginning:
        """Encodes shots; says what the denoiser's logicals are, if not the shots' own."""
        believed = self.encoder.believe(syndrome)
        memory = self.encoder(syndrome, believed=believed)
        if believed is None:
            return Beginning(memory, syndrome, None)
        (sites,) = self.encoder.grid  # one frame: the detector at each site
        left = jnp.zeros_like(syndrome).at[:, sites].set(believed.left.T)
        return Beginning(memory, left, believed.guess)

    def guess(self, syndrome: UInt8[Array, "B M"]) -> Guess | None:
        """What belief propagation says, for networks that begin with it."""
        believed = self.encoder.believe(syndrome)
        if believed is None:
            return None
        return Guess(believed.guess, jnp.all(believed.left == 0, axis=0))

    def denoise(
        self, memory: Float[Array, "n B d"], tokens: Int[Array, "B K"]
    ) -> Float32[Array, "B K"]:
        """Log-odds that each logical is 1, given the shown ones."""
        one_hot = jax.nn.one_hot(tokens.T, NUM_TOKENS, dtype=memory.dtype)
        shown = jnp.einsum("kbv,vd->kbd", one_hot, self.token_embedding)
        x = jnp.concatenate([shown, memory])
        for number, block in enumerate(self.blocks):
            weights = None if self.place_weights is None else self.place_weights[number]
            # Nothing reads the checks after the last block.
            rows = self.num_logicals if block is self.blocks[-1] else None
            x = block(x, self.places, weights, rows)
        if self.final_norm is not None:
            x = self.final_norm(x)
        return self.head(x)[:, :, 0].T.astype(jnp.float32)
