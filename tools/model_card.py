"""Writes what was measured into the card of a weight file: counts from CSVs, times from `bench`.

    python tools/model_card.py src/unmasq/weights/bb72-circuit.safetensors \\
        --counts results/bb72-circuit.csv results/bb72-ways.csv \\
        --bench results/bb72-circuit-bench-h200.json

Counts are those of this very model, and of the baselines that decoded the same shots.
"""

import argparse
import hashlib
import json
from pathlib import Path

from unmasq.decoding.model_store import find_model
from unmasq.evaluation.counts import Counts
from unmasq.evaluation.stats_file import read_counts
from unmasq.files.model_card import write_card


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("--counts", type=Path, nargs="+", default=[])
    parser.add_argument("--bench", type=Path)
    arguments = parser.parse_args()
    model = find_model(arguments.weights)
    counts = [c for path in arguments.counts for c in read_counts(path)]
    own = [c for c in counts if c.point.model_hash == model.model_hash]
    seeds = {c.point.seed for c in own}
    if len(seeds) != 1:
        raise SystemExit(f"error: counts must be of one seed: got {sorted(seeds) or 'none'}.")
    shots = {c.point.shots_id for c in own}
    others = [c for c in counts if c.point.model_hash is None and c.point.shots_id in shots]
    card = {
        **model.card,
        "file_sha256": hashlib.sha256(model.path.read_bytes()).hexdigest(),
        "measured": measured([*own, *others]),
    }
    if arguments.bench is not None:
        timings = json.loads(arguments.bench.read_bytes())["timings"]
        name = model.decoder_name
        card["timings"] = [t for t in timings if t["decoder"].partition(",")[0] == name]
        for timing in card["timings"]:
            for kept in ("histogram_ms", "microseconds"):  # by the bench file
                timing["latency_batch_1"].pop(kept, None)
    write_card(model.path, card)
    print(f"{len(card['measured'])} counts, {len(card.get('timings', []))} timings")


def measured(counts: list[Counts]) -> list[dict]:
    """Rows of the card: by p, the plain network first, baselines last."""
    ordered = sorted(counts, key=lambda c: (c.point.p, c.point.model_hash is None, c.point.decoder))
    return [
        {
            "p": c.point.p,
            "decoder": c.point.decoder,
            "rounds": c.point.rounds,
            "seed": c.point.seed,
            "dtype": c.point.dtype,
            "errors": c.errors,
            "shots": c.shots,
            "rate": str(c.rate),
        }
        for c in ordered
    ]


if __name__ == "__main__":
    main()
