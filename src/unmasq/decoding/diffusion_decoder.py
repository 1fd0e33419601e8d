"""`DiffusionDecoder`: a trained network behind the protocol of all decoders.

One compiled function encodes a batch once and runs all unmasking steps on the device. Batches are
padded to powers of two, so that few functions are compiled, and cut where they are large. A second
function takes the shots that the first left unclear, where unmasking is adaptive or views vote.
"""

import collections
import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from unmasq.checkpoint import Weights, load_weights
from unmasq.decoding.compiled import compiled, compiled_chain, compiled_vote
from unmasq.decoding.expanded import expand_ties
from unmasq.decoding.model_store import decoder_name, find_model
from unmasq.decoding.rules import Adaptively, ByBeam, FromNoise, InOrder, InSteps, Rule
from unmasq.decoding.shot_batches import cut, pack, pad, padded_size, read_shots
from unmasq.decoding.soft_output import SoftOutput, require_probability
from unmasq.decoding.unmasking import Unmasked
from unmasq.decoding.voting import Voters
from unmasq.models import cast_floats
from unmasq.translates import Translates

MAX_BATCH = {"cpu": 512}  # shots in one call to the device
MAX_BATCH_ACCELERATOR = 8192
SURE = 0.999  # confidence from which on no vote is asked for
SPLIT_FROM = 16  # shots in a batch from which on adaptive unmasking leaves the clear ones behind
SPLIT_PARTS = 8  # of a batch: the others go on in such parts
_IN_FLIGHT = 4  # batches waiting on the device


def load(
    name_or_path: str | Path, *, dtype: str | None = None, max_batch: int | None = None
) -> "DiffusionDecoder":
    """A decoder from a weight file, its folder, or the name of a known model.

    `dtype` is float32 or bfloat16; by default float32 on a CPU and bfloat16 elsewhere. Known are
    the shipped models (`unmasq models`) and those in the folders that UNMASQ_MODELS lists.

    >>> decoder = load("bb72-circuit")
    >>> decoder.decode_batch(np.zeros((1, decoder.num_detectors), np.uint8))
    array([[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]], dtype=uint8)
    """
    weights = load_weights(find_model(name_or_path).path)
    return DiffusionDecoder.from_weights(weights, dtype=dtype, max_batch=max_batch)


@dataclasses.dataclass(frozen=True)
class Identity:
    """Which model a decoder asks, and for which problem it was trained."""

    name: str
    model_hash: str
    structure_id: str
    objective: str  # "masked", "autoregressive" or "continuous"
    trained_steps: int  # T of the objective
    num_detectors: int
    num_logicals: int

    def default_rule(self) -> Rule:
        """T as trained; in order for an autoregressive network."""
        if self.objective == "autoregressive":
            return InOrder()
        if self.objective == "continuous":
            return FromNoise(self.trained_steps, self.trained_steps)
        return InSteps(min(self.trained_steps, self.num_logicals))

    @property
    def saw_shown_bits(self) -> bool:
        """Whether training showed some bits and hid others, in no fixed order."""
        return self.objective == "masked" and (self.trained_steps > 1 or self.num_logicals == 1)


class DiffusionDecoder:
    """Predicts logicals with a trained network. Made by `unmasq.load`; changed by `with_...`."""

    def __init__(
        self,
        network: Any,
        identity: Identity,
        *,
        rule: Rule | None = None,
        dtype: str | None = None,
        max_batch: int | None = None,
        discard_below: float | None = None,
        translates: Translates | None = None,
        views: int = 1,
    ):
        """`network` is a tree of arrays with `encode` and `denoise`, or one that predicts noise."""
        platform = jax.default_backend()
        self.identity = identity
        self.rule = identity.default_rule() if rule is None else rule
        self.dtype = dtype or ("float32" if platform == "cpu" else "bfloat16")
        if self.dtype not in ("float32", "bfloat16"):
            raise ValueError(f"dtype must be float32 or bfloat16: got '{dtype}'.")
        self.max_batch = max_batch or MAX_BATCH.get(platform, MAX_BATCH_ACCELERATOR)
        if self.max_batch < 1 or self.max_batch & (self.max_batch - 1):
            raise ValueError(f"max_batch must be a power of two: got {max_batch}.")
        if discard_below is not None:
            require_probability(discard_below)
        if views > 1 and isinstance(self.rule, ByBeam):
            raise ValueError("views must not be asked of a beam search: choose one.")
        self.discard_below = discard_below
        self.translates = translates
        self.views = views
        self._network = network
        compute = cast_floats(expand_ties(network), jnp.dtype(self.dtype))
        self._leaves, self._structure = jax.tree.flatten(compute)
        self._voters = None
        if translates is not None and views > 1:
            self._voters = jax.tree.flatten(Voters(compute, translates.spread(views)))

    @staticmethod
    def from_weights(
        weights: Weights, *, dtype: str | None = None, max_batch: int | None = None
    ) -> "DiffusionDecoder":
        """A decoder for loaded weights, asked as they were trained."""
        geometry, header = weights.geometry, weights.header
        identity = Identity(
            header["name"],
            weights.model_hash,
            header["structure_id"],
            header["objective"],
            header["num_steps"],
            geometry.num_detectors,
            geometry.num_logicals,
        )
        tied = weights.config.ties == "tied"
        return DiffusionDecoder(
            weights.network,
            identity,
            dtype=dtype,
            max_batch=max_batch,
            translates=weights.translates if tied else None,
        )

    @property
    def name(self) -> str:
        """'unmasq-<hash8>', then what differs from the model's own way: ',T=6', ',tau=2.5', ..."""
        parts = [decoder_name(self.model_hash)]
        if self.rule != self.identity.default_rule():
            parts.append(self.rule.label)
        if self.views > 1:
            parts.append(f"views={self.views}")
        if self.discard_below is not None:
            parts.append(f"discard={self.discard_below:g}")
        return ",".join(parts)

    @property
    def model_hash(self) -> str:
        return self.identity.model_hash

    @property
    def structure_id(self) -> str:
        return self.identity.structure_id

    @property
    def num_detectors(self) -> int:
        return self.identity.num_detectors

    @property
    def num_logicals(self) -> int:
        return self.identity.num_logicals

    def with_steps(self, num_steps: int) -> "DiffusionDecoder":
        """The same model with T unmasking (or reverse Gaussian) steps."""
        identity = self.identity
        limit = identity.num_logicals
        if identity.objective == "continuous":
            limit = identity.trained_steps
        elif identity.objective == "autoregressive":
            raise ValueError(
                f"steps must be {limit} for an autoregressive model: it reveals one bit a step."
            )
        elif not identity.saw_shown_bits:
            limit = 1
        if not 1 <= num_steps <= limit:
            why = "" if limit > 1 else " The model was trained with T = 1."
            raise ValueError(f"steps must lie in 1..{limit}: got {num_steps}.{why}")
        if identity.objective == "continuous":
            return self._with(rule=FromNoise(identity.trained_steps, num_steps))
        return self._with(rule=InSteps(num_steps))

    def with_threshold(self, threshold: float) -> "DiffusionDecoder":
        """The same model, unmasking all bits with |logit| >= threshold at every step."""
        self._require_masked("threshold")
        if not threshold >= 0:
            raise ValueError(f"threshold must be at least 0: got {threshold}.")
        return self._with(rule=Adaptively(float(threshold)))

    def with_beam(self, width: int) -> "DiffusionDecoder":
        """The same model, searching with a beam of this width over orders and values."""
        self._require_masked("beam")
        if width < 1:
            raise ValueError(f"width must be at least 1: got {width}.")
        return self._with(rule=ByBeam(width))

    def with_views(self, count: int) -> "DiffusionDecoder":
        """The same model, letting `count` translates of a shot vote where it is not sure of it."""
        if count == 1:
            return self._with(views=1)
        if self.translates is None:
            raise ValueError(
                "views must be 1 for this model: it is not tied by a symmetry, or its file is "
                "older than votes. Train it again."
            )
        if not 1 <= count <= self.translates.order:
            raise ValueError(f"views must lie in 1..{self.translates.order}: got {count}.")
        return self._with(views=count)

    def with_discard(self, below: float | None) -> "DiffusionDecoder":
        """The same model, giving up on shots whose confidence lies below a probability."""
        return self._with(discard_below=below)

    def decode_batch(
        self,
        syndromes: np.ndarray,
        bit_packed_shots: bool = False,
        bit_packed_predictions: bool = False,
    ) -> NDArray[np.uint8]:
        """(B, M) bits to (B, K) bits; either side may be packed, little-endian."""
        logicals = self._run(read_shots(syndromes, self.num_detectors, bit_packed_shots)).logicals
        return pack(logicals) if bit_packed_predictions else logicals

    def decode_soft(self, syndromes: np.ndarray, bit_packed_shots: bool = False) -> SoftOutput:
        """Predictions with probabilities, confidence and steps used."""
        return self._run(read_shots(syndromes, self.num_detectors, bit_packed_shots))

    def decode_or_discard(
        self, syndromes: np.ndarray, bit_packed_shots: bool = False
    ) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Predictions (B, K), and which shots to throw away (none without `with_discard`)."""
        soft = self.decode_soft(syndromes, bit_packed_shots)
        if self.discard_below is None:
            return soft.logicals, np.zeros(len(soft.logicals), bool)
        return soft.logicals, soft.discarded(self.discard_below)

    def start(
        self, syndromes: np.ndarray, bit_packed_shots: bool = False, padded_to: int | None = None
    ) -> Callable[[], SoftOutput]:
        """Sends at most `max_batch` shots to the device; the returned call waits for them.

        The device decodes meanwhile, so a caller may prepare the next batch. All batches of a
        caller may be padded to one size.
        """
        bits = read_shots(syndromes, self.num_detectors, bit_packed_shots)
        if not 1 <= len(bits) <= self.max_batch:
            raise ValueError(f"shots must number 1..{self.max_batch}: got {len(bits)}.")
        return self._start(bits, padded_to)

    def chain_log_probabilities(
        self, syndromes: np.ndarray, order: tuple[int, ...] | None = None
    ) -> NDArray[np.float32]:
        """log q(l | s) of all 2^K strings in the chain of one fixed order: see `beam`.

        Costs 2^K - 1 denoiser passes a shot. `beam.strings_of` reads the columns' numbers.
        """
        self._require_masked("enumeration")
        bits = read_shots(syndromes, self.num_detectors, bit_packed=False)
        table = compiled_chain(self._structure, self.num_logicals, order, self.dtype)
        empty = np.zeros((0, 2**self.num_logicals), np.float32)
        return np.concatenate(
            [empty, *(np.asarray(table(self._leaves, bits[i : i + 1])) for i in range(len(bits)))]
        )

    def __reduce__(self) -> tuple:
        return _rebuild, (self._network, self.identity, self._settings())

    def _settings(self) -> dict[str, Any]:
        names = ("rule", "dtype", "max_batch", "discard_below", "translates", "views")
        return {name: getattr(self, name) for name in names}

    def _with(self, **changes: Any) -> "DiffusionDecoder":
        return DiffusionDecoder(self._network, self.identity, **{**self._settings(), **changes})

    def _require_masked(self, what: str) -> None:
        identity = self.identity
        if not identity.saw_shown_bits:
            raise ValueError(
                f"{what} must be used with a masked diffusion model: got one trained for objective "
                f"{identity.objective} with T = {identity.trained_steps}."
            )

    def _run(self, bits: NDArray[np.uint8]) -> SoftOutput:
        waiting: collections.deque[Callable[[], SoftOutput]] = collections.deque()
        done = []
        for batch in cut(len(bits), self.max_batch):
            waiting.append(self._start(bits[batch]))
            if len(waiting) == _IN_FLIGHT:
                done.append(waiting.popleft()())
        done.extend(result() for result in waiting)
        return SoftOutput.joined(done, self.num_logicals)

    def _start(
        self, bits: NDArray[np.uint8], padded_to: int | None = None
    ) -> Callable[[], SoftOutput]:
        padded = pad(bits, padded_to)
        # A batch takes as many steps as its slowest shot: where most are done after the first,
        # the others go on by themselves.
        rule = self.rule if self._split_threshold(len(padded)) is None else InSteps(1)
        function = compiled(self._structure, rule, self.num_logicals, self.dtype)
        return functools.partial(self._fetch, function(self._leaves, padded), bits, len(padded))

    def _split_threshold(self, padded: int) -> float | None:
        """|logit| that ends a shot after one step; None where a batch goes on as a whole."""
        if isinstance(self.rule, Adaptively) and padded >= SPLIT_FROM:
            return self.rule.threshold
        return None

    def _fetch(self, first: Unmasked, bits: NDArray[np.uint8], padded: int) -> SoftOutput:
        logits = np.asarray(first.logits)[: len(bits)]
        if np.isnan(logits).any():
            raise ValueError(
                f"model '{self.identity.name}' must give finite log-odds: got NaN. Its weights "
                f"are broken, or too large for {self.dtype}."
            )
        soft = SoftOutput.of(first, len(bits))
        threshold = self._split_threshold(padded)
        if threshold is not None:
            function = compiled(self._structure, self.rule, self.num_logicals, self.dtype)
            unclear = np.flatnonzero((np.abs(logits) < threshold).any(axis=1))
            call = functools.partial(function, self._leaves)
            _ask_again(soft, bits, unclear, call, padded // SPLIT_PARTS)
        if self._voters is not None:
            leaves, structure = self._voters
            function = compiled_vote(structure, self.rule, self.num_logicals, self.dtype)
            unsure = np.flatnonzero(soft.log_likelihood < np.log(SURE))
            size = min(padded, max(1, self.max_batch // padded_size(self.views)))
            steps = soft.steps[unsure]
            _ask_again(soft, bits, unsure, functools.partial(function, leaves), size)
            soft.steps[unsure] += steps
        return soft


def _ask_again(
    soft: SoftOutput,
    bits: NDArray[np.uint8],
    rows: NDArray[np.intp],
    call: Callable[[NDArray[np.uint8]], Any],
    size: int,
) -> None:
    """Writes what a second function says of some shots, in batches of one size."""
    batches = [rows[batch] for batch in cut(len(rows), size)]
    started = [call(pad(bits[batch], size)) for batch in batches]
    for batch, found in zip(batches, started, strict=True):
        soft.write(batch, SoftOutput.of(found, len(batch)))


def _rebuild(network: Any, identity: Identity, settings: dict[str, Any]) -> DiffusionDecoder:
    return DiffusionDecoder(network, identity, **settings)
