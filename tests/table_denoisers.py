"""Networks that look their log-odds up in a table: hand-made, random or exact. They pickle."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from stub_network import StubNetwork
from unmasq.decoding.diffusion_decoder import DiffusionDecoder
from unmasq.decoding.identity import Identity
from unmasq.diffusion.masking import MASK


class TableDenoiser(StubNetwork):
    """Logits by (syndrome number, tokens): rows of `table` count syndromes little-endian.

    Fewer rows than syndromes: the number is taken modulo the rows.
    """

    table: jnp.ndarray  # (rows, 3^K, K)

    def encode(self, syndrome):
        powers = jnp.asarray([1 << (i % 16) for i in range(syndrome.shape[1])], jnp.int32)
        number = syndrome.astype(jnp.int32) @ powers
        return (number % self.table.shape[0])[None, :, None]  # (tokens, shots, width)

    def denoise(self, memory, tokens):
        powers = jnp.asarray([3**k for k in range(tokens.shape[1])], jnp.int32)
        return self.table[memory[0, :, 0], tokens @ powers].astype(jnp.float32)


class ExactNoise(eqx.Module):
    """Predicts exactly the noise in l_t, for a known l of each syndrome number."""

    logicals: jnp.ndarray  # (rows, K)
    alphas_bar: jnp.ndarray  # t = 0..T

    def __call__(self, noisy, syndrome, t):
        powers = jnp.asarray([1 << i for i in range(syndrome.shape[1])], jnp.int32)
        number = (syndrome.astype(jnp.int32) @ powers) % self.logicals.shape[0]
        kept = self.alphas_bar[t][:, None]
        clean = self.logicals[number].astype(jnp.float32) - 0.5
        return (noisy - jnp.sqrt(kept) * clean) / jnp.sqrt(1 - kept)


def all_tokens(num_logicals: int) -> np.ndarray:
    """Row c holds the tokens with number c."""
    return (np.arange(3**num_logicals)[:, None] // 3 ** np.arange(num_logicals)) % 3


def random_table(num_logicals: int, *, rows: int = 4, seed: int = 0, scale: float = 2.0):
    generator = np.random.default_rng(seed)
    table = scale * generator.normal(size=(rows, 3**num_logicals, num_logicals))
    return TableDenoiser(jnp.asarray(table, jnp.float32))


def exact_table(probabilities: np.ndarray) -> TableDenoiser:
    """The denoiser of a known P(l | s), (rows, 2^K): every conditional log-odds is exact."""
    rows, strings = probabilities.shape
    num_logicals = strings.bit_length() - 1
    bits = (np.arange(strings)[:, None] >> np.arange(num_logicals)) & 1
    table = np.zeros((rows, 3**num_logicals, num_logicals))
    for number, tokens in enumerate(all_tokens(num_logicals)):
        fits = ((tokens == MASK) | (tokens == bits)).all(axis=1)
        for k in range(num_logicals):
            one = probabilities[:, fits & (bits[:, k] == 1)].sum(axis=1)
            zero = probabilities[:, fits & (bits[:, k] == 0)].sum(axis=1)
            table[:, number, k] = np.log(one + 1e-30) - np.log(zero + 1e-30)
    return TableDenoiser(jnp.asarray(table, jnp.float32))


def random_posterior(num_logicals: int, *, rows: int = 4, seed: int = 0) -> np.ndarray:
    weights = np.random.default_rng(seed).gamma(0.3, size=(rows, 2**num_logicals)) + 1e-4
    return weights / weights.sum(axis=1, keepdims=True)


def table_decoder(
    network, num_detectors: int, num_logicals: int, objective: str = "masked", **settings
) -> DiffusionDecoder:
    steps = settings.pop("trained_steps", num_logicals)
    identity = Identity(
        "table", "0123456789abcdef", "0" * 16, objective, steps, num_detectors, num_logicals
    )
    return DiffusionDecoder(network, identity, **settings)
