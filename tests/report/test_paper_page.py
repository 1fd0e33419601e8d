"""docs/paper.md: its tables are those of results/, and its verdicts fit them."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from unmasq.decoding.model_store import find_model, shipped_models
from unmasq.recipes import RECIPES
from unmasq.report.paper_page import (
    VERDICTS,
    claims,
    filled,
    rows_block,
    runs_block,
    times_block,
)
from unmasq.report.paper_tables import budget, networks_table, place_weights_note, training_table
from unmasq.report.results_folder import ResultsFolder

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "paper.md"
TEXT = PAGE.read_text(encoding="utf-8")
RESULTS = ResultsFolder(ROOT / "results")
AGAIN = "python tools/paper_page.py"
BLOCK = re.compile(r"<!-- \w+(?:: [^>]*)? -->\n(.*?)<!-- end -->", re.S)


def written() -> str:
    path = ROOT / "tools" / "paper_page.py"
    spec = importlib.util.spec_from_file_location("paper_page", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool.written()


def body(heading: str) -> str:
    """What stands below the heading of a claim."""
    return re.split(r"^##+ ", TEXT.partition(f"### {heading}\n")[2], flags=re.M)[0]


def test_the_tables_are_those_of_the_results():
    assert written() == TEXT, f"run {AGAIN}"
    assert TEXT.count("| bb72-circuit.csv |") > 20


def test_a_number_changed_by_hand_is_written_anew():
    changed = TEXT.replace("| 120 / 4285888 |", "| 121 / 4285888 |")
    assert changed != TEXT
    assert filled(changed, RESULTS, shipped_models()) == TEXT


def test_sentences_have_no_counts_of_their_own():
    prose = BLOCK.sub("", TEXT)
    assert not re.search(r"\d+ / \d+|\d e-\d|\d failures|\de-\d", prose)


@pytest.mark.parametrize("heading", claims(TEXT))
def test_a_verdict_fits_what_was_measured(heading):
    """When the missing counts arrive, the sentence and its verdict are due."""
    blocks = BLOCK.findall(body(heading))
    if not blocks:
        return
    if claims(TEXT)[heading] == "Not yet measured":
        assert any("Not measured" in block for block in blocks), "measured by now: judge it"
    else:
        assert any(block.startswith("| ") for block in blocks), "judged without a count"


def test_the_minutes_of_training_are_those_of_the_records():
    cards = [model.card for model in shipped_models()]
    runs = (ROOT / "results" / "training-runs.jsonl").read_text(encoding="utf-8")
    cards += [run for run in map(json.loads, runs.splitlines()) if "H200" in run["device"]]
    known = {budget(card).partition(" minutes")[0] for card in cards}
    known |= {str(round(float(minutes))) for minutes in known if minutes}
    prose = BLOCK.sub("", TEXT)
    told = re.findall(r"([\d.]+) minutes", prose)
    assert "32" in told
    assert set(told) <= known


def test_every_claim_has_a_verdict():
    assert len(claims(TEXT)) > 20
    assert set(claims(TEXT).values()) <= set(VERDICTS)
    with pytest.raises(ValueError, match=r"claim must begin with one of .*'It is fast' does not"):
        claims("### It is fast\n\nVery.\n")
    with pytest.raises(ValueError, match="block must be one of rows, .*: got 'rates'"):
        filled("<!-- rates: x -->\n<!-- end -->", RESULTS, [])


def test_what_is_not_there_is_named():
    block = rows_block("bb72-circuit.csv no.csv; bposd-x bposd-z; 0.003", RESULTS, [])
    assert (
        "| 0.003 | BP-OSD (X) | 258 / 16384 | 1.57 [1.39, 1.78]e-02 | bb72-circuit.csv |" in block
    )
    assert "Not measured (bb72-circuit.csv, no.csv): bposd-z." in block
    assert "0.006" not in block
    block = times_block("no*.json; bposd-x", RESULTS)
    assert block == "Not measured (no*.json): BP-OSD (X).\n"


def test_a_training_run_is_told_by_its_name():
    block = runs_block("bb144-messages lifted; bb9, nowhere", RESULTS)
    assert "| 1,536,000 | 174 | 0.003 | 67 / 16384 | 4.09 [3.17, 5.19]e-03 |" in block
    assert "Not measured (training-runs.jsonl): bb9, nowhere.\n" in block
    assert runs_block("bb9", RESULTS).startswith("Not measured")


@pytest.mark.parametrize(
    ("line", "message"),
    [('{"run": "x"', "must hold JSON, one training run a line"), ("[1]", "as 'run'")],
)
def test_a_broken_record_of_runs_is_refused_by_its_name(tmp_path, line, message):
    (tmp_path / "training-runs.jsonl").write_text(f'{{"run": "whole"}}\n{line}\n')
    with pytest.raises(ValueError, match=message) as refused:
        runs_block("whole", ResultsFolder(tmp_path))
    assert "training-runs.jsonl" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_run_without_counts_is_not_measured(tmp_path):
    (tmp_path / "training-runs.jsonl").write_text('{"run": "whole"}\n')
    assert runs_block("whole", ResultsFolder(tmp_path)).endswith(": whole.\n")


def test_a_network_comes_with_its_training():
    block = rows_block("bb72-controls.csv; LR,_tied; 0.006", RESULTS, [])
    assert "| 0.006 | LR, tied, T = 1 |" in block
    trained = "LR, tied (`unmasq-9451831c`) for 2.3 minutes of one H200, 4.0 M samples"
    assert f"Trained: {trained}.\n" in block
    block = rows_block("bb72-circuit.csv; unmasq; 0.006", RESULTS, [])
    name = find_model("bb72-messages").decoder_name
    assert f"(`{name}`) for an unknown time" in block, "no card, no time"


def test_our_networks_have_the_papers_numbers_of_parameters():
    rows = [line.split(" | ") for line in networks_table([]).splitlines()]
    counted = [row[-2:] for row in rows if "`paper-" in row[0]]
    assert len(counted) == 6
    assert all(ours == papers.removesuffix(" |") for ours, papers in counted)
    table = networks_table(shipped_models())
    for model in shipped_models():
        assert re.search(rf"`{model.name}`.*\| {model.num_parameters:,} \|", table)


def test_the_weight_of_each_place_explains_the_count():
    note = place_weights_note()
    assert "10,209,025" in note
    assert f"{11_112_193 - 10_209_025:,} fewer" in note
    assert f"{168 * 168 * 32:,}" in note


def test_training_is_that_of_recipes_and_cards():
    table = training_table(shipped_models())
    for name, recipe in RECIPES.items():
        if name.startswith("paper-"):
            assert re.search(rf"`{name}`.*\| {recipe.num_updates:,} \|", table)
    assert "from 6, … 11 up to 12: 96,000 updates each, 0.1 of the rate; the last alone" in table
    assert "32 minutes of one H200 in 3 runs" in table
