"""`Stream`: shots decoded while their frames are measured.

Each frame goes through the encoder as it comes, so that after the last one only that frame and the
unmasking remain. For networks that know no number of rounds; the answers are those of a decoder
that is given whole shots.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt8

from unmasq.decoding.rules import Unmasking
from unmasq.decoding.soft_output import SoftOutput
from unmasq.decoding.unmasking import Unmasked
from unmasq.problems.readouts import Readout
from unmasq.shots.batches import check_syndromes, pad, padded_size


class Stream:
    """Some shots at once, frame by frame. Made by `DiffusionDecoder.stream`.

    A frame has one bit for each check, in the order of the code's checks: whether it fired since
    the round before. The last frame is the one that a final noiseless round, or the readout of the
    data qubits, gives.
    """

    def __init__(
        self,
        push: Callable[[Array | None, np.ndarray], Array],
        finish: Callable[[Array], Unmasked],
        num_checks: int,
        told: Readout | None,
    ):
        """`push` and `finish` are the functions below, compiled for a network."""
        self._push = push
        self._finish = finish
        self._num_checks = num_checks
        self._told = told
        self._shots: int | None = None
        self._state: Array | None = None
        self.frames = 0  # pushed so far

    def push(self, frame: np.ndarray) -> None:
        """Takes the next frame, (B, n_c) bits, or (n_c,) of a single shot; does not wait for it."""
        bits = np.asarray(frame)
        bits = check_syndromes(bits[None] if bits.ndim == 1 else bits, self._num_checks)
        if self._shots is None:
            self._shots = len(bits)
        if len(bits) != self._shots or not self._shots:
            raise ValueError(
                f"frame must have the {self._shots or 'one or more'} shots of the stream: "
                f"got {len(bits)}."
            )
        padded = pad(bits, padded_size(self._shots))
        self._state = self._push(self._state, padded)
        self.frames += 1

    def wait(self) -> None:
        """Returns when the frames pushed so far are encoded."""
        jax.block_until_ready(self._state)

    def finish(self) -> SoftOutput:
        """Reveals the logicals; the stream then waits for the first frame of other shots."""
        if self._state is None or self._shots is None or self.frames < 2:
            raise ValueError(
                f"stream must have two or more frames, one more than rounds: got {self.frames}. "
                "Push them first."
            )
        found = SoftOutput.of(self._finish(self._state), self._shots)
        self._state = self._shots = None
        self.frames = 0
        return found if self._told is None else found.only(self._told.first, self._told.stop)


def push(
    network: Any, state: Float[Array, "n B d"] | None, bits: UInt8[Array, "B n"]
) -> Float[Array, "n B d"]:
    """Encodes the next frame."""
    before = network.encoder.blank(len(bits)) if state is None else state
    return network.encoder.advance(before, jnp.transpose(bits))


def finish(
    network: Any, rule: Unmasking, num_logicals: int, state: Float[Array, "n B d"]
) -> Unmasked:
    """Asks for the logicals of shots whose frames are all encoded."""
    return rule.reveal(network, num_logicals, network.recall(state))
