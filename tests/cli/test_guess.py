"""Every command, and sinter: the network is asked only where BP's guess leaves something.

The network is untrained and begins with belief propagation: it overrules many a guess.
"""

import json

import numpy as np
import pytest
import sinter
import stim

from command_line import run
from tiny_network import write_tiny_network
from unmasq.codes import get_code
from unmasq.decoding import model_store
from unmasq.decoding.diffusion_decoder import load
from unmasq.decoding.sinter_adapter import sinter_decoders
from unmasq.evaluation.stats_file import read_counts
from unmasq.problems.building import circuit_from_code, problem_from_code
from unmasq.problems.problem_file import save_problem
from unmasq.shots.sampling import EvaluationShots

SHOTS = 200
CODE = get_code("bb18")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guess")
    problem = problem_from_code(CODE, "code-capacity", 0.05)
    save_problem(problem, folder / "problem")
    write_tiny_network(folder / "tiny.safetensors", problem, bp_iterations=9)
    return folder


@pytest.fixture(scope="module")
def shots():
    found = EvaluationShots(problem_from_code(CODE, "code-capacity", 0.05)).chunk(0)
    return np.asarray(found.syndrome)[:SHOTS], np.asarray(found.logicals)[:SHOTS]


@pytest.fixture(scope="module")
def guessing(folder, shots):
    """The decoder by default; it differs from the one that is asked about every shot."""
    found = load(folder / "tiny.safetensors")
    plain = found.with_guess(False)
    assert found.name == f"{plain.name},tau=4,guess"
    assert (found.decode_batch(shots[0]) != plain.decode_batch(shots[0])).any()
    return found


def network_of(folder):
    return "--model", folder / "tiny.safetensors", "--problem", folder / "problem"


@pytest.mark.parametrize("words", [(), ("--every-shot",)], ids=["default", "every shot"])
def test_evaluate_counts_the_failures_of_the_decoder_it_names(
    folder, tmp_path, capsys, shots, guessing, words
):
    code, _, err = run(
        capsys, "evaluate", *network_of(folder), *words, "--max-shots", SHOTS,
        "--save", tmp_path / "stats.csv",
    )  # fmt: skip
    assert code == 0, err
    (found,) = read_counts(tmp_path / "stats.csv")
    decoder = guessing.with_guess(False) if words else guessing
    assert found.point.decoder == decoder.name
    assert found.point.asking == decoder.asking
    wrong = decoder.decode_batch(shots[0]) != shots[1]
    assert found.errors == wrong.any(axis=1).sum()


def test_a_curve_of_discards_asks_about_every_shot(folder, tmp_path, capsys):
    code, _, err = run(
        capsys, "evaluate", *network_of(folder), "--max-shots", SHOTS,
        "--discard-curve", tmp_path / "curve.png",
    )  # fmt: skip
    assert code == 0, err
    assert (tmp_path / "curve.png").stat().st_size > 10_000


@pytest.mark.parametrize("probabilities", [False, True])
def test_predict_writes_the_guesses_unless_probabilities_are_asked_for(
    folder, tmp_path, capsys, shots, guessing, probabilities
):
    words = ("--probabilities_out", tmp_path / "p.npy") if probabilities else ()
    stim.write_shot_data_file(
        data=shots[0].astype(bool), path=tmp_path / "dets", format="b8", num_detectors=18
    )
    code, _, err = run(
        capsys, "predict", "--model", folder / "tiny.safetensors", *words,
        "--dets", tmp_path / "dets", "--dets_format", "b8",
        "--obs_out", tmp_path / "obs", "--obs_out_format", "b8",
    )  # fmt: skip
    assert code == 0, err
    found = stim.read_shot_data_file(path=tmp_path / "obs", format="b8", num_observables=8)
    decoder = guessing.with_guess(False) if probabilities else guessing
    np.testing.assert_array_equal(found, decoder.decode_batch(shots[0]).astype(bool))
    if probabilities:
        assert not np.isnan(np.load(tmp_path / "p.npy")).any()


def test_bench_times_the_guessing_decoder(folder, capsys):
    code, out, err = run(
        capsys, "bench", *network_of(folder), "--steps", 1, 8, "--batches", 64,
        "--seconds", 0.02, "--json",
    )  # fmt: skip
    assert code == 0, err
    one, eight = json.loads(out)["timings"]
    assert one["decoder"].endswith(",T=1,guess")
    assert eight["decoder"].endswith(",guess")
    assert 0 < eight["mean_steps"] < 8  # guesses take none


def test_sinter_asks_only_about_unsolved_shots(folder, tmp_path, monkeypatch, shots, guessing):
    monkeypatch.setattr(model_store, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setenv("UNMASQ_MODELS", str(folder))
    circuit = circuit_from_code(CODE, "code-capacity", 0.05)
    found = sinter_decoders(steps=[1])
    packed = np.packbits(shots[0], axis=1, bitorder="little")
    plain = guessing.with_guess(False)
    expected = {
        "unmasq": guessing,
        "unmasq,T=1": guessing.with_steps(1),
        plain.name: plain,
        f"{plain.name},T=1": plain.with_steps(1),
        guessing.name: guessing,
    }
    for name, decoder in expected.items():
        compiled = found[name].compile_decoder_for_dem(dem=circuit.detector_error_model())
        predicted = compiled.decode_shots_bit_packed(bit_packed_detection_event_data=packed)
        np.testing.assert_array_equal(predicted, decoder.decode_batch(shots[0], False, True))
    sampler = found["unmasq-sampler"].compiled_sampler_for_task(sinter.Task(circuit=circuit))
    assert sampler._decoder.asking.guess
    assert sampler.sample(64).shots == 64
    kinds = {name.removeprefix(guessing.name) for name in found if name.startswith(guessing.name)}
    assert kinds == {"", "-sampler"}  # no confidence, no discards
