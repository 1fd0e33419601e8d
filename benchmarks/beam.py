"""Is greedy unmasking good enough? Greedy decoding beside a beam search on the same shots.

    python benchmarks/beam.py bb72-circuit --p 0.006 --shots 1024 --width 4 --list 16

Prints one JSON record: how often each fails, and how much more likely the beam's chains are, in
nats. Greedy reveals one bit a step (T = K). With `--list N` the first N shots are also compared
with the most likely of all 2^K strings in one fixed order.
"""

import argparse
import functools
import json
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from beam_search import beam_search, chain_log_probabilities, denoise_many, strings_of

from unmasq.decoding.expanded import expand_ties
from unmasq.decoding.model_store import find_model
from unmasq.decoding.unmasking import Unmasked, unmask
from unmasq.evaluation.model_problem import problem_of_model
from unmasq.files.provenance import provenance
from unmasq.models.weights import load_weights
from unmasq.shots.reader import ShotReader

BATCH = 64  # a beam of width W decodes W times as many


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--p", type=float, required=True)
    parser.add_argument("--shots", type=int, default=1024)
    parser.add_argument("--width", type=int, default=4)
    parser.add_argument("--list", type=int, default=0, help="shots to list all strings of")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    model = find_model(arguments.model)
    network = expand_ties(load_weights(model.path).network)
    shots = ShotReader(problem_of_model(model, arguments.p), arguments.seed).read(
        0, arguments.shots
    )
    record = {
        "made_by": provenance(),
        "model_hash": model.model_hash,
        "p": arguments.p,
        "seed": arguments.seed,
        **compared(network, *shots, arguments.width, arguments.list),
    }
    print(json.dumps(record))


def compared(
    network: Any, syndromes: np.ndarray, logicals: np.ndarray, width: int, listed: int = 0
) -> dict[str, Any]:
    """Greedy decoding and a beam of `width` on the same shots."""
    size = logicals.shape[1]

    def greedy(memory: jax.Array) -> Unmasked:
        return unmask(functools.partial(network.denoise, memory), memory.shape[1], size, size)

    def beam(memory: jax.Array) -> Unmasked:
        return beam_search(denoise_many(network, memory), memory.shape[1], size, width)

    found = [_decoded(network, way, syndromes) for way in (greedy, beam)]
    wrong = [(answers != logicals).any(axis=1) for answers, _ in found]
    gain = found[1][1] - found[0][1]
    record = {
        "shots": len(syndromes),
        "width": width,
        "greedy_failures": int(wrong[0].sum()),
        "beam_failures": int(wrong[1].sum()),
        "other_answers": int((found[0][0] != found[1][0]).any(axis=1).sum()),
        "only_greedy_fails": int((wrong[0] & ~wrong[1]).sum()),
        "only_beam_fails": int((wrong[1] & ~wrong[0]).sum()),
        "mean_gain_nats": float(gain.mean()),
        "max_gain_nats": float(gain.max()),
    }
    if listed:
        best = _most_likely(network, syndromes[:listed], size)
        agree = [int((answers[:listed] == best).all(axis=1).sum()) for answers, _ in found]
        record |= {"listed": len(best), "greedy_is_best": agree[0], "beam_is_best": agree[1]}
    return record


def _decoded(
    network: Any, way: Callable[[jax.Array], Unmasked], syndromes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The logicals of each shot, and the log-likelihood of the chain that led to them."""

    @jax.jit
    def decode(shots: jax.Array) -> tuple[jax.Array, jax.Array]:
        memory, _, guess = network.begin(shots)
        answers = way(memory).on(guess)
        return answers.logicals, answers.log_likelihood

    parts = [decode(syndromes[i : i + BATCH]) for i in range(0, len(syndromes), BATCH)]
    logicals, values = zip(*parts, strict=True)
    return np.concatenate(logicals), np.concatenate(values)


def _most_likely(network: Any, syndromes: np.ndarray, size: int) -> np.ndarray:
    """The most likely string of each shot, of all 2^K, in the chain of bits 0, 1, ..."""

    @jax.jit
    def best(shot: jax.Array) -> tuple[jax.Array, jax.Array]:
        memory, _, guess = network.begin(shot)
        table = chain_log_probabilities(denoise_many(network, memory), 1, size)
        return jnp.argmax(table, axis=1), jnp.zeros(
            (1, size), jnp.uint8
        ) if guess is None else guess

    found = [best(shot[None]) for shot in syndromes]
    numbers, guesses = (np.concatenate(part) for part in zip(*found, strict=True))
    return strings_of(numbers, size) ^ guesses


if __name__ == "__main__":
    main()
