import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
import stim
from hypothesis import HealthCheck, given, settings
from safetensors.numpy import load, save, save_file

from tiny_models import dem_text
from tiny_models import faults as random_faults
from tiny_runs import repetition_problem
from unmasq.codes import get_code
from unmasq.problems.building import problem_from_circuit, problem_from_code, problem_from_dem
from unmasq.problems.problem_file import PROBLEM, load_problem, save_problem


def assert_equal_problems(first, second):
    for field in dataclasses.fields(first):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if field.name.endswith("_matrix"):
            assert one.shape == other.shape
            assert (one != other).nnz == 0
        elif dataclasses.is_dataclass(one):
            for name, value in vars(one).items():
                np.testing.assert_array_equal(value, getattr(other, name))
        else:
            np.testing.assert_array_equal(one, other)
    assert first.structure_id == second.structure_id
    assert first.priors_id == second.priors_id


def circuit_problem():
    return problem_from_code(get_code("bb18"), "circuit", 0.006, rounds=2, basis="Z")


def capacity_problem():
    return problem_from_code(get_code("bb18"), "code-capacity", 0.01)


def ragged_problem():
    circuit = stim.Circuit.generated(
        "surface_code:rotated_memory_z", distance=3, rounds=2, after_clifford_depolarization=0.01
    )
    return problem_from_circuit(circuit, name="rotated")


@pytest.mark.parametrize("make", [circuit_problem, capacity_problem, ragged_problem])
def test_what_is_saved_is_loaded(make, tmp_path):
    problem = make()
    save_problem(problem, tmp_path / "problem.safetensors")
    again = load_problem(tmp_path / "problem.safetensors")
    assert_equal_problems(problem, again)
    np.testing.assert_array_equal(again.at(0.002).priors, problem.at(0.002).priors)


def test_a_file_without_a_tanner_graph_loads_without_one(tmp_path):
    problem = dataclasses.replace(circuit_problem(), tanner=None)
    save_problem(problem, tmp_path / "problem.safetensors")
    assert not [
        name for name in load((tmp_path / "problem.safetensors").read_bytes()) if "tanner" in name
    ]
    assert load_problem(tmp_path / "problem.safetensors").tanner is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(random_faults)
def test_any_error_model_comes_back(tmp_path, found):
    problem = problem_from_dem(stim.DetectorErrorModel(dem_text(found)))
    save_problem(problem, tmp_path / "problem.safetensors")
    assert_equal_problems(problem, load_problem(tmp_path / "problem.safetensors"))


def test_equal_problems_make_equal_files(tmp_path):
    save_problem(circuit_problem(), tmp_path / "first")
    save_problem(load_problem(tmp_path / "first"), tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


@pytest.fixture
def refused(tmp_path):
    """The one-line message with which content is refused as a problem file."""

    def load_content(content):
        path = tmp_path / "problem.safetensors"
        path.write_bytes(content)
        with pytest.raises(ValueError) as error:
            load_problem(path)
        assert "\n" not in str(error.value)
        assert str(error.value).startswith(f"{path} must ")
        assert "Write it again with `unmasq problem`" in str(error.value)
        return str(error.value)

    return load_content


@pytest.fixture
def content(tmp_path):
    save_problem(circuit_problem(), tmp_path / "good")
    return (tmp_path / "good").read_bytes()


@pytest.mark.parametrize("kept", [0, 1, 7, 8, 9, 500, 0.1, 0.5, 0.9, 0.999])
def test_a_cut_off_file_is_refused(content, refused, kept):
    length = int(kept * len(content)) if isinstance(kept, float) else kept
    assert "cut off or of another kind" in refused(content[:length])


def test_one_missing_byte_and_one_byte_too_many_are_refused(content, refused):
    assert "cut off or of another kind" in refused(content[:-1])
    assert "cut off or of another kind" in refused(content + b"\0")


@pytest.mark.parametrize(
    "foreign",
    [
        save({"weights": np.zeros(3, np.float32)}),
        save({"weights": np.zeros(3, np.float32)}, metadata={"unmasq": "not JSON"}),
        save({"weights": np.zeros(3, np.float32)}, metadata={"unmasq": "[1, 2]"}),
        b"error(0.1) D0 L0\n",
        b"\xff" * 100,
        b"PK\x03\x04 a zip file, perhaps",
    ],
    ids=["safetensors", "metadata", "list", "text", "bytes", "zip"],
)
def test_a_foreign_file_is_refused(refused, foreign):
    assert "cut off or of another kind" in refused(foreign)


def test_a_file_of_ours_of_another_kind_or_version_is_refused(refused):
    other = save({"weights": np.zeros(3)}, metadata={"unmasq": json.dumps({"format": "other-1"})})
    assert f"must have format {PROBLEM.name}: got other-1" in refused(other)


def header_of(content):
    size = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["unmasq"])


NAMES = [
    "priors",
    "check_matrix.indices",
    "logical_matrix.indices",
    "logical_matrix.indptr",
    "layout.frame",
    "layout.check_type",
    "channels.counts",
    "symmetry.check_images",
    "symmetry.basis_tokens",
]


@pytest.mark.parametrize("name", NAMES)
def test_altered_arrays_are_refused(content, refused, name):
    arrays = load(content)
    changed = arrays[name].copy()
    changed.flat[-1] = changed.flat[-1] / 2 if name == "priors" else changed.flat[-1] ^ 1
    metadata = {"unmasq": json.dumps(header_of(content))}
    altered = save({**arrays, name: changed}, metadata=metadata)
    assert "its content was altered" in refused(altered)


@pytest.mark.parametrize("name", ["priors", "check_matrix.indices", "symmetry.token_images"])
def test_missing_arrays_are_refused(content, refused, name):
    arrays = load(content)
    del arrays[name]
    altered = save(arrays, metadata={"unmasq": json.dumps(header_of(content))})
    assert "its content was altered" in refused(altered)


@pytest.mark.parametrize(("key", "value"), [("p", 0.007), ("name", "other"), ("num_frames", 4)])
def test_an_altered_header_is_refused(content, refused, key, value):
    header = {**header_of(content), key: value}
    altered = save(load(content), metadata={"unmasq": json.dumps(header)})
    assert "its content was altered" in refused(altered)


def test_a_flipped_byte_anywhere_in_the_arrays_is_refused(content, refused):
    start = 8 + int.from_bytes(content[:8], "little")
    for position in np.linspace(start, len(content) - 1, 25).astype(int):
        flipped = bytearray(content)
        flipped[position] ^= 1
        assert "its content was altered" in refused(bytes(flipped))


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_problem(tmp_path / "none")


def test_a_file_written_by_other_means_without_a_header_is_refused(tmp_path):
    save_file({"a": np.zeros(1)}, tmp_path / "file")
    with pytest.raises(ValueError, match="must be a problem file"):
        load_problem(tmp_path / "file")


WITHOUT_STIM = """
import sys
for name in ("stim", "sinter", "ldpc"):
    sys.modules[name] = None  # an import of it fails
from unmasq.problems.problem_file import load_problem, save_problem
problem = load_problem(sys.argv[1])
other = problem.at(0.002)
save_problem(other, sys.argv[2])
problem.restricted_to_type(1)
problem.symmetry.joint_ties()
from unmasq.shots.sampling import EvaluationShots, ShotSampler
EvaluationShots(other).chunk(0)
ShotSampler(other, intermediate=True)
print(problem.structure_id)
"""


def test_loading_and_sampling_need_no_stim(tmp_path):
    problem = circuit_problem()
    save_problem(problem, tmp_path / "in")
    command = [sys.executable, "-c", WITHOUT_STIM, tmp_path / "in", tmp_path / "out"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == problem.structure_id
    assert load_problem(tmp_path / "out").priors_id == problem.at(0.002).priors_id


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, a: a["check_matrix.indices"].__setitem__(0, 10**6), "indices must lie in 0.."),
        (lambda h, a: a["check_matrix.indices"].__setitem__(0, -1), "indices must lie in 0.."),
        (lambda h, a: a["check_matrix.indptr"].__setitem__(-1, 10**6), "indptr must rise from 0"),
        (lambda h, a: a["check_matrix.indptr"].__setitem__(1, -5), "indptr must rise from 0"),
        (lambda h, a: a.pop("logical_matrix.indptr"), "it has no 'logical_matrix.indptr'"),
        (lambda h, a: h.pop("num_logicals"), "it has no 'num_logicals'"),
        (lambda h, a: h.update(num_logicals=10**30), "num_logicals must lie in 0..100000"),
        (lambda h, a: h.update(num_frames="3"), "num_frames must lie in 0.."),
        (lambda h, a: h.update(num_detectors=0), "num_detectors must be "),
        (lambda h, a: h.update(name=3), "name must be a word: got 3"),
        (lambda h, a: h.update(p="much"), "p must be a number: got much"),
    ],
)
def test_a_whole_file_that_makes_no_sense_is_refused(tmp_path, change, message):
    """With a true digest: SciPy would write past its memory on such indices."""
    path = tmp_path / "problem"
    save_problem(repetition_problem(), path)
    header, arrays = PROBLEM.read(path)
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(header, arrays)
    PROBLEM.write(path, arrays, header)
    with pytest.raises(ValueError, match="must be a problem file that this version knows") as error:
        load_problem(path)
    assert message in str(error.value)
