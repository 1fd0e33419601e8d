"""The masked denoiser: syndrome and partly hidden logicals in, log-odds of each logical out."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Int, Int32, PRNGKeyArray, UInt8

from unmasq.diffusion.masking import NUM_TOKENS
from unmasq.models.attention import TieExpander
from unmasq.models.beliefs import Attempt, BpOutcome
from unmasq.models.blocks import Block
from unmasq.models.config import NetworkConfig
from unmasq.models.encoder import RecurrentEncoder
from unmasq.models.geometry import Geometry
from unmasq.models.layers import LayerNorm, Linear
from unmasq.models.views import moved


class EncodedShots(NamedTuple):
    """What the denoiser reads of shots, and which logicals and syndromes it means by them.

    A network that starts from belief propagation's guess speaks of what that left: the sum of the
    logicals and `guess`, under the `syndrome` of guess and error together.
    """

    memory: Float[Array, "rows S d"]  # each shot once, or as often as it has views
    syndrome: UInt8[Array, "B M"]
    guess: UInt8[Array, "B K"] | None


class Guess(NamedTuple):
    """The logicals that belief propagation's guess flips, and whether it explains the syndrome."""

    logicals: UInt8[Array, "B K"]
    solved: Bool[Array, " B"]


class MaskedDenoiser(eqx.Module):
    """Encode once, denoise many times: the encoder does not see the logicals.

    Decoder blocks run on (E(l_t), M_R); a linear head reads log-odds off the logical tokens. In a
    still decoder M_R is the same in every block: what it tells the tokens is computed once.
    """

    encoder: RecurrentEncoder
    token_embedding: Float[Array, "3 d"]
    blocks: list[Block]
    place_weights: list[Float[Array, " V"]] | None
    final_norm: LayerNorm | None  # pre-norm networks only
    head: Linear
    places: TieExpander
    num_logicals: int = eqx.field(static=True)
    still: bool = eqx.field(static=True)

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
        self.still = config.decoder == "still"
        ties = geometry.readout_ties if self.still else geometry.joint_ties
        self.places = TieExpander(ties(config.ties == "tied"))
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

    def told(self, rates: Float[Array, "frames n S F"]) -> "MaskedDenoiser":
        """The network for shots of these rates (`problems.rates`): of all, S = 1, or of each."""
        return eqx.tree_at(
            lambda net: net.encoder.rates, self, rates, is_leaf=lambda leaf: leaf is None
        )

    def encode(
        self, syndrome: UInt8[Array, "B M"], last_frame: Int32[Array, " B"] | None = None
    ) -> Float[Array, "n B d"]:
        """The checks' hidden state after all frames, or after each shot's `last_frame`."""
        return self.encoder(syndrome, last_frame)

    def begin(
        self,
        syndrome: UInt8[Array, "B M"],
        sources: Int32[Array, "E n"] | None = None,
        outcome: BpOutcome | None = None,
    ) -> EncodedShots:
        """Encodes shots; says what the denoiser's logicals are, if not the shots' own.

        With `sources`, each shot is seen in E ways: see `recall`. `outcome` where it is known.
        """
        if outcome is None and self.encoder.bp_embedding is not None:
            outcome = self.encoder.run_bp(syndrome)
        memory = self.recall(self.encoder(syndrome, outcome=outcome), sources)
        if outcome is None or not self.encoder.decodes_rest:
            return EncodedShots(memory, syndrome, None)
        residual = self.encoder.syndrome_of(outcome.residual, syndrome.shape[1])
        return EncodedShots(memory, residual, outcome.guess)

    def guess(self, syndrome: UInt8[Array, "B M"], attempt: Attempt | None = None) -> Guess | None:
        """What belief propagation says, for networks that begin with it; see `run_bp`."""
        outcome = self.encoder.run_bp(syndrome, attempt)
        if outcome is None:
            return None
        return Guess(outcome.guess, outcome.solved)

    def recall(
        self, encoded: Float[Array, "n B d"], sources: Int32[Array, "E n"] | None = None
    ) -> Float[Array, "rows S d"]:
        """What `denoise` reads of encoded shots: once per shot, however often it is asked.

        Here their last frame is known to be the last one: the encoder's closing blocks follow it.

        With `sources`, each shot is seen in E ways (S = B E, shots outermost): check i of the e-th
        is check `sources[e, i]` of the shot.
        """
        encoded = self.encoder.close(encoded)
        if not self.still:
            return encoded if sources is None else moved(encoded, sources)
        found = [
            block.recall(encoded, self.places, self._weights_of(number), sources)
            for number, block in enumerate(self.blocks)
        ]
        return jnp.concatenate(found)

    def denoise(
        self, memory: Float[Array, "rows B d"], tokens: Int[Array, "B K"]
    ) -> Float32[Array, "B K"]:
        """Log-odds that each logical is 1, given the shown ones."""
        one_hot = jax.nn.one_hot(tokens.T, NUM_TOKENS, dtype=memory.dtype)
        shown = jnp.einsum("kbv,vd->kbd", one_hot, self.token_embedding)
        x = self._beside(shown, memory) if self.still else self._joined(shown, memory)
        if self.final_norm is not None:
            x = self.final_norm(x)
        return self.head(x)[:, :, 0].T.astype(jnp.float32)

    def _joined(
        self, shown: Float[Array, "K B d"], encoded: Float[Array, "n B d"]
    ) -> Float[Array, "K B d"]:
        """Tokens and checks move together."""
        x = jnp.concatenate([shown, encoded])
        for number, block in enumerate(self.blocks):
            # Nothing reads the checks after the last block.
            rows = self.num_logicals if block is self.blocks[-1] else None
            x = block(x, self.places, self._weights_of(number), rows)
        return x

    def _beside(
        self, shown: Float[Array, "K B d"], recalled: Float[Array, "rows B d"]
    ) -> Float[Array, "K B d"]:
        """Only the tokens move."""
        x, size = shown, self.num_logicals
        for number, block in enumerate(self.blocks):
            told = recalled[number * size : (number + 1) * size]
            x = block.among(x, told, self.places, self._weights_of(number))
        return x

    def _weights_of(self, number: int) -> Float[Array, " V"] | None:
        return None if self.place_weights is None else self.place_weights[number]
