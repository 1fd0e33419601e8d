"""`Passes`: which compiled functions a batch of shots goes through, and in which parts.

One compiled function encodes a batch once and runs all unmasking steps on the device. Batches are
padded to powers of two, so that few functions are compiled, and cut where they are large. A second
function takes the shots that the first left unclear, where unmasking is adaptive, views vote, or a
guess was made.
"""

import collections
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, Int32, UInt8
from numpy.typing import NDArray

from unmasq.decoding.asking import Asking
from unmasq.decoding.compiled import FlatNetwork
from unmasq.decoding.expanded import expand_ties
from unmasq.decoding.identity import Identity
from unmasq.decoding.rules import Unmasking, rule_of
from unmasq.decoding.soft_output import SoftOutput
from unmasq.decoding.stream import Stream, finish, push
from unmasq.decoding.unmasking import Trail, Unmasked, unmask, unmask_in_sight
from unmasq.decoding.voting import Voted, Voters
from unmasq.models import MaskedDenoiser, cast_floats
from unmasq.models.beliefs import Attempt
from unmasq.models.circuit_beliefs import CircuitBeliefs
from unmasq.models.masked import Guess
from unmasq.problems.translates import Translates
from unmasq.shots.batches import Bits, cut, pad, padded_size

SURE = 0.999  # confidence from which on no vote is asked for; "views=" in names means this one too
SPLIT_FROM = 16  # shots in a batch from which on adaptive unmasking leaves the clear ones behind
SPLIT_PARTS = 8  # of a batch: the others go on in such parts, and so do votes
UNSOLVED_PART = {"cpu": 4}  # shots that a guess leaves, in one call to the device
UNSOLVED_PART_ACCELERATOR = 512
# An accelerator passes messages for a whole batch until its last shot is solved: it begins with a
# few iterations for all, and the shots that these leave start anew, in parts. See `shot_by_shot`.
FIRST_ITERATIONS = {"cpu": None}
FIRST_ITERATIONS_ACCELERATOR = 16
UNGUESSED_PART = {"cpu": 16}  # shots that an attempt leaves, in one call to the device
UNGUESSED_PART_ACCELERATOR = 1024
_IN_FLIGHT = 4  # batches waiting on the device

Rows = NDArray[np.intp]


class Passes:
    """A network on the device, asked in one settled way."""

    def __init__(
        self,
        network: Any,
        identity: Identity,
        asking: Asking,
        translates: Translates | None,
        max_batch: int,
    ):
        self.rule = rule_of(identity, asking)
        assert asking.dtype is not None  # it is settled
        self._network = cast_floats(expand_ties(network), jnp.dtype(asking.dtype))
        self.flat = FlatNetwork(self._network, asking.dtype)
        self.voters = None
        if asking.views is not None and asking.views > 1:
            assert translates is not None  # or else the identity allows no views
            voters = Voters(self._network, translates.spread(asking.views))
            self.voters = FlatNetwork(voters, asking.dtype)
        self._identity = identity
        self._asking = asking
        self._max_batch = max_batch
        platform = jax.default_backend()
        self._unsolved_part = UNSOLVED_PART.get(platform, UNSOLVED_PART_ACCELERATOR)
        self._unguessed_part = UNGUESSED_PART.get(platform, UNGUESSED_PART_ACCELERATOR)
        few = FIRST_ITERATIONS.get(platform, FIRST_ITERATIONS_ACCELERATOR)
        self._attempts = _attempts(self._network, identity.attempts, asking.attempts or 1, few)

    def run(self, bits: Bits, at_least: int = 1) -> SoftOutput:
        """Any number of shots, some batches on the device while others are read."""
        waiting: collections.deque[Callable[[], SoftOutput]] = collections.deque()
        done = []
        for batch in cut(len(bits), self._max_batch):
            waiting.append(self.start(bits[batch], at_least))
            if len(waiting) == _IN_FLIGHT:
                done.append(waiting.popleft()())
        done.extend(result() for result in waiting)
        return SoftOutput.joined(done, self._identity.num_told)

    def start(self, bits: Bits, at_least: int = 1) -> Callable[[], SoftOutput]:
        """Sends a batch to the device; the returned call waits for it."""
        started = self._start(bits, at_least)
        told = self._identity.told
        return started if told is None else lambda: started().only(told.first, told.stop)

    def _start(self, bits: Bits, at_least: int) -> Callable[[], SoftOutput]:
        padded = pad(bits, max(padded_size(len(bits)), at_least))
        if not self._asking.guess:
            return self._ask(bits, padded)
        guess = self._guess(padded, self._attempts[0])
        return functools.partial(self._ask_unsolved, guess, bits, len(padded))

    @property
    def streams(self) -> bool:
        """Whether the network can be given shots frame by frame."""
        network = self._network
        if not isinstance(network, MaskedDenoiser) or not network.knows_no_rounds:
            return False
        return network.encoder.rates is None and network.encoder.beliefs is None

    def frames(self, bits: Bits) -> list[Bits]:
        """(B, n_c) bits of each frame; 0 where a frame has no detector."""
        grid = np.asarray(self._network.encoder.grid)
        return [np.where(row >= 0, bits[:, row], np.uint8(0)) for row in grid]

    def stream(self) -> Stream:
        """The same network on shots that come frame by frame."""
        network = self._network
        if isinstance(network, MaskedDenoiser) and network.encoder.rates is not None:
            raise ValueError(
                "rates must be nominal to decode a stream: this decoder was told those of a "
                "problem. Use the decoder as loaded, or decode whole shots."
            )
        if isinstance(network, MaskedDenoiser) and network.encoder.beliefs is not None:
            raise ValueError(
                f"model '{self._identity.name}' must read frame by frame to decode a stream: it "
                "begins with belief propagation over all frames. Decode whole shots."
            )
        if not self.streams:
            raise ValueError(
                f"model '{self._identity.name}' must know no number of rounds to decode a stream: "
                "it has weights for each frame, or no frames. Train one with "
                "network.mixing=messages."
            )
        if self.voters is not None:
            raise ValueError("views must be 1 to decode a stream: votes need whole shots.")
        checks = self._network.encoder.grid.shape[1]
        ending = self.flat.compiled(finish, self.rule, self._identity.num_logicals)
        return Stream(self.flat.compiled(push), ending, checks, self._identity.told)

    def trail(self, bits: Bits) -> Trail:
        """All that the network says of a few shots; the guess is taken for none of them."""
        return self.flat.compiled(_follow, self._identity.num_logicals)(bits)

    def warm_up(self, shots: int) -> None:
        """Compiles all that so many shots may need, whatever they are."""
        detectors = self._identity.num_detectors
        sizes = {padded_size(batch.stop - batch.start) for batch in cut(shots, self._max_batch)}
        if self._asking.guess:
            for size in sizes:
                nothing = np.zeros((size, detectors), np.uint8)
                for number, attempt in enumerate(self._attempts):
                    self._guess(nothing[: self._unguessed_part] if number else nothing, attempt)
            sizes = {min(size, self._unsolved_part) for size in sizes}
        for size in sizes:
            passes = (self._first_pass(size), self._rest_of_steps(size), self._vote(size))
            for each in filter(None, passes):
                jax.block_until_ready(each.call(np.zeros((each.size, detectors), np.uint8)))

    def _guess(self, padded: Bits, attempt: Attempt | None) -> Guess:
        if attempt is None:
            return self.flat.compiled(MaskedDenoiser.guess)(padded)
        numbers = np.int32(attempt.iterations), np.float32(attempt.scaling)
        return self.flat.compiled(_guess)(padded, *numbers, np.float32(attempt.memory))

    def _guessed(self, first: Guess, bits: Bits, padded: int) -> tuple[Bits, NDArray[np.bool_]]:
        """The guess of the first attempt that explains the syndrome, and where there is one."""
        logicals, solved = (np.array(field)[: len(bits)] for field in first)
        size = min(padded, self._unguessed_part)
        for attempt in self._attempts[1:]:
            rows = np.flatnonzero(~solved)
            batches = [rows[batch] for batch in cut(len(rows), size)]
            started = [self._guess(pad(bits[batch], size), attempt) for batch in batches]
            for batch, found in zip(batches, started, strict=True):
                logicals[batch] = np.asarray(found.logicals)[: len(batch)]
                solved[batch] = np.asarray(found.solved)[: len(batch)]
        return logicals, solved

    def _ask_unsolved(self, guess: Guess, bits: Bits, padded: int) -> SoftOutput:
        """Takes the guess where it explains the syndrome, and asks about the other shots."""
        logicals, solved = self._guessed(guess, bits, padded)
        soft = SoftOutput.guessed(logicals)
        size = min(padded, self._unsolved_part)
        unsolved = np.flatnonzero(~solved)
        batches = [unsolved[batch] for batch in cut(len(unsolved), size)]
        started = [self._ask(bits[batch], pad(bits[batch], size)) for batch in batches]
        for batch, found in zip(batches, started, strict=True):
            soft.write(batch, found())
        return soft

    def _ask(self, bits: Bits, padded: Bits) -> Callable[[], SoftOutput]:
        """Sends a batch to the network, whatever a guess would say."""
        first = self._first_pass(len(padded))
        return functools.partial(self._fetch, first.call(padded), bits, len(padded))

    def _fetch(self, first: Unmasked, bits: Bits, padded: int) -> SoftOutput:
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

    def _ask_again(self, soft: SoftOutput, bits: Bits, rows: Rows, again: "_Pass") -> None:
        """Writes what another pass says of some shots over what was said of them."""
        batches = [rows[batch] for batch in cut(len(rows), again.size)]
        started = [again.call(pad(bits[batch], again.size)) for batch in batches]
        for batch, found in zip(batches, started, strict=True):
            soft.write(batch, self._read(found, len(batch)))

    def _read(self, found: Unmasked | Voted, shots: int) -> SoftOutput:
        soft = SoftOutput.of(found, shots)
        if np.isnan(soft.log_likelihood).any():
            raise ValueError(
                f"model '{self._identity.name}' must give finite log-odds: got NaN. Its weights "
                f"are broken, or too large for {self._asking.dtype}."
            )
        return soft

    def _first_pass(self, padded: int) -> "_Pass":
        """All steps at once, or only the first of them."""
        rule = self.rule if self._rest_of_steps(padded) is None else Unmasking(unmask, 1)
        return _Pass(self.flat.compiled(rule, self._identity.num_logicals), padded, np.inf)

    def _rest_of_steps(self, padded: int) -> "_Pass | None":
        """A batch takes as many adaptive steps as its slowest shot: those left go on in parts."""
        threshold = self._asking.threshold
        if threshold is None or threshold == np.inf or padded < SPLIT_FROM:
            return None  # at infinity nothing ends after one step
        call = self.flat.compiled(self.rule, self._identity.num_logicals)
        return _Pass(call, padded // SPLIT_PARTS, threshold)

    def _vote(self, padded: int) -> "_Pass | None":
        if self.voters is None:
            return None
        views = padded_size(self._asking.views or 1)
        size = max(1, min(padded // SPLIT_PARTS, self._max_batch // views))
        call = self.voters.compiled(Voters.vote, self.rule, self._identity.num_logicals)
        return _Pass(call, size, SURE)


def _guess(
    network: MaskedDenoiser,
    syndrome: UInt8[Array, "B M"],
    iterations: Int32[Array, ""],
    scaling: Float32[Array, ""],
    memory: Float32[Array, ""],
) -> Guess | None:
    return network.guess(syndrome, Attempt(iterations, scaling, memory))


def _attempts(
    network: Any, others: Sequence[tuple[int, float, float]], count: int, few: int | None
) -> list[Attempt | None]:
    """The network's own, None, and the others up to `count`; before them a few iterations."""
    beliefs = network.encoder.beliefs if isinstance(network, MaskedDenoiser) else None
    found: list[Attempt | None] = [None, *(Attempt(*other) for other in others[: count - 1])]
    # Only these change nothing more in a shot that is solved, so that it is the same guess.
    if few and isinstance(beliefs, CircuitBeliefs) and beliefs.iterations > few:
        found.insert(0, beliefs.own._replace(iterations=few))
    return found


def _follow(network: Any, num_logicals: int, syndrome: UInt8[Array, "B M"]) -> Trail:
    memory, _, guess = network.begin(syndrome)
    denoise = functools.partial(network.denoise, memory)
    return unmask_in_sight(denoise, len(syndrome), num_logicals, num_logicals).on(guess)


class _Pass(NamedTuple):
    """One compiled function on batches of one size, for shots below a threshold."""

    call: Callable[[Bits], Any]
    size: int
    threshold: float
