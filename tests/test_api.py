"""Training and measuring from Python, and `unmasq train own`: the same choices and files."""

import json

import numpy as np
import pytest
import stim

import unmasq
from command_line import run
from small_codes import toric
from unmasq.problems.problem_file import save_problem
from unmasq.recipes.chosen import chosen_recipe, chosen_words, model_name

TINY = ["network.width=16", "network.feedforward=16", "network.message_width=8"]
TINY += ["network.encoder_layers=1", "network.decoder_layers=1", "batch_size=16", "num_updates=10"]
TINY += ["network.closing_layers=1", "evaluate_shots=0"]


@pytest.fixture(scope="module")
def problem():
    code = unmasq.css_code(*toric(2, 2), "my torus")
    return unmasq.problem_from_code(code, "circuit", 0.01, rounds=1)


def settings():
    return [word for setting in TINY for word in ("--set", setting)]


def test_a_run_from_python_is_one_of_the_command_line(problem, tmp_path, capsys):
    decoder = unmasq.train(problem, out=tmp_path / "run", settings=TINY)
    assert decoder.structure_id == problem.structure_id
    assert (tmp_path / "run" / "my-torus.safetensors").exists()
    words = ("evaluate", "--model", tmp_path / "run", "--decoders", "unmasq", "pymatching")
    code, said, _ = run(capsys, *words, "--max-shots", 64, "--workers", 1, "--json")
    assert code == 0
    rows = {row["decoder"]: row for row in json.loads(said)["counts"]}
    assert rows["pymatching"]["p"] == problem.p == 0.01  # both from the run
    counts = unmasq.evaluate(
        [decoder, tmp_path / "run" / "my-torus.safetensors", "pymatching"][::2],
        problem,
        max_shots=64,
        save=tmp_path / "counts.csv",
        workers=1,
    )
    assert [c.point.decoder for c in counts] == list(rows)
    assert [c.errors for c in counts] == [row["errors"] for row in rows.values()]
    again = unmasq.evaluate(
        [tmp_path / "run"], problem, max_shots=64, save=tmp_path / "counts.csv", workers=1
    )
    assert again[0].errors == counts[0].errors


@pytest.mark.slow
def test_the_command_says_what_it_does_and_ends_with_a_table(problem, tmp_path, capsys):
    save_problem(problem, tmp_path / "problem.safetensors")
    words = ("train", "own", "--problem", tmp_path / "problem.safetensors", *settings())
    code, said, told = run(
        capsys, *words, "--out", tmp_path / "run", "--compare-shots", 64, "--json"
    )
    assert code == 0
    assert "messages of width 8 along 8 relations, one set of weights for 4 symmetric" in told
    assert "10 updates, then comes a table beside bposd-xz and pymatching" in told
    names = [row["decoder"] for row in json.loads(said)["comparison"]]
    assert names[1:] == ["bposd-xz", "pymatching"]
    assert names[0].startswith("unmasq-")
    assert (tmp_path / "run" / "comparison.csv").exists()


def test_the_recipe_follows_symmetry_graph_and_device(problem):
    config = chosen_recipe(problem, accelerator=False)
    assert (config.name, config.evaluate_p) == ("my-torus", (problem.p,))
    assert config.noise.p * config.noise.low < problem.p < config.noise.p  # harder shots teach more
    assert (config.network.mixing, config.network.ties) == ("messages", "tied")
    assert config.translate_masks
    assert config.masks_per_shot * problem.num_logicals == 32
    assert config.stages == ()
    assert config.network.closing_layers == 3
    large = chosen_recipe(problem, accelerator=True)
    assert large.batch_size > config.batch_size
    assert (large.compute_dtype, config.compute_dtype) == ("bfloat16", "float32")
    surface = stim.Circuit.generated(
        "surface_code:rotated_memory_z", distance=3, rounds=2, after_clifford_depolarization=0.01
    )
    free = chosen_recipe(unmasq.problem_from_circuit(surface), accelerator=False)
    assert (free.network.mixing, free.network.ties, free.translate_masks) == (
        "messages", "free", False,
    )  # fmt: skip
    assert [(stage.first, stage.last) for stage in free.stages] == [(1, -1)]
    assert free.masks_per_shot == 4  # of its one logical all are alike
    assert free.network.closing_layers == 0  # they would run on every frame


def test_the_hardest_shots_are_no_coin_tosses():
    problem = unmasq.problem_from_matrices(np.eye(3, dtype=np.uint8), [[1, 1, 1]], [0.3] * 3)
    assert chosen_recipe(problem, accelerator=False).noise.p == 0.5


def test_an_error_model_gets_attention_and_is_told_so():
    problem = unmasq.problem_from_matrices(np.eye(3, dtype=np.uint8), [[1, 1, 1]], [0.1] * 3)
    config = chosen_recipe(problem, accelerator=False)
    assert config.network.mixing == "attention"
    assert "attention, since no graph of checks and qubits is known" in chosen_words(
        problem, config
    )


@pytest.mark.parametrize(
    ("problem_name", "name"),
    [("bb72", "bb72"), ("toric:3,4", "toric-3-4"), ("problem", "problem-model"), ("../x", "x")],
)
def test_models_are_named_after_their_problem(problem_name, name):
    assert model_name(problem_name) == name
