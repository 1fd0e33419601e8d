"""Could another decoder have saved the shots that a network fails on?

    python benchmarks/failed_shots.py bb72-messages results/bb72-circuit.csv --p 0.001 \\
        --decoders relay5-xz bb72-circuit

Draws the failed shots of a CSV of counts again, and asks the network once more (in another dtype it
may save a shot) and others: baselines by name, networks by name or path. A shot that all of them
lose was probably lost to chance: the likelier answer was the wrong one. Prints one JSON record, in
which 1 is a failure.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from unmasq import load
from unmasq.baselines import is_baseline, make_baseline
from unmasq.decoding.decoder import Decoder
from unmasq.decoding.model_store import find_model
from unmasq.evaluation.counts import Counts
from unmasq.evaluation.failures import read_flags
from unmasq.evaluation.model_problem import problem_of_model
from unmasq.evaluation.stats_file import read_counts
from unmasq.files.provenance import provenance
from unmasq.shots.reader import ShotReader


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("counts", type=Path, help="CSV with its .failures.jsonl beside it")
    parser.add_argument("--p", type=float, required=True)
    parser.add_argument("--decoders", nargs="+", default=["relay5-xz"], metavar="NAME")
    arguments = parser.parse_args()
    model = find_model(arguments.model)
    counts = _counts(arguments.counts, model.decoder_name, arguments.p)
    problem = problem_of_model(model, arguments.p)
    failed = np.flatnonzero(read_flags(arguments.counts, counts).failed)
    if not failed.size:
        raise ValueError(f"{arguments.counts} must hold failed shots of it: got none.")
    reader = ShotReader(problem, counts.point.seed)
    shots = [reader.read(number, number + 1) for number in failed.tolist()]
    syndromes, happened = (np.concatenate(parts) for parts in zip(*shots, strict=True))
    network = load(arguments.model)
    decoders: dict[str, Decoder] = {counts.point.decoder: network}
    for name in arguments.decoders:
        decoders[name] = make_baseline(name, problem) if is_baseline(name) else load(name)
    confidence = network.decode_soft(syndromes).confidence
    record = {
        "made_by": provenance(),
        "problem": repr(problem),
        "failures": counts.errors,
        "shots": counts.shots,
        **compared(decoders, syndromes, happened),
        "shot_numbers": failed.tolist(),
        "confidence": [round(float(value), 4) for value in confidence],
    }
    print(json.dumps(record))


def compared(
    decoders: Mapping[str, Decoder], syndromes: np.ndarray, happened: np.ndarray
) -> dict[str, object]:
    """How many of the shots each decoder loses, how many all of them lose, and which."""
    wrong = {
        name: (decoder.decode_batch(syndromes) != happened).any(axis=1)
        for name, decoder in decoders.items()
    }
    return {
        "fail": {name: int(each.sum()) for name, each in wrong.items()},
        "all_fail": int(np.all(list(wrong.values()), axis=0).sum()),
        "wrong": {name: each.astype(int).tolist() for name, each in wrong.items()},
    }


def _counts(path: Path, decoder: str, p: float) -> Counts:
    for counts in read_counts(path):
        if counts.point.decoder == decoder and counts.point.p == p:
            return counts
    raise ValueError(f"{path} must hold counts of {decoder} at p = {p}: got none.")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
