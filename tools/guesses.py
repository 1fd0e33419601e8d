"""Counts how often belief propagation's guess explains the syndrome, and is wrong all the same.

    python tools/guesses.py bb144-capacity --counts results/bb144-capacity.csv \\
        --max-shots 131072 --out results/bb144-capacity-guesses.json

For models that begin with belief propagation. The shots are those of the model's stored counts,
whose flags say on which of the same shots the network failed.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np

from unmasq.decoding.model_store import find_model
from unmasq.evaluation.counts import Counts
from unmasq.evaluation.failures import read_flags
from unmasq.evaluation.model_problem import problem_of_model
from unmasq.evaluation.stats_file import read_counts
from unmasq.files.atomic import write_whole
from unmasq.files.provenance import provenance
from unmasq.models.weights import load_weights
from unmasq.shots.reader import ShotReader

BATCH = 8192


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--counts", type=Path, required=True)
    parser.add_argument("--max-shots", type=int, default=131_072)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    model = find_model(arguments.model)
    network = load_weights(model.path).network
    own = [c for c in read_counts(arguments.counts) if c.point.decoder == model.decoder_name]
    rows = []
    for counts in sorted(own, key=lambda c: c.point.p):
        shots = min(counts.shots, arguments.max_shots)
        reader = ShotReader(problem_of_model(model, counts.point.p), counts.point.seed)
        failed = read_flags(arguments.counts, counts).failed[:shots]
        rows.append(counted(network, reader, counts, failed))
        print(rows[-1])
    record = {"made_by": provenance(), "model_hash": model.model_hash, "guesses": rows}
    write_whole(arguments.out, json.dumps(record, indent=1) + "\n")


def counted(network: Any, reader: ShotReader, counts: Counts, failed: np.ndarray) -> dict[str, Any]:
    guess = eqx.filter_jit(network.guess)
    solved, right = [], []
    for first in range(0, len(failed), BATCH):
        syndromes, logicals = reader.read(first, min(first + BATCH, len(failed)))
        found = guess(syndromes)
        solved.append(np.asarray(found.solved))
        right.append((np.asarray(found.logicals) == logicals).all(axis=1))
    explained, wrong = np.concatenate(solved), ~np.concatenate(right)
    return {
        "p": counts.point.p,
        "seed": counts.point.seed,
        "shots": len(failed),
        "unsolved": int((~explained).sum()),
        "solved_but_wrong": int((explained & wrong).sum()),
        "network_wrong_on_solved": int((explained & failed).sum()),
        "network_wrong": int(failed.sum()),
    }


if __name__ == "__main__":
    main()
