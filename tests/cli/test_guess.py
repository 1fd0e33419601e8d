"""`--guess`, and sinter's: the network is asked only where BP's guess leaves something.

The network is untrained and begins with belief propagation: it overrules many a guess.
"""

import json

import numpy as np
import pytest
import sinter
import stim

from command_line import refusal, run
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
    """The decoder; it differs from the one without a guess."""
    decoder = load(folder / "tiny.safetensors")
    found = decoder.with_guess()
    assert (found.decode_batch(shots[0]) != decoder.decode_batch(shots[0])).any()
    return found


def network_of(folder):
    return "--model", folder / "tiny.safetensors", "--problem", folder / "problem"


def test_evaluate_counts_the_failures_of_the_guessing_decoder(
    folder, tmp_path, capsys, shots, guessing
):
    code, _, err = run(
        capsys, "evaluate", *network_of(folder), "--guess", "--max-shots", SHOTS,
        "--save", tmp_path / "stats.csv",
    )  # fmt: skip
    assert code == 0, err
    (found,) = read_counts(tmp_path / "stats.csv")
    assert found.point.decoder == guessing.name
    assert found.point.guess is True
    wrong = guessing.decode_batch(shots[0]) != shots[1]
    assert found.errors == wrong.any(axis=1).sum()


def test_predict_writes_the_guesses(folder, tmp_path, capsys, shots, guessing):
    stim.write_shot_data_file(
        data=shots[0].astype(bool), path=tmp_path / "dets", format="b8", num_detectors=18
    )
    code, _, err = run(
        capsys, "predict", "--model", folder / "tiny.safetensors", "--guess",
        "--dets", tmp_path / "dets", "--dets_format", "b8",
        "--obs_out", tmp_path / "obs", "--obs_out_format", "b8",
    )  # fmt: skip
    assert code == 0, err
    found = stim.read_shot_data_file(path=tmp_path / "obs", format="b8", num_observables=8)
    np.testing.assert_array_equal(found, guessing.decode_batch(shots[0]).astype(bool))


def test_bench_times_the_guessing_decoder(folder, capsys):
    code, out, err = run(
        capsys, "bench", *network_of(folder), "--guess", "--steps", 1, 8, "--batches", 64,
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
    found = sinter_decoders(steps=[1], guess=True)
    packed = np.packbits(shots[0], axis=1, bitorder="little")
    own = guessing.name.partition(",")[0]
    for name in ("unmasq", own):
        for way, expected in ((",guess", guessing), (",T=1,guess", guessing.with_steps(1))):
            compiled = found[name + way].compile_decoder_for_dem(dem=circuit.detector_error_model())
            predicted = compiled.decode_shots_bit_packed(bit_packed_detection_event_data=packed)
            np.testing.assert_array_equal(predicted, expected.decode_batch(shots[0], False, True))
    sampler = found["unmasq,guess-sampler"].compiled_sampler_for_task(sinter.Task(circuit=circuit))
    assert sampler._decoder.guess
    assert sampler.sample(64).shots == 64


def test_where_no_network_is_asked_it_is_refused(folder, tmp_path, capsys):
    problem = ("--problem", folder / "problem")
    words = (*problem, "--decoders", "bp4-osd0", "--guess")
    assert "--decoders must hold unmasq for --guess" in refusal(capsys, "bench", *words)
    files = ("--dets", "x", "--dets_format", "b8", "--obs_out", "y", "--obs_out_format", "b8")
    words = (*problem, "--decoder", "bp4-osd0", "--guess", *files)
    assert "--decoder must be unmasq for --guess" in refusal(capsys, "predict", *words)
    words = (*network_of(folder)[:2], "--guess", "--probabilities_out", tmp_path / "p", *files)
    assert "--guess and --probabilities_out" in refusal(capsys, "predict", *words)
