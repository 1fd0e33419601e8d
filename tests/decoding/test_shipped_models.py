"""The weights in the package: whole, described by their cards, and found by sinter."""

import json
import subprocess
from pathlib import Path

import pytest

from unmasq.building import circuit_from_code, problem_from_code
from unmasq.codes import get_code
from unmasq.decoding.diffusion_decoder import load
from unmasq.decoding.model_store import SHIPPED, find_model, read_model
from unmasq.decoding.sinter_adapter import sinter_decoders
from unmasq.recipes import get_recipe
from unmasq.training import override, to_json

PATHS = sorted(SHIPPED.glob("*.safetensors"))

every_model = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def test_every_weight_file_is_whole():
    assert PATHS
    assert all(read_model(path) is not None for path in PATHS)


@every_model
def test_the_card_tells_of_this_very_model(path):
    model = find_model(path.stem)
    assert model.path == path
    assert model.shipped
    assert model.name == path.stem
    assert model.card["model_hash"] == model.model_hash
    assert model.card["structure_id"] == model.structure_id
    assert path.with_suffix(".md").read_text().startswith(f"# {path.stem}")


@every_model
def test_the_catalogue_still_builds_its_problem(path):
    model = find_model(path.stem)
    facts = model.header["problem"]
    rounds = facts["num_rounds"] if facts["noise"] == "circuit" else None
    problem = problem_from_code(
        get_code(facts["code"]), facts["noise"], 0.003, rounds, facts["basis"]
    )
    assert problem.structure_id == model.structure_id


def test_sinter_finds_the_model_of_a_memory_circuit_and_it_decodes(monkeypatch):
    monkeypatch.delenv("UNMASQ_MODELS", raising=False)
    circuit = circuit_from_code(get_code("bb72"), "circuit", 0.003)
    dem = circuit.detector_error_model()
    compiled = sinter_decoders(steps=[1])["unmasq,T=1"].compile_decoder_for_dem(dem=dem)
    detectors, actual = circuit.compile_detector_sampler(seed=1).sample(
        32, separate_observables=True, bit_packed=True
    )
    predicted = compiled.decode_shots_bit_packed(bit_packed_detection_event_data=detectors)
    assert actual.any(axis=1).sum() > 10  # doing nothing would fail these
    assert (predicted != actual).any(axis=1).sum() <= 4  # expected: fewer than one
    assert load("bb72-circuit").name in sinter_decoders()


def test_make_weights_runs_what_the_card_says():
    """Every run of the card, in order, with its settings; how updates are called is left out."""
    root = Path(__file__).parents[2]
    asked = subprocess.run(
        ["make", "--dry-run", "weights"], cwd=root, capture_output=True, text=True, check=True
    )
    commands = [line.split() for line in asked.stdout.splitlines() if "unmasq train" in line]
    card = find_model("bb72-circuit").card
    runs = [*card["history"], card]
    assert len(commands) == len(runs)
    for number, (words, run) in enumerate(zip(commands, runs, strict=True)):
        settings = words[words.index("--set") + 1 :]
        found = json.loads(to_json(override(get_recipe(words[2]), settings)))
        expected = {"masks_per_shot": 1, "translate_masks": False, **run["recipe"]}
        for recipe in (found, expected):
            recipe.pop("updates_per_call")
        assert found == expected
        assert ("--init" in words) == (number > 0)
        if number:
            assert (
                words[words.index("--init") + 1]
                == commands[number - 1][commands[number - 1].index("--out") + 1]
            )
