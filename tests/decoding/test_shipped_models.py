"""The weights in the package: whole, described by their cards, and found by sinter."""

import dataclasses
import hashlib
import importlib.util
import json
from pathlib import Path

import pytest

from unmasq.codes import get_code
from unmasq.decoding import model_store
from unmasq.decoding.diffusion_decoder import load
from unmasq.decoding.model_store import SHIPPED, find_model, read_model
from unmasq.decoding.sinter_adapter import sinter_decoders
from unmasq.files.model_card import card_text
from unmasq.files.weight_file import BrokenWeightsError
from unmasq.problems.building import circuit_from_code, problem_from_code
from unmasq.problems.trained_noise import trained_noise
from unmasq.recipes import get_recipe
from unmasq.training import from_json, override

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
    assert model.card["file_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert model.card["structure_id"] == model.structure_id
    assert path.with_suffix(".md").read_text() == card_text(model.card)
    noise = trained_noise(model.header, model.card)
    schedule = model.card["recipe"]["noise"]
    assert (noise.low, noise.high) == pytest.approx(
        (schedule["low"] * schedule["p"], schedule["p"])
    )
    assert noise.priors is not None


def test_a_shipped_file_that_is_not_its_card_s_is_refused(tmp_path, monkeypatch):
    """Shipped files are of the first version, and carry no digest."""
    monkeypatch.setattr(model_store, "SHIPPED", tmp_path)
    for file in (PATHS[0], PATHS[0].with_suffix(".json")):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    path = tmp_path / PATHS[0].name
    load(path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1  # of a map of translates, which the hash of the model does not cover
    path.write_bytes(data)
    with pytest.raises(BrokenWeightsError, match="must be the file that its card describes"):
        load(path)


@pytest.mark.parametrize(
    "path", [path for path in PATHS if "bb144-circuit" not in path.stem], ids=lambda path: path.stem
)
def test_the_catalogue_still_builds_its_problem(path):
    """Of the largest ones below: sinter finds a model by the structure of the circuit."""
    model = find_model(path.stem)
    facts = model.header["problem"]
    rounds = facts["num_rounds"] if facts["noise"] == "circuit" else None
    problem = problem_from_code(
        get_code(facts["code"]), facts["noise"], 0.003, rounds, facts["basis"]
    )
    assert problem.structure_id == model.structure_id


@pytest.mark.parametrize(
    ("name", "p"),
    [
        ("bb72-capacity", 0.03),
        ("bb144-capacity", 0.03),
        ("bb144-circuit", 0.003),
        ("bb144-circuit-z", 0.003),
        ("bb72-messages", 0.003),
        ("bb72-messages-z", 0.003),
    ],
)
def test_sinter_finds_the_model_of_a_circuit_and_it_decodes(monkeypatch, name, p):
    monkeypatch.delenv("UNMASQ_MODELS", raising=False)
    facts = find_model(name).header["problem"]
    basis = facts["basis"] if facts["noise"] == "circuit" else "X"
    circuit = circuit_from_code(get_code(facts["code"]), facts["noise"], p, basis=basis)
    dem = circuit.detector_error_model()
    compiled = sinter_decoders(steps=[1])["unmasq,T=1"].compile_decoder_for_dem(dem=dem)
    detectors, actual = circuit.compile_detector_sampler(seed=1).sample(
        32, separate_observables=True, bit_packed=True
    )
    predicted = compiled.decode_shots_bit_packed(bit_packed_detection_event_data=detectors)
    assert actual.any(axis=1).sum() > 10  # doing nothing would fail these
    assert (predicted != actual).any(axis=1).sum() <= 4  # expected: fewer than one
    assert load(name).name in sinter_decoders()


@pytest.fixture
def script():
    """tools/train_shipped.py, which `make weights` runs."""
    path = Path(__file__).parents[2] / "tools" / "train_shipped.py"
    spec = importlib.util.spec_from_file_location("train_shipped", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@every_model
def test_make_weights_runs_what_the_card_says(path, script):
    """Every run of the card, in order; updates a call makes, evaluations, decoding are left out."""
    card = find_model(path.stem).card
    runs = [*card.get("history", []), card]
    chain = chain_of(script, path.stem, None)
    for (name, settings), run in zip(chain, runs, strict=True):
        found = override(get_recipe(name), settings)
        expected = from_json(json.dumps(run["recipe"]))  # what is newer than the card: by default
        free = ("updates_per_call", "evaluate_p", "evaluate_shots", "attempts")
        same = {name: getattr(expected, name) for name in free}
        assert dataclasses.replace(found, **same) == expected


def chain_of(script, name, runs):
    """The runs of a network, and before them those of the one that it is lifted from."""
    before = chain_of(script, *script.LIFTED_FROM[name]) if name in script.LIFTED_FROM else []
    return before + [(name, settings) for settings in script.RUNS[name][:runs]]


def test_make_weights_goes_on_where_it_was(script, tmp_path, monkeypatch):
    asked = []

    def stopped(command, check):
        words = command[len(script.UNMASQ) :]
        asked.append(words)
        run = Path(words[words.index("--out") + 1] if "--out" in words else words[2])
        run.mkdir(exist_ok=True, parents=True)
        if len(asked) == 2:  # killed in the middle of the second run
            raise KeyboardInterrupt
        (run / f"{run.parent.name}.safetensors").touch()

    monkeypatch.setattr(script.subprocess, "run", stopped)
    monkeypatch.setattr(script.jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(script.sys, "argv", ["train_shipped.py", str(tmp_path)])
    with pytest.raises(KeyboardInterrupt):
        script.main()
    script.main()
    starts = [words[1] for words in asked]
    assert starts == [
        *("bb72-circuit", "bb72-circuit", "--resume", "bb72-circuit"),
        *("bb72-capacity", "bb144-capacity", *["bb72-messages"] * 5),
        *("bb144-circuit", "bb144-circuit", "bb144-circuit-z", "bb72-messages-z"),
    ]
    assert [words[words.index("--init") + 1] for words in asked if "--init" in words] == [
        str(tmp_path / "bb72-circuit" / "1"),
        str(tmp_path / "bb72-circuit" / "2"),
        *(str(tmp_path / "bb72-messages" / number) for number in "1234"),
        str(tmp_path / "bb72-messages" / "1"),
        str(tmp_path / "bb144-circuit" / "1"),
        str(tmp_path / "bb144-circuit" / "2"),
        str(tmp_path / "bb72-messages" / "5"),
    ]


def test_make_weights_trains_one_model_alone(script, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(script.subprocess, "run", lambda command, check: asked.append(command))
    monkeypatch.setattr(script.jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(script.sys, "argv", ["train_shipped.py", str(tmp_path), "bb72-capacity"])
    script.main()
    (command,) = asked
    assert "bb72-capacity" in command
    monkeypatch.setattr(script.sys, "argv", ["train_shipped.py", str(tmp_path), "bb73"])
    with pytest.raises(SystemExit, match="NAME must be one of bb72-circuit"):
        script.main()


def test_make_weights_wants_a_gpu(script, monkeypatch):
    monkeypatch.setattr(script.jax, "default_backend", lambda: "cpu")
    monkeypatch.setattr(script.sys, "argv", ["train_shipped.py", "x"])
    with pytest.raises(SystemExit, match="JAX must see a GPU"):
        script.main()
