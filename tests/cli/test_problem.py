"""`unmasq problem`: what it writes, and every bad input in one line with exit code 2."""

import json

import pytest
import stim

from command_line import refusal, run
from unmasq.problems.problem_file import load_problem


def sorted_errors(dem):
    """Error lines with their probabilities, whatever their order."""
    errors = [i for i in dem.flattened() if i.type == "error"]
    return sorted((str(i.targets_copy()), i.args_copy()[0]) for i in errors)


CASES = {
    "circuit": ("bb72", "--noise", "circuit", "--rounds", 6, "--basis", "X"),
    "small": ("bb18", "--noise", "circuit", "--rounds", 2, "--basis", "Z"),
    "large": ("bb144", "--noise", "circuit", "--rounds", 12, "--basis", "X"),
    "capacity": ("bb72", "--noise", "code-capacity"),
    "large capacity": ("bb144", "--noise", "code-capacity"),
}


@pytest.mark.parametrize(
    ("case", "detectors", "observables", "frames"),
    [
        ("circuit", 504, 12, 7),
        ("small", 54, 4, 3),
        pytest.param("large", 1872, 12, 13, marks=pytest.mark.slow),
        ("capacity", 72, 24, 1),
        ("large capacity", 144, 24, 1),
    ],
)
def test_it_writes_circuit_model_and_problem(
    capsys, tmp_path, case, detectors, observables, frames
):
    out = tmp_path / "new" / "folder"
    code, said, _ = run(capsys, "problem", *CASES[case], "--p", 0.003, "--out", out)
    assert code == 0
    assert ("CNOTs tick by tick: X 0 " in said) == ("capacity" not in case)
    assert "attention weights, " in said.splitlines()[-1]
    assert sorted(file.name for file in out.iterdir()) == [
        "circuit.stim",
        "model.dem",
        "problem.safetensors",
    ]
    circuit = stim.Circuit.from_file(out / "circuit.stim")
    assert (circuit.num_detectors, circuit.num_observables) == (detectors, observables)
    model = stim.DetectorErrorModel.from_file(out / "model.dem")
    assert sorted_errors(model) == sorted_errors(circuit.detector_error_model())
    problem = load_problem(out / "problem.safetensors")
    assert (problem.num_detectors, problem.num_logicals) == (detectors, observables)
    assert (problem.layout.num_frames, problem.p) == (frames, 0.003)
    assert f"{detectors} detectors × {problem.num_faults} faults" in said
    assert problem.structure_id in said
    assert problem.priors_id in said


def test_both_bases_are_a_problem_without_a_circuit(capsys, tmp_path):
    options = ("--rounds", 2, "--basis", "XZ", "--p", 0.003, "--json")
    record = json.loads(run(capsys, "problem", "bb18", *options, "--out", tmp_path)[1])
    assert (record["basis"], record["logicals"]) == ("XZ", 8)
    assert [path.name for path in tmp_path.iterdir()] == ["problem.safetensors"]
    assert load_problem(tmp_path / "problem.safetensors").structure_id == record["structure_id"]


def test_a_folder_with_another_problem_is_refused_and_kept(capsys, tmp_path):
    words = ("problem", "bb18", "--rounds", 2, "--out", tmp_path, "--p")
    assert run(capsys, *words, 0.003)[0] == 0
    assert run(capsys, *words, 0.004)[0] == 0  # the same experiment
    before = (tmp_path / "problem.safetensors").read_bytes()
    err = refusal(capsys, *words, 0.004, "--basis", "Z")
    assert "--out must not hold another problem than" in err
    assert (tmp_path / "problem.safetensors").read_bytes() == before
    (tmp_path / "problem.safetensors").write_bytes(before[:50])
    assert "none that can be read" in refusal(capsys, *words, 0.003)


def test_an_empty_folder_name_writes_nothing(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    err = refusal(capsys, "problem", "bb18", "--p", 0.003, "--rounds", 2, "--out", "")
    assert "--out must name a folder: got nothing" in err
    assert not list(tmp_path.iterdir())


def test_rounds_default_to_the_distance_and_the_basis_to_x(capsys, tmp_path):
    assert run(capsys, "problem", "bb18", "--p", 0.003, "--out", tmp_path)[0] == 0
    problem = load_problem(tmp_path / "problem.safetensors")
    assert (problem.num_rounds, problem.basis, problem.noise) == (4, "X", "circuit")


def test_code_capacity_says_that_it_has_no_rounds(capsys, tmp_path):
    words = ("problem", "bb18", "--noise", "code-capacity", "--p", 0.01, "--rounds", 6)
    code, _, said = run(capsys, *words, "--out", tmp_path)
    assert code == 0
    assert "no rounds" in said
    assert load_problem(tmp_path / "problem.safetensors").num_rounds == 0


def test_records(capsys, tmp_path):
    words = ("problem", "bb18", "--p", 0.006, "--out", tmp_path, "--json")
    code, out, _ = run(capsys, *words)
    assert code == 0
    record = json.loads(out)
    assert record["structure_id"] == "4628e7c8f9b6014f"
    assert record["sum_of_priors"] == pytest.approx(4.253099656023, abs=1e-9)
    assert (record["detectors"], record["faults"], record["logicals"]) == (90, 3006, 4)
    assert record["files"] == [
        str(tmp_path / name) for name in ("circuit.stim", "model.dem", "problem.safetensors")
    ]


@pytest.fixture
def surface_code(tmp_path):
    circuit = stim.Circuit.generated(
        "surface_code:rotated_memory_z",
        distance=3,
        rounds=3,
        after_clifford_depolarization=0.01,
        before_measure_flip_probability=0.01,
    )
    circuit.to_file(tmp_path / "rotated.stim")
    circuit.detector_error_model().to_file(tmp_path / "rotated.dem")
    return circuit


def test_stims_rotated_surface_code_has_ragged_frames(capsys, tmp_path, surface_code):
    out = tmp_path / "out"
    assert run(capsys, "problem", "--circuit", tmp_path / "rotated.stim", "--out", out)[0] == 0
    problem = load_problem(out / "problem.safetensors")
    assert (problem.layout.num_frames, problem.layout.num_checks) == (4, 8)
    assert problem.num_detectors < 4 * 8
    assert (problem.name, problem.p) == ("rotated", 0.01)
    assert stim.Circuit.from_file(out / "circuit.stim") == surface_code
    model = stim.DetectorErrorModel.from_file(out / "model.dem")
    assert sorted_errors(model) == sorted_errors(surface_code.detector_error_model())


def test_an_error_model_makes_no_circuit(capsys, tmp_path, surface_code):
    out = tmp_path / "out"
    assert run(capsys, "problem", "--dem", tmp_path / "rotated.dem", "--out", out)[0] == 0
    assert sorted(file.name for file in out.iterdir()) == ["model.dem", "problem.safetensors"]
    assert load_problem(out / "problem.safetensors").layout.num_frames == 4


@pytest.mark.parametrize(
    ("options", "frames", "checks"), [(("--rounds", 2), 3, 8), (("--single-frame",), 1, 24)]
)
def test_frames_can_be_chosen(capsys, tmp_path, surface_code, options, frames, checks):
    words = ("problem", "--circuit", tmp_path / "rotated.stim", *options, "--out", tmp_path / "out")
    assert run(capsys, *words)[0] == 0
    layout = load_problem(tmp_path / "out" / "problem.safetensors").layout
    assert (layout.num_frames, layout.num_checks) == (frames, checks)


def test_biased_noise_has_its_rates_in_its_name(capsys, tmp_path):
    words = ("bb18", "--p", "0.01", "--rounds", 1, "--noise", "circuit 1:0.1:0.5:1")
    assert run(capsys, "problem", *words, "--out", tmp_path)[0] == 0
    circuit = (tmp_path / "circuit.stim").read_text()
    for noise in ("DEPOLARIZE2(0.01)", "DEPOLARIZE1(0.001)", "X_ERROR(0.005)", "MX(0.01)"):
        assert noise in circuit
    assert load_problem(tmp_path / "problem.safetensors").noise == "circuit 1:0.1:0.5:1"


BB18 = ("bb18", "--p", "0.003")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("bb27", "--p", "0.003"), "got 'bb27'. Did you mean bb72?"),
        (("bb:3,3,x5+y+1,1+x+y", "--p", "0.003"), "exponents of A must fit the 3 x 3 torus"),
        (("bb:3,3,x+w,1+x+y", "--p", "0.003"), "must be a sum of terms such as x3"),
        (("bb18",), "p must be given"),
        (("bb18", "--p", "0"), "p must lie in (0, 0.5]: got 0.0"),
        (("bb18", "--p", "0.51"), "p must lie in (0, 0.5]: got 0.51"),
        (("bb18", "--p", "nan"), "p must lie in (0, 0.5]: got nan"),
        (("bb18", "--p", "1e-300"), "p must be at least 1e-12: got 1e-300"),
        ((*BB18, "--rounds", "0"), "rounds must be at least 1: got 0"),
        ((*BB18, "--rounds", "100000"), "must have at most 20,000,000 elementary errors: got 1"),
        (("--dem", "endless.dem"), "must have at most 20,000,000 elementary errors: got 3,"),
        (("--dem", "wide.dem"), "must have at most 20,000,000 detectors: got 4,000,000,000"),
        (("--circuit", "endless.stim"), "must have at most 20,000,000 elementary errors: got 3,0"),
        (("--circuit", "faint.stim"), "rates of the circuit must be 0 or at least 1e-12: got 1e-"),
        ((*BB18, "--basis", "Y"), "basis must be X or Z (XZ for a problem of both): got 'Y'"),
        ((*BB18, "--noise", "gaussian"), "noise must be circuit or code-capacity: got 'gaussian'"),
        ((*BB18, "--noise", "circuit 1:2"), "or circuit a:b:c:d with the rates of CNOTs"),
        ((*BB18, "--single-frame"), "--single-frame must go with --circuit or --dem"),
        ((), "must have one source: give CODE, --circuit or --dem"),
        (("bb18", "--circuit", "rotated.stim"), "must have one source"),
        (("--circuit", "rotated.stim", "--p", "0.1"), "--p must go with a code"),
        (("--circuit", "rotated.stim", "--rounds", "4"), "must divide the 24 detectors: got 5"),
        (("--circuit", "rotated.stim", "--rounds", "0"), "rounds must be at least 1: got 0"),
        (("--circuit", "missing.stim"), "missing.stim: No such file or directory"),
        (("--circuit", "rotated.dem"), "rotated.dem must be a Stim circuit"),
        (("--circuit", "bytes"), "bytes must be a Stim circuit"),
        (("--circuit", "silent.stim"), "must have noise that flips detectors: got none"),
        (("--circuit", "random.stim"), "deterministic without noise"),
        (("--dem", "rotated.stim"), "rotated.stim must be a detector error model"),
        (("--dem", "no_logicals.dem"), "must have at least one logical observable: got none"),
        (("--dem", "too_likely.dem"), "priors must lie in (0, 0.5]: got priors[0] = 0.7"),
        (("--dem", "."), "Is a directory"),
    ],
)
def test_bad_input_is_one_line(capsys, tmp_path, monkeypatch, surface_code, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "no_logicals.dem").write_text("error(0.1) D0 D1\n")
    (tmp_path / "too_likely.dem").write_text("error(0.7) D0 L0\n")
    (tmp_path / "endless.dem").write_text("repeat 3000000000 {\nerror(0.1) D0 L0\n}\n")
    (tmp_path / "wide.dem").write_text("error(0.1) D3999999999 L0\n")
    read = "M 0\nDETECTOR rec[-1]\nOBSERVABLE_INCLUDE(0) rec[-1]\n"
    (tmp_path / "endless.stim").write_text(f"REPEAT 1000000000 {{\nDEPOLARIZE1(1e-9) 0\n}}\n{read}")
    (tmp_path / "faint.stim").write_text(f"X_ERROR(0.01) 0\nX_ERROR(1e-13) 0\n{read}")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    surface_code.without_noise().to_file("silent.stim")
    (tmp_path / "random.stim").write_text(
        "RX 0\nX_ERROR(0.1) 0\nM 0\nDETECTOR rec[-1]\nOBSERVABLE_INCLUDE(0) rec[-1]\n"
    )
    assert message in refusal(capsys, "problem", *words, "--out", "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_one_line(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    said = refusal(capsys, "problem", *BB18, "--out", tmp_path / "file" / "out")
    assert "Not a directory" in said


@pytest.mark.parametrize("cut", [0, 100, -1])
def test_a_cut_off_problem_file_is_one_line_where_it_is_read(capsys, tmp_path, cut):
    run(capsys, "problem", *BB18, "--out", tmp_path)
    path = tmp_path / "problem.safetensors"
    path.write_bytes(path.read_bytes()[:cut])
    said = refusal(capsys, "evaluate", "--problem", path, "--decoders", "bposd-x")
    assert "must be a problem file: it is cut off or of another kind" in said
