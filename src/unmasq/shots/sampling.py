"""Shots of a problem on the device: endless ones for training, numbered ones for evaluation.

Training draws with the fast `rbg` generator at a physical error rate of its own for each shot.
Evaluation shots are numbered: chunk c of seed s is the same set of bits on every machine (threefry
words compared with integer thresholds, exact parities), so that a network on a GPU and a baseline
on a CPU decode the same shots.
"""

import functools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, UInt8, UInt32
from scipy import sparse

from unmasq.problems.faults import CHANNEL_KINDS, strengths
from unmasq.problems.frames import intermediate_logicals
from unmasq.problems.problem import DecodingProblem
from unmasq.problems.rates import site_shares
from unmasq.shots.drift import Drift, draw_drift

CHUNK_SHOTS = 1024  # part of what a chunk number means: never change it
_GREATEST_RATE = 1 - 2.0**-20  # below 1, where a logarithm is -inf and 0 * -inf would be nan


class Shots(NamedTuple):
    """A batch. `logicals` has a frame axis, (B, R+1, K), where intermediate ones were asked for."""

    syndrome: UInt8[Array, "B M"]
    logicals: UInt8[Array, "B *frames K"]


class ShotSampler(eqx.Module):
    """Draws training shots: faults by their priors at each shot's p, then exact parities."""

    signatures: Float[Array, "rows N"]  # H above L, or above all L Pi[r]
    exponents: Float[Array, "C N"]  # n_jc * power_c: 1 - 2f = prod_c (1 - slope_c p)^exponent
    slopes: Float[Array, " C"]  # base_c * ratio_c
    site_shares: Float[Array, "n N"] | None  # of each fault, where rates drift
    has_formula: bool = eqx.field(static=True)  # else 1 - 2f = (1 - 2 prior)^(p / problem.p)
    num_detectors: int = eqx.field(static=True)
    num_logicals: int = eqx.field(static=True)
    intermediate: bool = eqx.field(static=True)

    def __init__(
        self, problem: DecodingProblem, *, intermediate: bool = False, drifts: bool = False
    ):
        logicals = intermediate_logicals(problem) if intermediate else [problem.logical_matrix]
        self.signatures = _signatures(problem, logicals)
        self.num_detectors = problem.num_detectors
        self.num_logicals = problem.num_logicals
        self.intermediate = intermediate
        self.site_shares = None
        if drifts:
            self.site_shares = jnp.asarray(site_shares(problem))
        channels = problem.channels
        self.has_formula = channels is not None
        if channels is None:
            self.exponents = jnp.asarray(strengths(problem.priors)[None], jnp.float32)
            self.slopes = jnp.asarray([1 / problem.p], jnp.float32)
        else:
            rules = [CHANNEL_KINDS[kind] for kind in channels.kinds]
            powers = np.array([power for _, power in rules])
            bases = np.array([base for base, _ in rules])
            self.exponents = jnp.asarray((channels.counts * powers).T, jnp.float32)
            self.slopes = jnp.asarray(bases * np.array(channels.ratios), jnp.float32)

    def priors(self, p: Float[Array, " B"], drift: Drift | None = None) -> Float[Array, "B N"]:
        """Fault probabilities at each shot's p; scaled ones where the noise has no formula."""
        found = self.channel_strengths(p, drift)
        # A sum, not a matrix product: XLA fuses it into the comparison with the random numbers,
        # and no array of B * N priors is ever written.
        products = (
            found[:, c, None] * exponent[None, :] for c, exponent in enumerate(self.exponents)
        )
        total = functools.reduce(jnp.add, products)
        if drift is not None:
            assert self.site_shares is not None
            total = total * (drift.sites @ self.site_shares)
        return -0.5 * jnp.expm1(-total)

    def channel_strengths(
        self, p: Float[Array, " B"], drift: Drift | None = None
    ) -> Float[Array, "B C"]:
        """-log(1 - slope p) of each kind of channel; without a formula, p / problem.p."""
        rates = p[:, None] * self.slopes[None, :]
        found = -jnp.log1p(-jnp.minimum(rates, _GREATEST_RATE)) if self.has_formula else rates
        return found if drift is None else found * drift.kinds

    def drift(self, spread: float, shots: int, *, key: PRNGKeyArray) -> Drift | None:
        """Factors for so many shots, where rates drift."""
        if self.site_shares is None:
            return None
        return draw_drift(spread, shots, len(self.slopes), len(self.site_shares), key=key)

    def errors(
        self, p: Float[Array, " B"], drift: Drift | None = None, *, key: PRNGKeyArray
    ) -> Float[Array, "B N"]:
        """e for each shot, as 0.0 and 1.0 in the parity product's dtype."""
        priors = self.priors(p, drift)
        return (jr.uniform(key, priors.shape) < priors).astype(self.signatures.dtype)

    def __call__(
        self, p: Float[Array, " B"], drift: Drift | None = None, *, key: PRNGKeyArray
    ) -> Shots:
        """A batch of (s, l), or (s, all l[r])."""
        return self.observe(self.errors(p, drift, key=key))

    def observe(self, errors: Float[Array, "B N"]) -> Shots:
        """s = H e and l = L e (or L Pi[r] e), modulo 2."""
        flips = parity(self.signatures, errors)
        logicals = flips[:, self.num_detectors :]
        if self.intermediate:
            logicals = logicals.reshape(len(flips), -1, self.num_logicals)
        return Shots(flips[:, : self.num_detectors], logicals)


def parity(matrix: Float[Array, "rows N"], errors: Float[Array, "B N"]) -> UInt8[Array, "B rows"]:
    """matrix @ e (mod 2) for each e of the batch.

    Entries are 0 or 1, exact in bfloat16; the counts are not (301 becomes 300, and the parity is
    lost), so they accumulate in float32, exact to 2**24.
    """
    flips = jnp.einsum("bn,rn->br", errors, matrix, preferred_element_type=jnp.float32)
    return (flips.astype(jnp.int32) & 1).astype(jnp.uint8)


class EvaluationShots:
    """Numbered chunks of `CHUNK_SHOTS` shots, bit-equal on every machine."""

    def __init__(self, problem: DecodingProblem, seed: int = 0):
        self._thresholds = jnp.asarray(problem.thresholds())
        self._signatures = _signatures(problem, [problem.logical_matrix])
        self._num_detectors = problem.num_detectors
        # Not jr.key, which reads a seed in another way where 64-bit types are switched on.
        words = jnp.asarray([0, _word(seed, "seed")], jnp.uint32)
        self._key = jr.wrap_key_data(words, impl="threefry2x32")

    def chunk(self, number: int) -> Shots:
        """Shots number * CHUNK_SHOTS and following."""
        number = jnp.uint32(_word(number, "number"))
        with jax.threefry_partitionable(True):  # the setting decides which bits are drawn
            return _chunk(
                self._key, number, self._thresholds, self._signatures, self._num_detectors
            )


@functools.partial(jax.jit, static_argnums=4)
def _chunk(
    key: PRNGKeyArray,
    number: UInt32[Array, ""],
    thresholds: UInt32[Array, " N"],
    signatures: Float[Array, "rows N"],
    num_detectors: int,
) -> Shots:
    words = jr.bits(jr.fold_in(key, number), (CHUNK_SHOTS, thresholds.shape[0]), jnp.uint32)
    flips = parity(signatures, (words < thresholds[None, :]).astype(signatures.dtype))
    return Shots(flips[:, :num_detectors], flips[:, num_detectors:])


def _word(value: int, name: str) -> int:
    if not 0 <= value < 2**32:
        raise ValueError(f"{name} must lie in 0..{2**32 - 1}: got {value}.")
    return value


def _signatures(problem: DecodingProblem, logicals: list) -> Float[Array, "rows N"]:
    """H above the logical rows, dense; in bfloat16 where the device multiplies it fast."""
    dense = sparse.vstack([problem.check_matrix, *logicals]).toarray()
    return jnp.asarray(dense, parity_dtype())


def parity_dtype() -> jnp.dtype:
    """bfloat16 holds 0 and 1 exactly and is fast on GPUs; CPUs multiply float32 faster."""
    return jnp.dtype("float32" if jax.default_backend() == "cpu" else "bfloat16")
