"""Does free attention learn the code? |A| of each head beside J, trained and at random.

    python benchmarks/attention.py runs/untied --out results/bb36-attention.json

J_ij counts the faults that both places feel: J = M M^T with the rows of L and of H, any frame, in
M. For each head of each decoder layer: Pearson's correlation of |A| with J off the diagonal, and
the same for networks of the same shape with random weights. In the last layer only the rows of
the logicals are read by anything. Keeps J, and of each layer the head that correlates most, for
`unmasq figures`.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import jax.random as jr
import numpy as np
from scipy import sparse

from unmasq.decoding.model_store import find_model
from unmasq.evaluation.model_problem import problem_of_model
from unmasq.files.atomic import write_whole
from unmasq.files.provenance import provenance
from unmasq.models import MaskedDenoiser, build_network
from unmasq.models.weights import load_weights
from unmasq.problems.frames import seen_checks
from unmasq.problems.problem import DecodingProblem

LEVELS = 99  # of a stored matrix: its largest |entry|


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--random", type=int, default=20, help="networks with random weights")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    model = find_model(arguments.model)
    weights = load_weights(model.path)
    problem = problem_of_model(model, None)  # that of its run; p changes nothing here
    shared = shared_faults(problem)
    untrained = [
        attention_of(build_network(weights.config, weights.geometry, key=jr.key(seed)))
        for seed in range(arguments.random)
    ]
    trained = attention_of(weights.network)
    record = {
        "made_by": provenance(),
        "model_hash": model.model_hash,
        "problem": problem.name,
        "noise": problem.noise,
        "structure_id": problem.structure_id,
        "num_logicals": problem.num_logicals,
        "shared_faults": shared.tolist(),
        "layers": [
            layer_record(number, trained, untrained, shared, problem.num_logicals)
            for number in range(len(trained))
        ],
    }
    write_whole(arguments.out, json.dumps(record) + "\n")
    for layer in record["layers"]:
        print(layer["layer"], np.round(layer["trained"], 3), np.round(layer["random"], 3))


def shared_faults(problem: DecodingProblem) -> np.ndarray:
    """J, logicals first: how many faults both places feel, a check in whichever frame."""
    rows = sparse.vstack([problem.logical_matrix, seen_checks(problem)[-1]]).astype(np.int64)
    return np.asarray((rows @ rows.T).todense())


def attention_of(network: Any) -> np.ndarray:
    """(layers, heads, places, places): what multiplies the values in each decoder layer."""
    assert isinstance(network, MaskedDenoiser)
    found = [network.places.expand(block.mixing.attention) for block in network.blocks]
    return np.asarray(found)


def layer_record(
    number: int, trained: np.ndarray, untrained: list[np.ndarray], shared: np.ndarray, logicals: int
) -> dict[str, Any]:
    rows = logicals if number == len(trained) - 1 else len(shared)
    correlations = [correlation(head, shared, rows) for head in trained[number]]
    at_random = [correlation(head, shared, rows) for one in untrained for head in one[number]]
    best = int(np.argmax(correlations))
    matrix = trained[number, best]
    return {
        "layer": number + 1,
        "rows": rows,
        "trained": [round(x, 4) for x in correlations],
        "random": [round(float(f(at_random)), 4) for f in (np.min, np.mean, np.max)],
        "random_heads": len(at_random),
        "head": best + 1,
        "matrix": np.rint(LEVELS * matrix / np.abs(matrix).max()).astype(int).tolist(),
    }


def correlation(head: np.ndarray, shared: np.ndarray, rows: int) -> float:
    """Pearson's, of |A| with J off the diagonal, over the first `rows` rows."""
    off = ~np.eye(len(shared), dtype=bool)[:rows]
    return float(np.corrcoef(np.abs(head[:rows][off]), shared[:rows][off])[0, 1])


if __name__ == "__main__":
    main()
