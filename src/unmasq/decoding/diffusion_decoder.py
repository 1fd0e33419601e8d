"""`DiffusionDecoder`: a trained network behind the protocol of all decoders.

One compiled function encodes a batch once and runs all unmasking steps on the device. Batches are
padded to powers of two, so that few functions are compiled, and cut where they are large. A second
function takes the shots that the first left unclear, where unmasking is adaptive, views vote, or a
guess was made.
"""

import collections
import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from unmasq.decoding.compiled import compiled, compiled_guess, compiled_vote
from unmasq.decoding.expanded import expand_ties
from unmasq.decoding.model_store import decoder_name, find_model
from unmasq.decoding.rules import (
    Adaptively,
    FromNoise,
    InOrder,
    InSteps,
    MemoryRule,
    Rule,
)
from unmasq.decoding.soft_output import SoftOutput, require_probability
from unmasq.decoding.unmasking import Unmasked
from unmasq.decoding.voting import Voted, Voters
from unmasq.models import MaskedDenoiser, cast_floats
from unmasq.models.masked import Guess
from unmasq.models.weights import Weights, load_weights
from unmasq.problems.translates import Translates
from unmasq.shots.batches import cut, pack, pad, padded_size, read_shots

MAX_BATCH = {"cpu": 512}  # shots in one call to the device
MAX_BATCH_ACCELERATOR = 8192
SURE = 0.999  # confidence from which on no vote is asked for; "views=" in names means this one too
SPLIT_FROM = 16  # shots in a batch from which on adaptive unmasking leaves the clear ones behind
SPLIT_PARTS = 8  # of a batch: the others go on in such parts, and so do votes
UNSOLVED_PART = {"cpu": 4}  # shots that a guess leaves, in one call to the device
UNSOLVED_PART_ACCELERATOR = 512
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
        guess: bool = False,
    ):
        """`network` is a tree of arrays with `encode` and `denoise`, or one that predicts noise."""
        platform = jax.default_backend()
        self.on_cpu = platform == "cpu"
        self.identity = identity
        self.rule = identity.default_rule() if rule is None else rule
        self.dtype = dtype or ("float32" if self.on_cpu else "bfloat16")
        if self.dtype not in ("float32", "bfloat16"):
            raise ValueError(f"dtype must be float32 or bfloat16: got '{dtype}'.")
        self.max_batch = max_batch or MAX_BATCH.get(platform, MAX_BATCH_ACCELERATOR)
        if self.max_batch < 1 or self.max_batch & (self.max_batch - 1):
            raise ValueError(f"max_batch must be a power of two: got {max_batch}.")
        if discard_below is not None:
            require_probability(discard_below)
            if guess:
                raise ValueError("guess must not be asked with discards: it has no confidence.")
        if guess and not _begins_with_a_guess(network):
            raise ValueError(
                "guess must be asked of a model that begins with belief propagation: "
                f"'{identity.name}' does not."
            )
        if views > 1 and (translates is None or not isinstance(self.rule, MemoryRule)):
            raise ValueError(
                "views must be 1 for this model: it is not a masked one, not tied by a symmetry, "
                "or its file is older than votes. Train it again."
            )
        self.discard_below = discard_below
        self.translates = translates
        self.views = views
        self.guess = guess
        self._unsolved_part = UNSOLVED_PART.get(platform, UNSOLVED_PART_ACCELERATOR)
        self._network = network
        compute = cast_floats(expand_ties(network), jnp.dtype(self.dtype))
        self._leaves, self._structure = jax.tree.flatten(compute)
        self._voters = None
        if views > 1 and translates is not None:
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
        if self.guess:
            parts.append("guess")
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

    def with_views(self, count: int) -> "DiffusionDecoder":
        """The same model, letting `count` translates of a shot vote where it is not sure of it."""
        most = count if self.translates is None else self.translates.order
        if not 1 <= count <= most:
            raise ValueError(f"views must lie in 1..{max(most, 1)}: got {count}.")
        return self._with(views=count)

    def with_guess(self, guess: bool = True) -> "DiffusionDecoder":
        """The same model, asked only about shots whose syndrome its first guess does not explain.

        For models that begin with belief propagation. The others are predicted by the guess alone:
        much faster where noise is low.
        """
        return self._with(guess=guess)

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
        self, syndromes: np.ndarray, bit_packed_shots: bool = False, at_least: int = 1
    ) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Predictions (B, K), and which shots to throw away (none without `with_discard`).

        Batches are padded to `at_least` shots (a power of two): fewer sizes are compiled.
        """
        bits = read_shots(syndromes, self.num_detectors, bit_packed_shots)
        soft = self._run(bits, at_least)
        if self.discard_below is None:
            return soft.logicals, np.zeros(len(soft.logicals), bool)
        return soft.logicals, soft.discarded(self.discard_below)

    def warm_up(self, shots: int) -> None:
        """Compiles all that so many shots may need, whatever they are."""
        sizes = {padded_size(batch.stop - batch.start) for batch in cut(shots, self.max_batch)}
        if self.guess:
            for size in sizes:
                self._guess(np.zeros((size, self.num_detectors), np.uint8))
            sizes = {min(size, self._unsolved_part) for size in sizes}
        for size in sizes:
            passes = (self._first_pass(size), self._rest_of_steps(size), self._vote(size))
            for each in filter(None, passes):
                jax.block_until_ready(
                    each.call(np.zeros((each.size, self.num_detectors), np.uint8))
                )

    def start(
        self, syndromes: np.ndarray, bit_packed_shots: bool = False, at_least: int = 1
    ) -> Callable[[], SoftOutput]:
        """Sends at most `max_batch` shots to the device; the returned call waits for them.

        The device decodes meanwhile, so a caller may prepare the next batch. All batches of a
        caller may be padded to one size. With a guess only that is made meanwhile: the network is
        asked about the others by the returned call.
        """
        bits = read_shots(syndromes, self.num_detectors, bit_packed_shots)
        if not 1 <= len(bits) <= self.max_batch:
            raise ValueError(f"shots must number 1..{self.max_batch}: got {len(bits)}.")
        return self._start(bits, at_least)

    def __reduce__(self) -> tuple:
        return _rebuild, (self._network, self.identity, self._settings())

    def _settings(self) -> dict[str, Any]:
        names = ("rule", "dtype", "max_batch", "discard_below", "translates", "views", "guess")
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

    def _run(self, bits: NDArray[np.uint8], at_least: int = 1) -> SoftOutput:
        waiting: collections.deque[Callable[[], SoftOutput]] = collections.deque()
        done = []
        for batch in cut(len(bits), self.max_batch):
            waiting.append(self._start(bits[batch], at_least))
            if len(waiting) == _IN_FLIGHT:
                done.append(waiting.popleft()())
        done.extend(result() for result in waiting)
        return SoftOutput.joined(done, self.num_logicals)

    def _start(self, bits: NDArray[np.uint8], at_least: int = 1) -> Callable[[], SoftOutput]:
        if not self.guess:
            return self._ask(bits, at_least)
        padded = pad(bits, max(padded_size(len(bits)), at_least))
        return functools.partial(self._ask_unsolved, self._guess(padded), bits, len(padded))

    def _guess(self, padded: NDArray[np.uint8]) -> Guess:
        return compiled_guess(self._structure)(self._leaves, padded)

    def _ask_unsolved(self, guess: Guess, bits: NDArray[np.uint8], padded: int) -> SoftOutput:
        logicals, solved = (np.asarray(field)[: len(bits)] for field in guess)
        soft = SoftOutput.guessed(logicals)
        size = min(padded, self._unsolved_part)
        unsolved = np.flatnonzero(~solved)
        batches = [unsolved[batch] for batch in cut(len(unsolved), size)]
        started = [self._ask(bits[batch], size) for batch in batches]
        for batch, found in zip(batches, started, strict=True):
            soft.write(batch, found())
        return soft

    def _ask(self, bits: NDArray[np.uint8], at_least: int = 1) -> Callable[[], SoftOutput]:
        """Sends a batch to the network, whatever a guess would say."""
        padded = pad(bits, max(padded_size(len(bits)), at_least))
        first = self._first_pass(len(padded))
        return functools.partial(self._fetch, first.call(padded), bits, len(padded))

    def _fetch(self, first: Unmasked, bits: NDArray[np.uint8], padded: int) -> SoftOutput:
        soft = self._read(first, len(bits))
        rest = self._rest_of_steps(padded)
        if rest is not None:
            logits = np.asarray(first.logits)[: len(bits)]
            unclear = np.flatnonzero((np.abs(logits) < rest.threshold).any(axis=1))
            self._ask_again(soft, bits, unclear, rest)
        vote = self._vote(padded)
        if vote is not None:
            unsure = np.flatnonzero(soft.log_likelihood < np.log(vote.threshold))
            steps = soft.steps[unsure]
            self._ask_again(soft, bits, unsure, vote)
            soft.steps[unsure] += steps
        return soft

    def _ask_again(
        self, soft: SoftOutput, bits: NDArray[np.uint8], rows: NDArray[np.intp], again: "_Pass"
    ) -> None:
        """Writes what another pass says of some shots over what was said of them."""
        batches = [rows[batch] for batch in cut(len(rows), again.size)]
        started = [again.call(pad(bits[batch], again.size)) for batch in batches]
        for batch, found in zip(batches, started, strict=True):
            soft.write(batch, self._read(found, len(batch)))

    def _read(self, found: Unmasked | Voted, shots: int) -> SoftOutput:
        soft = SoftOutput.of(found, shots)
        if np.isnan(soft.log_likelihood).any():
            raise ValueError(
                f"model '{self.identity.name}' must give finite log-odds: got NaN. Its weights "
                f"are broken, or too large for {self.dtype}."
            )
        return soft

    def _first_pass(self, padded: int) -> "_Pass":
        """All steps at once, or only the first of them."""
        rule = self.rule if self._rest_of_steps(padded) is None else InSteps(1)
        function = compiled(self._structure, rule, self.num_logicals, self.dtype)
        return _Pass(functools.partial(function, self._leaves), padded, np.inf)

    def _rest_of_steps(self, padded: int) -> "_Pass | None":
        """A batch takes as many adaptive steps as its slowest shot: those left go on in parts."""
        if not isinstance(self.rule, Adaptively) or padded < SPLIT_FROM:
            return None
        if self.rule.threshold == np.inf:  # nothing ends after one step
            return None
        function = compiled(self._structure, self.rule, self.num_logicals, self.dtype)
        call = functools.partial(function, self._leaves)
        return _Pass(call, padded // SPLIT_PARTS, self.rule.threshold)

    def _vote(self, padded: int) -> "_Pass | None":
        if self._voters is None:
            return None
        leaves, structure = self._voters
        function = compiled_vote(structure, self.rule, self.num_logicals, self.dtype)
        size = min(padded // SPLIT_PARTS, self.max_batch // padded_size(self.views))
        return _Pass(functools.partial(function, leaves), max(1, size), SURE)


class _Pass(NamedTuple):
    """One compiled function on batches of one size, for shots below a threshold."""

    call: Callable[[NDArray[np.uint8]], Any]
    size: int
    threshold: float


def _begins_with_a_guess(network: Any) -> bool:
    return isinstance(network, MaskedDenoiser) and network.encoder.told is not None


def _rebuild(network: Any, identity: Identity, settings: dict[str, Any]) -> DiffusionDecoder:
    return DiffusionDecoder(network, identity, **settings)
