"""docs/results.md and its picture show what is stored in results/, and nothing else."""

import importlib.util
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from unmasq.decoding.model_store import SHIPPED, find_model
from unmasq.evaluation.stats_file import read_counts
from unmasq.report.figure_files import numbers_of, save_figure
from unmasq.report.figures import error_rate_figure

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "results.md"
PICTURE = ROOT / "docs" / "bb72-circuit.svg"
AGAIN = "python tools/results_page.py"
MODELS = ("bb72-messages", "bb72-circuit")
SHOWN = ("bposd-x", "relay-xz", "relay5-xz")  # beside them
DRAW_AGAIN = "see tools/results_page.py"


def page_tool():
    path = ROOT / "tools" / "results_page.py"
    spec = importlib.util.spec_from_file_location("results_page", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def described(path: Path) -> str:
    """The numbers that a drawn SVG holds."""
    tree = ElementTree.parse(path)
    (text,) = (element.text for element in tree.iter() if element.tag.endswith("description"))
    return text


def test_the_tables_are_those_of_the_results():
    """Also where one of them was changed by hand."""
    text = PAGE.read_text(encoding="utf-8")
    changed = text.replace("| 120 / 4285888 |", "| 121 / 4285888 |")
    assert changed != text
    assert page_tool().filled(changed) == text, f"run {AGAIN}"
    assert len(re.findall(r"^\| 0\.\d+ ", text, re.M)) > 40


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.safetensors")), ids=lambda path: path.stem)
def test_every_shipped_model_is_on_the_page(path):
    model, text = find_model(path), PAGE.read_text(encoding="utf-8")
    for word in (f"`{model.name}`", f"`{model.model_hash[:16]}`", f"`{model.structure_id}`"):
        assert word in text


def decoder_name(model: str) -> str:
    return find_model(model).decoder_name


def test_the_picture_is_drawn_from_the_results(tmp_path):
    counts = [
        c
        for c in read_counts(ROOT / "results" / "bb72-circuit.csv")
        if c.point.decoder in (*map(decoder_name, MODELS), *SHOWN)
    ]
    assert described(PICTURE) == numbers_of(counts), f"run {DRAW_AGAIN}"
    again = tmp_path / "again.svg"
    save_figure(error_rate_figure(counts), again, numbers_of(counts))
    assert described(again) == described(PICTURE)
    assert PICTURE.stat().st_size < 100_000


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.safetensors")), ids=lambda path: path.stem)
def test_the_cards_hold_the_counts_of_the_results(path):
    """All of this very model, and those of the baselines on its shots."""
    model = find_model(path)
    counts = read_counts(
        *sorted((ROOT / "results").glob(f"{model.header['problem']['code']}-*.csv"))
    )
    own = [c for c in counts if c.point.model_hash == model.model_hash]
    shots = {c.point.shots_id for c in own}
    others = [c for c in counts if c.point.model_hash is None and c.point.shots_id in shots]
    found = {(c.point.p, c.point.decoder, c.errors, c.shots, str(c.rate)) for c in (*own, *others)}
    keys = ("p", "decoder", "errors", "shots", "rate")
    assert {tuple(row[key] for key in keys) for row in model.card["measured"]} == found


def test_no_shot_is_counted_in_two_files():
    """`unmasq figures --from results` refuses such files."""
    assert len(read_counts(*sorted((ROOT / "results").glob("*.csv")))) > 100
