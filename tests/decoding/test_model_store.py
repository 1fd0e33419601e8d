"""Finding weight files by path, folder, name and structure."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tiny_network import write_tiny_network
from unmasq.codes import get_code
from unmasq.decoding import model_store
from unmasq.decoding.diffusion_decoder import load
from unmasq.decoding.model_store import (
    find_model,
    known_models,
    model_for_problem,
    read_model,
)
from unmasq.models.weights import load_weights, save_weights
from unmasq.problems.building import problem_from_code
from unmasq.problems.problem_file import save_problem

PROBLEM = problem_from_code(get_code("bb18"), "code-capacity", 0.01)
OTHER = problem_from_code(get_code("bb36"), "code-capacity", 0.01)


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    """Three models in two folders: two for one problem, one for another."""
    root = tmp_path_factory.mktemp("models")
    paths = {
        "first": root / "one" / "first.safetensors",
        "second": root / "two" / "run" / "second.safetensors",
        "other": root / "two" / "other.safetensors",
    }
    for seed, (name, path) in enumerate(paths.items()):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_tiny_network(path, OTHER if name == "other" else PROBLEM, seed=seed)
    # What else lies in a folder of runs.
    save_problem(PROBLEM, root / "two" / "problem.safetensors")
    (root / "two" / "broken.safetensors").write_bytes(b"\x01")
    whole = paths["first"].read_bytes()
    (root / "two" / "cut.safetensors").write_bytes(whole[:-100])
    return paths


@pytest.fixture(autouse=True)
def _no_shipped_models(monkeypatch, tmp_path):
    monkeypatch.delenv("UNMASQ_MODELS", raising=False)
    monkeypatch.setattr(model_store, "SHIPPED", tmp_path / "shipped")


@pytest.fixture
def own_models(monkeypatch, files) -> None:
    folders = [files["first"], files["other"].parent]
    monkeypatch.setenv("UNMASQ_MODELS", os.pathsep.join(map(str, folders)))


def test_a_file_says_what_it_is_without_loading_its_tensors(files):
    model = read_model(files["first"])
    weights = load_weights(files["first"])
    assert model.name == "first"
    assert model.structure_id == PROBLEM.structure_id
    assert model.num_detectors == PROBLEM.num_detectors
    assert model.num_logicals == PROBLEM.num_logicals
    assert model.model_hash == weights.model_hash
    assert model.decoder_name == f"unmasq-{weights.model_hash[:8]}"


def test_only_whole_weight_files_are_listed(own_models):
    assert [model.name for model in known_models()] == ["first", "other", "second"]


def test_models_are_found_by_path_folder_name_and_result_name(files, own_models):
    for given in (
        files["second"],
        str(files["second"]),
        files["second"].parent,
        "second",
        read_model(files["second"]).decoder_name,
    ):
        assert find_model(given).path == files["second"]
    assert load("second").name == read_model(files["second"]).decoder_name


def test_a_folder_without_weights_says_how_to_name_the_model(
    files, own_models, tmp_path, monkeypatch
):
    """It may be a problem's folder, or a run that is not finished: never guess."""
    monkeypatch.chdir(tmp_path)
    for name in ("second", "nothing"):
        Path(name).mkdir()
    with pytest.raises(ValueError, match=r"got none in nothing\.$"):
        find_model("nothing")
    file = re.escape(str(files["second"]))
    with pytest.raises(ValueError, match=rf"got none in second\. For the known .*, {file}\.$"):
        find_model("second")


def test_an_unknown_name_suggests_the_nearest(own_models):
    with pytest.raises(ValueError, match=r"first, other, second.*'secnod'.*Did you mean second\?"):
        find_model("secnod")


def test_without_models_the_error_says_where_to_put_them():
    with pytest.raises(ValueError, match="none is installed.*UNMASQ_MODELS"):
        find_model("bb72-circuit")


@pytest.mark.parametrize("name", ["missing.safetensors", "folder/missing"])
def test_a_missing_file_is_called_missing(name):
    with pytest.raises(FileNotFoundError, match=f"{name} does not exist"):
        find_model(name)


def test_a_missing_entry_of_the_variable_is_named(monkeypatch):
    monkeypatch.setenv("UNMASQ_MODELS", "/no/such/folder")
    with pytest.raises(FileNotFoundError, match="UNMASQ_MODELS.*/no/such/folder does not exist"):
        known_models()


def test_a_file_that_is_no_weight_file_is_refused(files):
    folder = files["other"].parent
    for name in ("problem", "broken", "cut"):
        with pytest.raises(ValueError, match=f"{name}.safetensors must be a weight file"):
            find_model(folder / f"{name}.safetensors")


def test_two_models_of_one_name_are_not_chosen_between(files, monkeypatch, tmp_path):
    copy = tmp_path / "first.safetensors"
    copy.write_bytes(files["first"].read_bytes())
    monkeypatch.setenv("UNMASQ_MODELS", os.pathsep.join([str(files["first"]), str(tmp_path)]))
    assert find_model("first").path == files["first"]  # copies of one model are one
    write_tiny_network(copy, PROBLEM, seed=9)
    with pytest.raises(ValueError, match="model 'first' must be unique: got unmasq-.*Name the"):
        find_model("first")
    with pytest.raises(ValueError, match="two.* must be unique"):
        find_model(files["other"].parent)


def test_models_are_found_by_structure(files, own_models):
    models = known_models()
    assert model_for_problem(OTHER, models).name == "other"
    assert model_for_problem(PROBLEM, []) is None
    with pytest.raises(ValueError, match="must be unique"):
        model_for_problem(PROBLEM, models)


def test_own_models_come_before_shipped_ones_and_cards_mark_the_default(files, monkeypatch):
    shipped = model_store.SHIPPED
    shipped.mkdir()
    for name, seed in (("a", 3), ("b", 4)):
        write_tiny_network(shipped / f"{name}.safetensors", PROBLEM, seed=seed)
    assert [model.shipped for model in known_models()] == [True, True]
    assert model_for_problem(PROBLEM, known_models()).name == "a"
    (shipped / "b.json").write_text(json.dumps({"default": True}))
    assert model_for_problem(PROBLEM, known_models()).name == "b"
    assert find_model("b").shipped
    monkeypatch.setenv("UNMASQ_MODELS", str(files["first"]))
    assert model_for_problem(PROBLEM, known_models()).name == "first"


def test_the_hash_follows_the_weights(files, tmp_path):
    assert read_model(files["first"]).model_hash != read_model(files["second"]).model_hash
    again = tmp_path / "renamed.safetensors"
    write_tiny_network(again, PROBLEM, seed=0)
    assert read_model(again).model_hash == read_model(files["first"]).model_hash


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16])
def test_the_hash_agrees_with_that_of_the_loaded_weights(files, tmp_path, dtype):
    weights = load_weights(files["first"])
    path = tmp_path / "again.safetensors"
    network, config, geometry = weights.network, weights.config, weights.geometry
    save_weights(path, network, config, geometry, weights.header, dtype=dtype)
    assert read_model(path).model_hash == load_weights(path).model_hash


def test_listing_needs_no_jax(files):
    program = (
        "import sys; from unmasq.decoding.model_store import known_models; "
        "print([m.decoder_name for m in known_models()], 'jax' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "UNMASQ_MODELS": str(files["first"])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert read_model(files["first"]).decoder_name in result.stdout
    assert "False" in result.stdout


def test_loaded_decoders_answer_like_their_weights(files):
    decoder = load(files["other"])
    syndromes = np.random.default_rng(0).integers(0, 2, (5, OTHER.num_detectors), np.uint8)
    assert decoder.decode_batch(syndromes).shape == (5, OTHER.num_logicals)


def test_cut_off_weights_in_a_run_folder_are_named(files, tmp_path):
    (tmp_path / "problem.safetensors").write_bytes(b"")
    (tmp_path / "step-000000004-0.safetensors").write_bytes(b"")
    with pytest.raises(ValueError, match="must be a folder with a weight file: got none in"):
        find_model(tmp_path)
    (tmp_path / "net.safetensors").write_bytes(files["first"].read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"net.safetensors must be a weight file: it is cut off"):
        find_model(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "\xff"])
def test_a_broken_card_is_named_where_it_is_read(tmp_path, text):
    path = tmp_path / "m.safetensors"
    write_tiny_network(path, PROBLEM)
    path.with_suffix(".json").write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=r"m\.json must be a model card: .* go on without\.$"):
        load(path)
