"""`unmasq models` lists weights and shows cards."""

import json

import pytest

from command_line import run
from tiny_network import write_tiny_network
from unmasq.cli import models
from unmasq.codes import get_code
from unmasq.decoding import model_store
from unmasq.decoding.model_store import read_model
from unmasq.problems.building import problem_from_code

PROBLEM = problem_from_code(get_code("bb18"), "code-capacity", 0.01)


@pytest.fixture(autouse=True)
def own(monkeypatch, tmp_path):
    """A model in a folder of UNMASQ_MODELS, and no shipped ones."""
    write_tiny_network(tmp_path / "own" / "mine.safetensors", PROBLEM)
    monkeypatch.setenv("UNMASQ_MODELS", str(tmp_path / "own"))
    monkeypatch.setattr(model_store, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path / "own" / "mine.safetensors"


def test_the_table_names_model_hash_and_problem(capsys, own):
    code, out, _ = run(capsys, "models")
    assert code == 0
    for word in ("mine", read_model(own).decoder_name, "bb18,", "code-capacity,", "own"):
        assert word in out
    assert "…" not in out  # nothing is cut off in 80 columns


def test_records_are_complete(capsys, own):
    _, out, _ = run(capsys, "models", "--json")
    (record,) = json.loads(out)
    model = read_model(own)
    assert record["model_hash"] == model.model_hash
    assert record["structure_id"] == PROBLEM.structure_id
    assert (record["num_detectors"], record["num_logicals"]) == (18, 8)
    assert record["parameters"] == model.num_parameters > 1000
    assert record["shipped"] is False
    assert record["path"] == str(own)


def test_a_model_that_begins_with_bp_is_named_as_it_is_asked(capsys, own):
    write_tiny_network(own, PROBLEM, bp_iterations=9)
    name = read_model(own).decoder_name
    assert json.loads(run(capsys, "models", "--json")[1])[0]["decoder"] == f"{name},tau=4,guess"
    _, out, _ = run(capsys, "models")
    assert f" {name},tau=4,guess " in out  # on one line, to copy
    assert "…" not in out


def test_the_default_and_other_rounds_are_told(capsys, own):
    assert "own, default" not in run(capsys, "models")[1]
    own.with_suffix(".json").write_text(json.dumps({"default": True}))
    assert "own, default" in run(capsys, "models")[1]
    (record,) = json.loads(run(capsys, "models", "--json")[1])
    assert (record["default"], record["any_rounds"]) == (True, False)
    about = {"problem": {"code": "bb18", "num_rounds": 4}, "trained_at": None}
    assert models._describe({**about, "any_rounds": True}) == "bb18, any rounds"
    assert models._describe({**about, "any_rounds": False}) == "bb18, 4 rounds"


def test_a_name_shows_the_card(capsys, own):
    own.with_suffix(".json").write_text(json.dumps({"gpu_hours": 3}))
    _, out, _ = run(capsys, "models", "mine")
    assert json.loads(out)["gpu_hours"] == 3
    own.with_suffix(".md").write_text("# mine\n\nTrained on a rainy day.\n")
    _, out, _ = run(capsys, "models", "mine")
    assert "rainy day" in out
    _, out, _ = run(capsys, "models", str(own), "--json")
    assert json.loads(out)["name"] == "mine"


def test_an_unknown_name_is_one_line(capsys):
    code, out, err = run(capsys, "models", "mien")
    assert code == 2
    assert out == ""
    assert err.startswith("error: model must be")
    assert "Did you mean mine?" in err
    assert err.count("\n") == 1


def test_no_models_is_said_in_words(capsys, monkeypatch):
    monkeypatch.delenv("UNMASQ_MODELS")
    code, out, _ = run(capsys, "models")
    assert code == 0
    assert "No model is installed" in out
    assert "UNMASQ_MODELS" in out
