"""The paper's tables I and II, as Markdown: its networks and its training, and ours beside them.

Ours are computed: parameters are counted in networks of the recipes' shapes, settings are read
from the recipes and from the cards of the models. Only what stands in `_PAPER` was copied.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax

from unmasq.codes import get_code
from unmasq.decoding.model_store import ModelFile
from unmasq.models import Geometry, NetworkConfig, network_shapes
from unmasq.models.catalogue_geometries import capacity_geometry, memory_geometry
from unmasq.recipes import RECIPES

PLACE_WEIGHTS = "paper-bb144-capacity"  # the recipe whose network has them
_HEAD_NETWORKS = (
    "network", "code", "T", "encoder, decoder layers", "heads", "width", "feedforward",
    "parameters", "in the paper",
)  # fmt: skip
_HEAD_TRAINING = (
    "network", "code", "batch", "learning rate", "p", "stages: frames with a loss", "updates",
    "samples", "time", "seed",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class _Published:
    """What the paper's tables say of one of its networks."""

    what: str
    parameters: str
    time: str


_PAPER = {
    "paper-bb72-continuous": _Published("continuous, code capacity", "13,557,784", "32 hours"),
    "paper-bb144-continuous": _Published("continuous, code capacity", "13,852,696", "42 hours"),
    "paper-bb72-capacity": _Published("masked, code capacity", "956,929", "4 days"),
    "paper-bb144-capacity": _Published("masked, code capacity", "11,112,193", "4 days"),
    "paper-bb72-circuit": _Published("masked, circuit noise", "2,705,217", "32 hours"),
    "paper-bb144-circuit": _Published("masked, circuit noise", "10,820,225", "10 days"),
}
# The autoregressive decoders of others that the paper compares with: not built here.
_AUTOREGRESSIVE = (
    ("AR of others, code capacity", "[[72,12,6]]", "16,289,364"),
    ("AR of others, circuit noise", "[[72,12,6]]", "4.77 million"),
    ("AR of others, circuit noise", "[[144,12,12]]", "19.0 million"),
)


def paper_tables(models: Sequence[ModelFile]) -> str:
    """Both, as a page."""
    return (
        f"# Table I: networks\n\n{networks_table(models)}\n{place_weights_note()}\n"
        f"# Table II: training\n\n{training_table(models)}"
    )


def networks_table(models: Sequence[ModelFile]) -> str:
    """Table I: sizes of the paper's networks, as counted here, and of the models."""
    rows = [
        _network_row(f"{paper.what} (`{name}`)", recipe_facts(name), _count(name), paper.parameters)
        for name, paper in _PAPER.items()
    ]
    blank = [""] * 5
    rows += [[what, code, *blank, "not built here", count] for what, code, count in _AUTOREGRESSIVE]
    rows += [
        _network_row(f"**`{model.name}`**", model.card["recipe"], model.num_parameters, "")
        for model in models
        if "recipe" in model.card
    ]
    return _markdown(_HEAD_NETWORKS, rows)


def training_table(models: Sequence[ModelFile]) -> str:
    """Table II: how the paper's networks are trained by our recipes, and how the models were."""
    rows = []
    for name, paper in _PAPER.items():
        recipe = recipe_facts(name)
        time = f"{paper.time} of one A100 (not run here)"
        rows.append(_training_row(f"{paper.what} (`{name}`)", recipe, time))
    for model in models:
        card = model.card
        if "recipe" in card:
            runs = len(card.get("history", [])) + 1
            last = f" (settings: the last of {runs} runs)" if runs > 1 else ""
            rows.append(_training_row(f"**`{model.name}`**{last}", card["recipe"], "", card))
    return _markdown(_HEAD_TRAINING, rows)


def place_weights_note() -> str:
    """What the paper's count holds that its text does not mention."""
    config = RECIPES[PLACE_WEIGHTS].network
    without = dataclasses.replace(config, place_weights=False)
    geometry = geometry_of(PLACE_WEIGHTS)
    more = count(config, geometry) - count(without, geometry)
    places = geometry.num_logicals + geometry.layout.num_checks
    return (
        f"The masked code-capacity network for [[144,12,12]] as the paper's text describes it has "
        f"{count(without, geometry):,} parameters, {more:,} fewer than its table says: just one "
        f"number for each of the {places} × {places} places of an attention matrix in each of its "
        f"{config.decoder_layers} layers. `{PLACE_WEIGHTS}` therefore has such a weight W beside "
        "the matrices A of a layer (A * W, W = 1 at first; `network.place_weights=true`), as the "
        "encoder of the circuit-level network has its K. This fits the count; that it is what the "
        "authors did is a guess. All other counts agree without it.\n"
    )


def geometry_of(name: str) -> Geometry:
    """Of a recipe's problem, which need not be built for it."""
    problem = RECIPES[name].problem
    assert problem.code is not None
    if problem.noise == "code-capacity":
        return capacity_geometry(problem.code)
    rounds = problem.rounds or get_code(problem.code).distance
    assert rounds is not None
    return memory_geometry(problem.code, rounds, problem.basis)


def count(config: NetworkConfig, geometry: Geometry) -> int:
    """Parameters of a network of this shape; none are drawn."""
    shapes = eqx.filter(network_shapes(config, geometry), _is_weight)
    return sum(leaf.size for leaf in jax.tree.leaves(shapes))


def recipe_facts(name: str) -> dict[str, Any]:
    """A recipe as a card keeps it."""
    return dataclasses.asdict(RECIPES[name])


def budget(card: Mapping[str, Any]) -> str:
    """What a model's training took, over all its runs; '' where the card does not say.

    >>> budget({"seconds": 90.0, "samples": 2_000_000, "device": "one GPU", "history": []})
    '1.5 minutes of one GPU, 2.0 M samples'
    """
    runs = [*card.get("history", []), card]
    if not all(run.get("seconds") and run.get("samples") for run in runs):
        return ""
    minutes = sum(run["seconds"] for run in runs) / 60
    samples = sum(run["samples"] for run in runs) / 1e6
    device = str(card.get("device", "")).replace("NVIDIA ", "")
    device = device if device.startswith("one ") else f"one {device}"
    each = f" in {len(runs)} runs" if len(runs) > 1 else ""
    length = f"{minutes:.2g}" if minutes < 10 else f"{minutes:.0f}"
    return f"{length} minutes of {device}{each}, {samples:.1f} M samples"


def _count(name: str) -> int:
    return count(RECIPES[name].network, geometry_of(name))


def _is_weight(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and jax.numpy.issubdtype(leaf.dtype, jax.numpy.floating)


def _network_row(
    what: str, recipe: Mapping[str, Any], parameters: int, published: str
) -> list[str]:
    network = recipe["network"]
    code = get_code(recipe["problem"]["code"])
    both = 2 if recipe["problem"]["noise"] == "code-capacity" else 1
    masked = network["kind"] == "masked"
    layers = f"{network['encoder_layers']}, {network['decoder_layers']}" if masked else ""
    return [
        what,
        code.label,
        str(recipe["num_steps"] or both * code.k),
        layers,
        str(network["heads"]) if masked else "",
        str(network["width"]) if masked else "",
        f"{network['feedforward']:,}",
        f"{parameters:,}",
        published,
    ]


def _training_row(
    what: str, recipe: Mapping[str, Any], time: str, card: Mapping[str, Any] | None = None
) -> list[str]:
    runs = [] if card is None else [*card.get("history", []), card]
    runs = runs or [{"updates": recipe["num_updates"], **_samples_of(recipe)}]
    updates, samples = (
        sum(run[key] for run in runs) if all(run.get(key) for run in runs) else None
        for key in ("updates", "samples")
    )
    noise = recipe["noise"]
    trained_at = f"{noise['p']:g}"
    if noise["low"] < 1:
        trained_at = f"{noise['low'] * noise['p']:.3g} to {trained_at}"
    return [
        what,
        get_code(recipe["problem"]["code"]).label,
        f"{recipe['batch_size']:,}",
        _learning_rate(recipe["optimizer"]),
        trained_at,
        _stages(recipe),
        "" if updates is None else f"{updates:,}",
        "" if samples is None else f"{samples / 1e6:,.0f} M",
        time if card is None else budget(card).partition(",")[0],
        "" if card is None else str(recipe["seed"]),
    ]


def _samples_of(recipe: Mapping[str, Any]) -> dict[str, int]:
    return {"samples": recipe["num_updates"] * recipe["batch_size"]}


def _stages(recipe: Mapping[str, Any]) -> str:
    """'from 0, … 5 up to 6: 80,000 updates each; the last alone': the frames of each stage."""
    parts = []
    for alike, group in itertools.groupby(
        recipe["stages"], lambda stage: (stage["last"], stage["fraction"], stage["rate"])
    ):
        (last, fraction, rate), firsts = alike, [stage["first"] for stage in group]
        each = f"{fraction * recipe['num_updates']:,.0f} updates"
        start = f"{firsts[0]}" if len(firsts) == 1 else f"{firsts[0]}, … {firsts[-1]}"
        parts.append(
            f"from {start} up to {'the last' if last < 0 else last}: {each}"
            + " each" * (len(firsts) > 1)
            + f", {rate:g} of the rate" * (rate != 1)
        )
    return "; ".join([*parts, "the last alone"]) if parts else ""


def _learning_rate(optimizer: Mapping[str, Any]) -> str:
    """'1e-4, from 1e-6', or the end that it falls to."""
    words = _digits(optimizer["learning_rate"])
    ends = {"from": optimizer["first"], "down to": optimizer["last"]}
    for word, factor in ends.items():
        if 0 < factor < 1:
            words += f", {word} {_digits(factor * optimizer['learning_rate'])}"
    if optimizer["kind"] == "muon":
        return f"Muon {optimizer['muon_learning_rate']:g}, else AdamW {words}"
    return f"AdamW {words}"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _digits(number: float) -> str:
    """At most two of them.

    >>> _digits(0.00035), _digits(0.001)
    ('3.5e-4', '1e-3')
    """
    return f"{number:.1e}".replace(".0e", "e").replace("e-0", "e-")
