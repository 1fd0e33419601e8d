"""The recurrent encoder: frames of check bits in, one hidden state for each check out."""

import dataclasses
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray, UInt8

from unmasq.codes.symmetry import Indices, TieTable
from unmasq.models.attention import TieExpander
from unmasq.models.beliefs import Attempt, BeliefEmbedding, BpOutcome
from unmasq.models.blocks import Block, MessageBlock
from unmasq.models.capacity_beliefs import CapacityBeliefs
from unmasq.models.circuit_beliefs import CircuitBeliefs
from unmasq.models.config import NetworkConfig
from unmasq.models.geometry import Geometry
from unmasq.models.messages import Wires
from unmasq.problems.rates import NUM_CLASSES


class CheckEmbedding(eqx.Module):
    """E(s): one vector for each kind of check and bit. Affine in the bit: nothing is gathered."""

    table: Float[Array, "kinds 2 d"]
    kind: Int32[Array | np.ndarray, " n"]

    def __init__(self, kinds: Indices, width: int, *, key: PRNGKeyArray):
        self.table = jr.normal(key, (int(kinds.max()) + 1, 2, width))
        self.kind = kinds

    def __call__(self, bits: UInt8[Array, "n B"]) -> Float[Array, "n B d"]:
        by_kind = jax.nn.one_hot(self.kind, self.table.shape[0], dtype=self.table.dtype)
        zero, one = jnp.einsum("nk,kvd->vnd", by_kind, self.table)
        return jnp.where(bits[:, :, None] == 1, one[:, None, :], zero[:, None, :])


class RateEmbedding(eqx.Module):
    """What is told of the rates around each check (`problems.rates`), as a vector by its kind.

    Zero at first: such a network begins as the one that is told nothing.
    """

    weight: Float[Array, "kinds F d"]
    kind: Int32[Array | np.ndarray, " n"]

    def __init__(self, kinds: Indices, width: int):
        self.weight = jnp.zeros((int(kinds.max()) + 1, NUM_CLASSES, width))
        self.kind = kinds

    def __call__(self, rates: Float[Array, "n S F"]) -> Float[Array, "n S d"]:
        by_kind = jax.nn.one_hot(self.kind, self.weight.shape[0], dtype=self.weight.dtype)
        weight = jnp.einsum("nk,kfd->nfd", by_kind, self.weight)
        return jnp.einsum("nsf,nfd->nsd", rates, weight)


class RecurrentEncoder(eqx.Module):
    """M_r = blocks(M_{r-1} + E(s_r)) for r = 0..R; E also embeds the rates, where they are told.

    Every block mixes the checks by attention A * K[r], or by messages, which know no frame. What
    the decoder reads is `close`(M_R), of which no later frame knows.
    """

    embedding: CheckEmbedding
    beliefs: CapacityBeliefs | CircuitBeliefs | None  # of networks that begin with BP ...
    bp_embedding: BeliefEmbedding | None  # ... and of those that are told of them
    decodes_rest: bool = eqx.field(static=True)  # of what BP leaves: its syndrome and logicals
    blocks: list[Block] | list[MessageBlock]
    closing_blocks: list[MessageBlock]  # after the last frame; none for attention
    code_weights: Float[Array, "frames V"] | None  # K[r]; None for messages or without blocks
    places: TieExpander | None  # of attention ...
    wires: Wires | None  # ... or of messages
    grid: Int32[Array | np.ndarray, "frames n"]  # detector at (frame, site), -1 for none
    rate_embedding: RateEmbedding | None  # networks that are told rates ...
    rates: Float[Array, "frames n S F"] | None  # ... S = 1 or each shot's own; None for nominal

    def __init__(
        self,
        config: NetworkConfig,
        geometry: Geometry,
        code_weights: np.ndarray | None,
        *,
        key: PRNGKeyArray,
    ):
        tied = config.ties == "tied"
        self.grid = geometry.layout.grid()
        embedding_key, *block_keys = jr.split(key, 1 + config.encoder_layers)
        # Child i of a split is `fold_in(key, i)`: the next number is the first that is free.
        told_key = jr.fold_in(key, 1 + config.encoder_layers)
        self.embedding = CheckEmbedding(geometry.check_kinds(tied), config.width, key=embedding_key)
        self.rates = self.rate_embedding = self.beliefs = self.bp_embedding = None
        self.decodes_rest = config.bp_use == "start"
        if config.told_rates:
            self.rate_embedding = RateEmbedding(geometry.check_kinds(tied), config.width)
        if config.bp_iterations:
            self.beliefs = _beliefs(config, geometry)
            if config.bp_use != "filter":
                self.bp_embedding = _bp_embedding(self.beliefs, config, geometry, told_key)
        if not block_keys and geometry.layout.num_frames != 1:
            raise ValueError(
                f"encoder_layers must be at least 1 for {geometry.layout.num_frames} frames: got 0."
            )
        self.places = self.wires = self.code_weights = None
        self.closing_blocks = []
        if config.mixing == "messages":
            self.wires = Wires(geometry.known_tanner())
            self.blocks = [MessageBlock(config, self.wires, key=part) for part in block_keys]
            # The norm comes first in these: after any weights, x + 0 is x; LN(x + 0) may not be.
            closing = dataclasses.replace(config, norm="pre")
            first_free = 2 + config.encoder_layers
            self.closing_blocks = [
                MessageBlock(closing, self.wires, key=jr.fold_in(key, first_free + i)).silent()
                for i in range(config.closing_layers)
            ]
            return
        table = geometry.check_ties(tied)
        self.places = TieExpander(table)
        self.blocks = [Block(config, self.places, key=part) for part in block_keys]
        if self.blocks:
            self.code_weights = _first_code_weights(code_weights, table, len(self.grid))

    def run_bp(
        self, syndrome: UInt8[Array, "B M"], attempt: Attempt | None = None
    ) -> BpOutcome | None:
        """What belief propagation makes of the shots, in the network's own way or another.

        None for networks that do not begin with it.
        """
        if self.beliefs is None:
            return None
        return self.beliefs(_frames_of(syndrome, jnp.asarray(self.grid)), attempt)

    def syndrome_of(self, bits: UInt8[Array, "frames n B"], size: int) -> UInt8[Array, "B M"]:
        """The bits at the places of all `size` detectors."""
        grid = jnp.asarray(self.grid).ravel()
        flat = bits.reshape(len(grid), -1)
        found = jnp.zeros((size, flat.shape[1]), bits.dtype)
        return found.at[jnp.where(grid < 0, size, grid)].set(flat, mode="drop").T

    def __call__(
        self,
        syndrome: UInt8[Array, "B M"],
        last_frame: Int32[Array, " B"] | None = None,
        outcome: BpOutcome | None = None,
    ) -> Float[Array, "n B d"]:
        """M_R, or M_r at each shot's own r = last_frame; `outcome` where it is known already."""

        def step(state: Array, frame: tuple) -> tuple[Array, None]:
            new = self.advance(state, *frame[1:])
            if last_frame is None:
                return new, None
            return jnp.where((frame[0] <= last_frame)[None, :, None], new, state), None

        return self._scan(step, syndrome, outcome=outcome)[0]

    def all_frames(
        self, syndrome: UInt8[Array, "B M"], count: int | None = None
    ) -> Float[Array, "count n B d"]:
        """M_r for every frame, or for the first `count` of them."""

        def step(state: Array, frame: tuple) -> tuple[Array, Array]:
            new = self.advance(state, *frame[1:])
            return new, new

        states = self._scan(step, syndrome, count)[1]
        assert states is not None
        return states

    def endings(
        self, frames: UInt8[Array, "B R n"], last: UInt8[Array, "B E n"], rounds: Sequence[int]
    ) -> Float[Array, "n S d"]:
        """M after each of E endings, S = E B, endings outermost; for networks of messages.

        The e-th comes after `rounds[e]` rounds: `last[:, e]` follows the frames before it.
        """
        state = self.blank(len(frames))
        states = []
        for r in range(rounds[-1]):
            state = self.advance(state, frames[:, r].T)
            if r + 1 in rounds:
                states.append(state)
        bits = last.transpose(2, 1, 0).reshape(last.shape[2], -1)
        return self.advance(jnp.concatenate(states, axis=1), bits)

    def _scan(
        self,
        step: Callable,
        syndrome: UInt8[Array, "B M"],
        count: int | None = None,
        outcome: BpOutcome | None = None,
    ) -> tuple[Array, Array | None]:
        grid = jnp.asarray(self.grid[:count])
        frames = len(grid)
        bits = _frames_of(syndrome, grid)
        state = self.blank(syndrome.shape[0])
        beliefs = None
        if self.bp_embedding is not None and outcome is None:
            outcome = self.run_bp(syndrome)
        if self.bp_embedding is not None and outcome is not None:
            beliefs = outcome.features[:frames]
            bits = outcome.residual[:frames] if self.decodes_rest else bits
        numbers = jnp.arange(frames, dtype=jnp.int32)
        # Unrolled: a loop would keep the compiler from fusing across frames.
        weights = None if self.code_weights is None else self.code_weights[:count]
        rates = None if self.rates is None else self.rates[:count]
        return jax.lax.scan(step, state, (numbers, bits, weights, rates, beliefs), unroll=frames)

    def blank(self, shots: int) -> Float[Array, "n B d"]:
        """The hidden state before the first frame."""
        table = self.embedding.table
        return jnp.zeros((self.grid.shape[1], shots, table.shape[-1]), table.dtype)

    def advance(
        self,
        state: Float[Array, "n B d"],
        bits: UInt8[Array, "n B"],
        weights: Float[Array, " V"] | None = None,
        rates: Float[Array, "n S F"] | None = None,
        beliefs: Float[Array, "S F B"] | None = None,
    ) -> Float[Array, "n B d"]:
        """M_r from M_{r-1} and the bits of frame r; `weights` is K[r], which messages lack."""
        state = state + self.embedding(bits)
        if self.bp_embedding is not None and beliefs is not None:
            state = state + self.bp_embedding(beliefs, len(state))
        if self.rate_embedding is not None and rates is not None:
            state = state + self.rate_embedding(rates)
        for block in self.blocks:
            if isinstance(block, MessageBlock):
                assert self.wires is not None
                state = block(state, self.wires)
            else:
                assert self.places is not None
                state = block(state, self.places, weights)
        return state

    def close(self, state: Float[Array, "n B d"]) -> Float[Array, "n B d"]:
        """What the decoder reads of M_r, if r is the last frame."""
        for block in self.closing_blocks:
            assert self.wires is not None
            state = block(state, self.wires)
        return state


def _beliefs(config: NetworkConfig, geometry: Geometry) -> CapacityBeliefs | CircuitBeliefs:
    """On qubits for code-capacity noise, on faults for a circuit's."""
    if geometry.qubits is not None:
        return CapacityBeliefs(
            geometry.qubits, geometry.layout, config.bp_iterations, config.bp_scaling
        )
    if geometry.faults is None:
        raise ValueError(
            "bp_iterations must be 0 for a problem whose faults are not known: got "
            f"{config.bp_iterations}. Set network.bp_iterations=0."
        )
    return CircuitBeliefs(
        geometry.faults, config.bp_iterations, config.bp_scaling, config.bp_memory
    )


def _bp_embedding(
    beliefs: CapacityBeliefs | CircuitBeliefs,
    config: NetworkConfig,
    geometry: Geometry,
    key: PRNGKeyArray,
) -> BeliefEmbedding:
    """Random for code capacity; under circuit noise the network begins as if told nothing."""
    kinds = geometry.check_kinds(config.ties == "tied")
    if geometry.faults is None:
        return BeliefEmbedding(beliefs.num_features, kinds, config.width, key=key)
    sites = geometry.faults.sites
    told = np.unique(kinds[sites], return_inverse=True)[1].astype(np.int32)
    return BeliefEmbedding(beliefs.num_features, told, config.width, sites)


def _first_code_weights(
    given: np.ndarray | None, table: TieTable, frames: int
) -> Float[Array, "frames V"]:
    """K[r] as given (frames, n, n), one for each value of the table; else 1."""
    if given is None:
        return jnp.ones((frames, table.num_values))
    first = np.unique(table.index, return_index=True)[1]  # one place of each value
    return jnp.asarray(given.reshape(len(given), -1)[:, first], jnp.float32)


def _frames_of(
    syndrome: UInt8[Array, "B M"], grid: Int32[Array, "frames n"]
) -> UInt8[Array, "frames n B"]:
    """The detectors' bits at their places; 0 where a frame has no detector."""
    present: Bool[Array, "frames n"] = grid >= 0
    bits = syndrome.T[jnp.where(present, grid, 0)]
    return jnp.where(present[:, :, None], bits, jnp.uint8(0))
