"""`unmasq models`: the weights that decoders can be loaded from, and their cards."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmasq.cli.options import JsonOutput

if TYPE_CHECKING:
    from unmasq.decoding.model_store import ModelFile


def models(
    name: Annotated[
        str | None, typer.Argument(help="Show the card of this model; a path will do, too.")
    ] = None,
    json_output: JsonOutput = False,
) -> None:
    """List the shipped models and, through UNMASQ_MODELS, your own."""
    from unmasq.decoding.model_store import find_model, known_models

    if name is not None:
        _print_card(find_model(name), json_output)
        return
    records = [_record(model) for model in known_models()]
    if json_output:
        print(json.dumps(records))
        return
    if not records:
        print("No model is installed. Train one with `unmasq train` and name its folder in")
        print("UNMASQ_MODELS.")
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("name", "in result files", "problem", "from"):
        table.add_column(heading, no_wrap=heading != "problem")
    for r in records:
        table.add_row(
            escape(r["name"]),
            r["decoder"],
            escape(_describe(r)),
            ("shipped" if r["shipped"] else "own") + (", default" if r["default"] else ""),
        )
    Console(width=max(Console().width, 88)).print(table)  # narrower ones break words
    print(
        "Where several models fit a problem, the default one is taken.\n"
        "`unmasq models NAME` shows a model's card; --json has paths and full hashes."
    )


def _print_card(model: "ModelFile", json_output: bool) -> None:
    text = model.path.with_suffix(".md")
    if text.exists() and not json_output:
        print(text.read_text(encoding="utf-8").rstrip())
        return
    print(json.dumps({**_record(model), **model.card}, indent=None if json_output else 1))


def _record(model: "ModelFile") -> dict[str, Any]:
    from unmasq.decoding.asking import Asking

    identity, noise = model.identity, model.identity.noise
    return {
        "name": model.name,
        "decoder": identity.decoder_name(identity.settled(Asking())),
        "model_hash": model.model_hash,
        "structure_id": model.structure_id,
        "problem": model.header.get("problem", {}),
        "trained_at": None if noise is None else [noise.low, noise.high],
        "num_detectors": model.num_detectors,
        "num_logicals": model.num_logicals,
        "objective": model.header.get("objective"),
        "num_steps": model.header.get("num_steps"),
        "parameters": model.num_parameters,
        "shipped": model.shipped,
        "any_rounds": bool(identity.any_rounds),
        "default": bool(model.card.get("default")),
        "path": str(model.path),
    }


def _describe(record: dict[str, Any]) -> str:
    """'bb72, circuit, basis X, 6 rounds, p = 0.003 to 0.006'."""
    problem, trained_at = record["problem"], record["trained_at"]
    parts = [str(problem.get("code") or problem.get("name") or "unknown")]
    if problem.get("noise"):
        parts.append(problem["noise"])
    if problem.get("basis"):
        parts.append(f"basis {problem['basis']}")
    if problem.get("num_rounds"):
        parts.append("any rounds" if record["any_rounds"] else f"{problem['num_rounds']} rounds")
    if trained_at is not None:
        parts.append("p = " + " to ".join(f"{p:.4g}" for p in sorted(set(trained_at))))
    return ", ".join(parts)
