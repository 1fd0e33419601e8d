"""Model cards: what is known about a weight file, in JSON and Markdown beside it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unmasq.files.atomic import write_whole

RUN_FACTS = ("samples", "updates", "seconds", "device", "commit")
LATENCIES = ("p50_ms", "p99_ms", "max_ms")


def write_card(weights: Path, card: Mapping[str, Any]) -> None:
    """NAME.json and NAME.md beside NAME.safetensors."""
    write_whole(weights.with_suffix(".json"), json.dumps(card, indent=1) + "\n")
    write_whole(weights.with_suffix(".md"), card_text(card))


def read_card(path: Path) -> dict[str, Any]:
    """A card's JSON; {} where there is none."""
    if not path.exists():
        return {}
    try:
        card = json.loads(path.read_bytes())
        if not isinstance(card, dict):
            raise ValueError(f"a {type(card).__name__} has no keys")
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} must be a model card: {error}. Take it away to go on without."
        ) from error
    return card


def history_of(init: str | Path) -> list[dict[str, Any]]:
    """The runs that made the weights `init`, oldest first, from the card beside them."""
    path = Path(init)
    cards = sorted(path.glob("*.json")) if path.is_dir() else [path.with_suffix(".json")]
    for card_path in cards:
        card = read_card(card_path)
        if "model_hash" in card:
            run = {key: card.get(key) for key in ("model_hash", *RUN_FACTS, "stream", "recipe")}
            return [*card.get("history", []), run]
    return [{"model_hash": None, "source": path.name}]  # a checkpoint: its run had no end


def card_text(card: Mapping[str, Any]) -> str:
    """The model card as Markdown.

    `tools/model_card.py` adds what was measured later: "measured" counts and "timings".
    """
    about = card["problem"]
    rounds = f"{about['num_rounds']} rounds, " if about["num_rounds"] else ""
    lines = [
        f"# {card['name']}",
        "",
        f"Decoder for `{about['name']}`, {about['noise']} noise, {rounds}"
        f"basis {about['basis']}: {card['num_detectors']} detectors in, "
        f"{card['num_logicals']} logicals out.",
        "",
        "| | |",
        "| --- | --- |",
        f"| structure | `{card['structure_id']}` |",
        f"| model hash | `{card['model_hash'][:16]}` |",
        f"| parameters | {card['parameters']:,} (stored in 16 bit) |",
        f"| objective | {card['objective']}, T = {card['num_steps']} |",
    ]
    if card.get("noise"):
        lines.append(
            f"| trained at | p = {card['noise']['low']:.4g} to {card['noise']['high']:.4g} |"
        )
    for key in (*RUN_FACTS, "status"):
        if card.get(key) is not None:
            value = card[key]
            lines.append(f"| {key} | {f'{value:,}' if isinstance(value, int) else value} |")
    if card.get("history"):
        runs = [*card["history"], card]
        samples, seconds = (
            sum(run.get(key) or 0 for run in runs) for key in ("samples", "seconds")
        )
        distinct = card.get("distinct_samples")
        drawn = f"{samples:,} samples" + (f", {distinct:,} of them distinct" if distinct else "")
        lines += [f"| all {len(runs)} runs together | {drawn}, {seconds:,.0f} seconds |"]
    if card.get("evaluation"):
        stored = card.get("evaluated", {}).get("weights") == "float16"
        lines += [
            "",
            f"Block error rate (any logical wrong{', all rounds together' if rounds else ''}), "
            "numbered shots of the",
            f"training seed, asked as trained (T = {card['num_steps']}), and with T = 1, of the "
            f"{'weights in this file' if stored else 'float32 weights that were then rounded'}:",
            "",
            "| p | failures / shots | rate | T = 1 failures |",
            "| --- | --- | --- | --- |",
        ]
        lines += [
            f"| {row['p']} | {row['failures']} / {row['shots']} | "
            f"{row['failures'] / row['shots']:.3g} | {row.get('failures_T1', '')} |"
            for row in card["evaluation"]
        ]
    if card.get("measured"):
        lines += [
            "",
            "Measured with `unmasq evaluate` on shots of seed "
            f"{card['measured'][0]['seed']}; where there are fewer, the first of them. Rates are "
            "per shot, with 95 % intervals:",
            "",
            "| p | decoder | failures / shots | rate [95 %] |",
            "| --- | --- | --- | --- |",
        ]
        for row in card["measured"]:
            dtype = f", {row['dtype']}" if row["dtype"] else ""
            if row.get("rounds") not in (None, about["num_rounds"]):
                dtype += f", {row['rounds']} round" + "s" * (row["rounds"] > 1)
            lines.append(
                f"| {row['p']:g} | `{row['decoder']}`{dtype} | {row['errors']} / {row['shots']} | "
                f"{row['rate']} |"
            )
    if card.get("timings"):
        batches = [entry["batch"] for entry in card["timings"][0]["throughput"]]
        lines += [
            "",
            f"Time on one {card['timings'][0]['device']}, {card['timings'][0]['dtype']}, with "
            "`unmasq bench`; compilation is not in it:",
            "",
            "| decoder | one shot: median, 99 %, slowest (ms) | "
            + " | ".join(f"shots/s, batch {batch}" for batch in batches)
            + " |",
            "| --- | --- |" + " --- |" * len(batches),
        ]
        lines += [
            f"| `{row['decoder']}` | "
            + ", ".join(f"{row['latency_batch_1'][key]:.2f}" for key in LATENCIES)
            + " | "
            + " | ".join(f"{entry['shots_per_second']:,.0f}" for entry in row["throughput"])
            + " |"
            for row in card["timings"]
        ]
    for limit in card.get("limits", []):
        lines += ["", limit]
    lines += ["", "The whole recipe is in the JSON file beside this card.", ""]
    return "\n".join(lines)
