"""`unmasq predict`: files in Stim's formats in and out, and every way a file can be wrong."""

import os
import sys

import numpy as np
import pytest
import stim

import unmasq
from command_line import refusal, run
from tiny_network import write_tiny_network
from unmasq.baselines import make_baseline
from unmasq.cli import main
from unmasq.codes import get_code
from unmasq.decoding.diffusion_decoder import load
from unmasq.problems.building import circuit_from_code, problem_from_code
from unmasq.problems.problem_file import save_problem

SHOTS = 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny network, its problem, and shots of it as Stim writes them."""
    folder = tmp_path_factory.mktemp("predict")
    code = get_code("bb18")
    problem = problem_from_code(code, "code-capacity", 0.05)
    save_problem(problem, folder / "problem")
    write_tiny_network(folder / "tiny.safetensors", problem)
    circuit = circuit_from_code(code, "code-capacity", 0.05)
    shots = circuit.compile_detector_sampler(seed=5).sample(SHOTS)
    np.save(folder / "shots.npy", shots)
    for file_format in ("b8", "01", "dets", "r8", "hits"):
        stim.write_shot_data_file(
            data=shots, path=folder / file_format, format=file_format, num_detectors=18
        )
    return folder


def predict(capsys, folder, dets_format="b8", obs_out_format="01", *words, obs_out):
    return run(
        capsys, "predict", "--model", folder / "tiny.safetensors", "--dets", folder / dets_format,
        "--dets_format", dets_format, "--obs_out", obs_out, "--obs_out_format", obs_out_format,
        *words,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("dets_format", "obs_out_format"),
    [("b8", "01"), ("01", "b8"), ("dets", "hits"), ("r8", "dets"), ("hits", "r8")],
)
def test_predictions_are_the_decoder_s(folder, tmp_path, capsys, dets_format, obs_out_format):
    out = tmp_path / "obs"
    code, said, err = predict(capsys, folder, dets_format, obs_out_format, obs_out=out)
    assert (code, said) == (0, ""), err
    assert err.endswith(f" shots: {out}\n")
    read = stim.read_shot_data_file(path=out, format=obs_out_format, num_observables=8)
    decoder = load(folder / "tiny.safetensors")
    expected = decoder.decode_batch(np.load(folder / "shots.npy"))
    assert expected.any()
    np.testing.assert_array_equal(read, expected.astype(bool))


def test_probabilities_and_discards_come_beside_the_predictions(folder, tmp_path, capsys):
    decoder = load(folder / "tiny.safetensors").with_steps(4)
    soft = decoder.decode_soft(np.load(folder / "shots.npy"))
    middle = float(np.median(soft.confidence))
    words = ("--probabilities_out", tmp_path / "p.npy", "--discards_out", tmp_path / "discards",
             "--discard_below", middle, "--steps", 4)  # fmt: skip
    code, _, err = predict(capsys, folder, "b8", "b8", *words, obs_out=tmp_path / "obs")
    assert code == 0, err
    np.testing.assert_array_equal(np.load(tmp_path / "p.npy"), soft.probabilities)
    discarded = stim.read_shot_data_file(
        path=tmp_path / "discards", format="01", num_measurements=1
    )
    np.testing.assert_array_equal(discarded[:, 0], soft.discarded(middle))
    assert 0 < discarded.sum() < SHOTS


def test_a_baseline_reads_the_same_files(folder, tmp_path, capsys):
    code, _, err = run(
        capsys, "predict", "--decoder", "bposd-xz", "--problem", folder / "problem", "--dets",
        folder / "01", "--dets_format", "01", "--obs_out", tmp_path / "obs", "--obs_out_format",
        "b8",
    )  # fmt: skip
    assert code == 0, err
    read = stim.read_shot_data_file(path=tmp_path / "obs", format="b8", num_observables=8)
    problem = unmasq.load_problem(folder / "problem")
    expected = make_baseline("bposd-xz", problem).decode_batch(np.load(folder / "shots.npy"))
    np.testing.assert_array_equal(read, expected.astype(bool))


def test_no_shots_are_no_predictions(folder, tmp_path, capsys):
    (tmp_path / "none").write_bytes(b"")
    code, _, err = run(
        capsys, "predict", "--model", folder / "tiny.safetensors", "--dets", tmp_path / "none",
        "--dets_format", "b8", "--obs_out", tmp_path / "obs", "--obs_out_format", "01",
    )  # fmt: skip
    assert code == 0, err
    assert (tmp_path / "obs").read_bytes() == b""


def test_bad_input_is_one_line_and_writes_nothing(folder, tmp_path, capsys):
    whole = (folder / "b8").read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-1])
    stim.write_shot_data_file(
        data=np.ones((4, 20), bool), path=tmp_path / "wide", format="01", num_detectors=20
    )
    good = {
        "--model": folder / "tiny.safetensors", "--dets": folder / "b8", "--dets_format": "b8",
        "--obs_out": tmp_path / "obs", "--obs_out_format": "01",
    }  # fmt: skip
    cases = [
        ({"--dets": tmp_path / "cut"}, "3 bytes for each shot of 18 bits: got 899 bytes"),
        ({"--dets": tmp_path / "wide", "--dets_format": "01"}, "must have 18 characters 0 or 1"),
        ({"--dets_format": "01"}, "must"),
        ({"--dets_format": "dets"}, "must"),
        ({"--dets": folder / "01"}, "must have 0 in the 6 unused bits of a shot of 18 bits"),
        ({"--dets_format": "r9"}, "--dets_format must be one of b8, 01, dets, r8, hits: got 'r9'"),
        ({"--obs_out_format": "hit"}, "--obs_out_format must be one of b8, 01, dets"),
        ({"--dets": tmp_path / "missing"}, "No such file or directory"),
        ({"--model": "tinny"}, "model must be a weight file or a known name"),
        ({"--model": None}, "--model must be given"),
        ({"--decoder": "bpsod-xz"}, "Did you mean bposd-xz?"),
        ({"--decoder": "bposd-xz"}, "--model must be given with decoder unmasq: got bposd-xz"),
        (
            {"--decoder": "bposd-xz", "--model": None},
            "--problem must be given for decoder bposd-xz",
        ),
        (
            {"--decoder": "bposd-xz", "--model": None, "--steps": 3},
            "--steps must be given with decoder unmasq: got bposd-xz",
        ),
        ({"--discard_below": 0.5}, "--discards_out and --discard_below must be given together"),
        ({"--steps": 99}, "steps must lie in 1..8: got 99"),
    ]
    for changes, message in cases:
        words = [w for pair in (good | changes).items() if pair[1] is not None for w in pair]
        assert message in refusal(capsys, "predict", *words), changes
        assert not (tmp_path / "obs").exists()


def test_a_model_s_name_is_found_through_the_environment(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("UNMASQ_MODELS", str(folder))
    code, _, err = run(
        capsys, "predict", "--model", "tiny", "--dets", folder / "b8", "--dets_format", "b8",
        "--obs_out", tmp_path / "obs", "--obs_out_format", "01",
    )  # fmt: skip
    assert code == 0, err
    assert len((tmp_path / "obs").read_text().splitlines()) == SHOTS


def test_stdin_and_stdout_are_files_like_others(folder, capfd, monkeypatch):
    """A pipe holds all bytes of stdin; nothing but predictions goes to stdout."""
    read, write = os.pipe()
    os.write(write, (folder / "b8").read_bytes())
    os.close(write)
    with os.fdopen(read) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        words = ["--model", folder / "tiny.safetensors", "--dets", "-", "--dets_format", "b8",
                 "--obs_out", "-", "--obs_out_format", "01"]  # fmt: skip
        with pytest.raises(SystemExit) as ending:
            main(["predict", *map(str, words)])
    assert ending.value.code == 0
    out, err = capfd.readouterr()
    assert out.count("\n") == SHOTS
    assert set(out) <= set("01\n")
    assert err.endswith("300 shots: -\n")


def test_the_input_is_never_overwritten(folder, tmp_path, capsys):
    dets, link = tmp_path / "dets", tmp_path / "link"
    whole = (folder / "b8").read_bytes()
    dets.write_bytes(whole)
    link.symlink_to(dets)
    weights = folder / "tiny.safetensors"
    good = {"--model": weights, "--dets": dets, "--dets_format": "b8", "--obs_out": tmp_path / "o",
            "--obs_out_format": "01"}  # fmt: skip
    for changes, message in [
        ({"--obs_out": dets}, "--obs_out must not be the file of --dets: got "),
        ({"--obs_out": link}, "--obs_out must not be the file of --dets"),
        ({"--obs_out": weights}, "--obs_out must not be the file of --model"),
        ({"--probabilities_out": tmp_path / "x/../o"}, "--probabilities_out must not be the file "),
        ({"--obs_out": "-", "--probabilities_out": "/dev/stdout"}, "must not be the file of --obs"),
    ]:
        words = [word for pair in (good | changes).items() for word in pair]
        assert message in refusal(capsys, "predict", *words)
    assert dets.read_bytes() == whole
    assert not (tmp_path / "o").exists()


@pytest.fixture(scope="module")
def sources(folder):
    """What the shots are of, and what they are not, as files."""
    code = get_code("bb18")
    circuit_from_code(code, "code-capacity", 0.05).to_file(folder / "own.stim")
    circuit_from_code(code, "code-capacity", 0.05).detector_error_model(
        approximate_disjoint_errors=True
    ).to_file(folder / "own.dem")
    other = problem_from_code(code, "circuit", 0.003, 2)
    save_problem(other, folder / "other")
    circuit_from_code(code, "circuit", 0.003, 2).to_file(folder / "other.stim")
    return folder


@pytest.mark.parametrize("words", [("--dem", "own.dem"), ("--circuit", "own.stim")])
def test_shots_of_the_models_problem_are_decoded_in_silence(sources, tmp_path, capsys, words):
    option, name = words
    out = tmp_path / "obs"
    code, _, err = predict(capsys, sources, "b8", "01", option, sources / name, obs_out=out)
    assert (code, err) == (0, f"300 shots: {out}\n")


@pytest.mark.parametrize(
    "words", [("--circuit", "other.stim"), ("--problem", "other")], ids=["circuit", "problem"]
)
def test_a_foreign_problem_is_refused(sources, tmp_path, capsys, words):
    option, name = words
    code, _, err = predict(
        capsys, sources, "b8", "01", option, sources / name, obs_out=tmp_path / "obs"
    )
    assert code == 2
    assert "problem must be one that a model was trained for" in err
    assert "18 detectors and 8 logicals" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "obs").exists()


def test_without_a_source_it_says_what_it_takes_the_shots_for(folder, tmp_path, capsys):
    code, _, err = predict(capsys, folder, obs_out=tmp_path / "obs")
    assert code == 0
    assert "note: 300 shots are decoded as shots of code bb18, noise code-capacity, basis XZ" in err


def test_two_sources_are_refused(sources, tmp_path, capsys):
    words = ("--dem", sources / "own.dem", "--circuit", sources / "own.stim")
    code, _, err = predict(capsys, sources, "b8", "01", *words, obs_out=tmp_path / "obs")
    assert code == 2
    assert "--dem and --circuit must not be given together: choose one." in err
