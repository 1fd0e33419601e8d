"""`DiffusionDecoder`: a trained network behind the protocol of all decoders."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from unmasq.decoding.asking import Asking
from unmasq.decoding.identity import Identity
from unmasq.decoding.model_store import find_model
from unmasq.decoding.passes import Passes
from unmasq.decoding.problem_match import require_problem
from unmasq.decoding.soft_output import SoftOutput
from unmasq.decoding.stream import Stream
from unmasq.decoding.unmasking import Trail
from unmasq.models import Geometry, for_rounds
from unmasq.models.weights import Weights, load_weights
from unmasq.problems.problem import DecodingProblem
from unmasq.problems.translates import Translates
from unmasq.shots.batches import Bits, pack, read_shots

if TYPE_CHECKING:
    import stim

MAX_BATCH = {"cpu": 512}  # shots in one call to the device
MAX_BATCH_ACCELERATOR = 8192


def load(
    name_or_path: str | Path,
    asking: Asking | None = None,
    *,
    dtype: str | None = None,
    max_batch: int | None = None,
) -> "DiffusionDecoder":
    """A decoder from a weight file, its folder, or the name of a known model.

    It is asked as it is best asked, or in the way given. `dtype` is float32 or bfloat16; by default
    float32 on a CPU and bfloat16 elsewhere. Known are the shipped models (`unmasq models`) and
    those in the folders that UNMASQ_MODELS lists.

    >>> decoder = load("bb72-circuit")
    >>> decoder.decode_batch(np.zeros((1, decoder.num_detectors), np.uint8))
    array([[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]], dtype=uint8)
    """
    asking = asking or Asking()
    if dtype is not None:
        asking = asking.but(dtype=dtype)
    model = find_model(name_or_path)
    model.require_whole()
    weights = load_weights(model.path)
    return DiffusionDecoder.from_weights(weights, asking, max_batch=max_batch, card=model.card)


class DiffusionDecoder:
    """Predicts logicals with a trained network. Made by `unmasq.load`; changed by `with_...`.

    >>> decoder = load("bb72-circuit", dtype="float32")
    >>> decoder.num_detectors, decoder.num_logicals
    (504, 12)
    >>> decoder.with_threshold(4.0).with_views(36).name.partition(",")[2]  # behind the hash
    'tau=4,views=36'
    """

    def __init__(
        self,
        network: Any,
        identity: Identity,
        asking: Asking | None = None,
        max_batch: int | None = None,
        translates: Translates | None = None,
        geometry: Geometry | None = None,
    ):
        """`network` is a tree of arrays with `begin` and `denoise`, or one that predicts noise."""
        platform = jax.default_backend()
        self.on_cpu = platform == "cpu"
        self.max_batch = max_batch or MAX_BATCH.get(platform, MAX_BATCH_ACCELERATOR)
        if self.max_batch < 1 or self.max_batch & (self.max_batch - 1):
            raise ValueError(f"max_batch must be a power of two: got {max_batch}.")
        self.identity = identity
        self._asked = asking or Asking()  # what it leaves open may change with the rest
        self.asking = identity.settled(self._asked, "float32" if self.on_cpu else "bfloat16")
        self._network = network
        self.translates = translates
        self._geometry = geometry  # what it knows of its problem, for problems like it
        self._passes = Passes(network, identity, self.asking, translates, self.max_batch)

    @staticmethod
    def from_weights(
        weights: Weights,
        asking: Asking | None = None,
        *,
        max_batch: int | None = None,
        card: Mapping[str, Any] | None = None,
    ) -> "DiffusionDecoder":
        """A decoder for loaded weights; a card says more of them than an old file."""
        masked, tied = weights.header["objective"] == "masked", weights.config.ties == "tied"
        translates = weights.translates if tied else None
        identity = Identity.from_header(
            weights.header,
            weights.model_hash,
            weights.geometry.num_detectors,
            translates.order if masked and translates is not None else 1,
            card,
        )
        return DiffusionDecoder(
            weights.network, identity, asking, max_batch, translates, weights.geometry
        )

    def __repr__(self) -> str:
        model = self.identity
        return (
            f"DiffusionDecoder({self.name}, model {model.name}, {self.dtype}: "
            f"{model.num_detectors} detectors, {model.num_logicals} logicals)"
        )

    @property
    def name(self) -> str:
        """'unmasq-<hash8>', then how it is asked, if not about every shot as trained: ',T=6'."""
        return self.identity.decoder_name(self.asking)

    @property
    def model_hash(self) -> str:
        return self.identity.model_hash

    @property
    def dtype(self) -> str:
        """In which the network computes."""
        assert self.asking.dtype is not None  # it is settled
        return self.asking.dtype

    @property
    def structure_id(self) -> str:
        return self.identity.structure_id

    @property
    def num_detectors(self) -> int:
        return self.identity.num_detectors

    @property
    def num_logicals(self) -> int:
        return self.identity.num_told

    def require_problem(
        self, problem: "DecodingProblem | stim.DetectorErrorModel | stim.Circuit"
    ) -> None:
        """Refuses a problem other than the one the model was trained for, and says what differs.

        `decode_batch` sees bits alone: shots of another basis or number of rounds may have the
        right width. Noise that clearly differs from training's is warned of.
        """
        require_problem(self.identity, problem)

    def for_problem(
        self, problem: "DecodingProblem | stim.DetectorErrorModel | stim.Circuit"
    ) -> "DiffusionDecoder":
        """The decoder for a problem, refused as in `require_problem`.

        A model that knows no number of rounds (messages) also decodes its experiment with any
        other number of them: the returned decoder then reads as many detectors as that has. One of
        both bases decodes the readout of either: the returned decoder predicts its logicals alone.
        One that is told rates is told those of the problem; before, it takes them to be nominal.
        """
        problem, fit = require_problem(self.identity, problem)
        identity = self.identity.fitted(problem, fit)
        network, translates, geometry = self._network, self.translates, self._geometry
        rates = None if geometry is None else geometry.rates
        if fit.layout is not None:
            assert geometry is not None  # only networks from files know other rounds
            geometry = geometry.on(problem, fit.layout)
            network = for_rounds(network, geometry)
            if translates is not None:
                translates = dataclasses.replace(translates, check=fit.layout.check)
            rates = geometry.rates
        elif identity == self.identity and rates is None:
            return self
        if rates is not None:
            network = network.told(jnp.asarray(rates.features(problem))[:, :, None])
        return DiffusionDecoder(
            network, identity, self._asked, self.max_batch, translates, geometry
        )

    def asked(self, asking: Asking) -> "DiffusionDecoder":
        """The same model, asked in another way."""
        return DiffusionDecoder(*self._parts(asking))

    def with_steps(self, num_steps: int) -> "DiffusionDecoder":
        """The same model with T unmasking (or reverse Gaussian) steps."""
        return self.asked(self._asked.but(num_steps=num_steps))

    def with_threshold(self, threshold: float) -> "DiffusionDecoder":
        """The same model, unmasking all bits with |logit| >= threshold at every step."""
        return self.asked(self._asked.but(threshold=threshold))

    def with_views(self, count: int) -> "DiffusionDecoder":
        """The same model, letting `count` translates of a shot vote where it is not sure of it."""
        return self.asked(self._asked.but(views=count))

    def with_guess(self, guess: bool = True) -> "DiffusionDecoder":
        """The same model, asked only about shots whose syndrome its first guess does not explain.

        Models that begin with belief propagation are asked so by themselves: it is much faster
        where noise is low. With False they are asked about every shot, as they were trained.
        """
        return self.asked(self._asked.but(guess=guess))

    def with_discard(self, below: float | None) -> "DiffusionDecoder":
        """The same model, giving up on shots whose confidence lies below a probability."""
        return self.asked(self._asked.but(discard_below=below))

    def decode_batch(
        self,
        syndromes: np.ndarray,
        bit_packed_shots: bool = False,
        bit_packed_predictions: bool = False,
    ) -> Bits:
        """(B, M) bits to (B, K) bits; either side may be packed, little-endian."""
        logicals = self.decode_soft(syndromes, bit_packed_shots).logicals
        return pack(logicals) if bit_packed_predictions else logicals

    def decode_soft(
        self, syndromes: np.ndarray, bit_packed_shots: bool = False, at_least: int = 1
    ) -> SoftOutput:
        """Predictions with probabilities, confidence and steps used.

        Batches are padded to `at_least` shots (a power of two): fewer sizes are compiled.
        """
        return self._passes.run(
            read_shots(syndromes, self.num_detectors, bit_packed_shots), at_least
        )

    def decode_or_discard(
        self, syndromes: np.ndarray, bit_packed_shots: bool = False, at_least: int = 1
    ) -> tuple[Bits, np.ndarray]:
        """Predictions (B, K), and which shots to throw away (none without `with_discard`)."""
        soft = self.decode_soft(syndromes, bit_packed_shots, at_least)
        return soft.logicals, soft.discarded(self.asking.discard_below)

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
        return self._passes.start(bits, at_least)

    def trail(self, syndromes: np.ndarray) -> Trail:
        """What the network says of each shot at each step, one logical a step.

        For looking at single shots: every shot is asked about, without guess and votes.
        """
        identity = self.identity
        if not identity.saw_shown_bits or identity.told is not None:
            raise ValueError(
                f"model '{identity.name}' must unmask the logicals of one readout, step by step, "
                f"to be followed: its objective is {identity.objective}, T = "
                f"{identity.trained_steps}."
            )
        bits = read_shots(syndromes, self.num_detectors, bit_packed=False)
        return self._passes.trail(bits)

    @property
    def streams(self) -> bool:
        """Whether `stream` works: for networks that know no number of rounds (messages)."""
        return self._passes.streams

    def stream(self) -> Stream:
        """For shots whose frames are decoded as they are measured: `push` each, then `finish`."""
        return self._passes.stream()

    def frames(self, syndromes: np.ndarray) -> list[Bits]:
        """The frames of whole shots, as a stream takes them."""
        return self._passes.frames(read_shots(syndromes, self.num_detectors, bit_packed=False))

    def warm_up(self, shots: int) -> None:
        """Compiles all that so many shots may need, whatever they are."""
        self._passes.warm_up(shots)

    def __reduce__(self) -> tuple:
        return DiffusionDecoder, self._parts(self._asked.but(dtype=self.asking.dtype))

    def _parts(self, asking: Asking) -> tuple:
        parts = (self._network, self.identity, asking, self.max_batch)
        return *parts, self.translates, self._geometry
