"""`unmasq problem` for codes of one's own: matrices, schedules, names of families."""

import json

import numpy as np
import pytest

from command_line import refusal, run
from small_codes import toric
from unmasq.codes import get_code
from unmasq.problems.problem_file import load_problem

OWN = ("--checks-x", "x.npy", "--checks-z", "z.npy", "--p", 0.004, "--rounds", 1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A toric code, its schedule with Z checks behind X checks, and things that are wrong."""
    monkeypatch.chdir(tmp_path)
    x, z = toric(3, 3)
    schedule = get_code("toric:3").schedule
    later = np.where(schedule.z, schedule.z + 4, 0)
    crossed = later.copy()
    crossed[crossed == 5] = 1
    matrices = {
        "x": x, "z": z, "ticks_x": schedule.x, "ticks_z": later, "crossed": crossed,
        "other": np.roll(z, 1, axis=1), "narrow": z[:, 1:], "two": 2 * x,
        "empty": np.concatenate([x, 0 * x[:1]]),
    }  # fmt: skip
    for name, matrix in matrices.items():
        np.save(f"{name}.npy", matrix)
    np.save("objects.npy", np.array([{"a": 1}], object), allow_pickle=True)
    (tmp_path / "text.npy").write_text("1 1 0\n")
    return tmp_path


def test_matrices_make_a_problem_with_symmetry_and_schedule(capsys, folder):
    code, said, _ = run(capsys, "problem", *OWN, "--out", "mine")
    assert code == 0
    assert "schedule: 4 ticks of CNOTs: X 1-4, Z 1-4; CNOTs tick by tick: X 9 9 9 9, Z 9" in said
    assert "symmetry: 9 elements leave 68 of 400 attention weights, 8 relations" in said
    problem = load_problem("mine/problem.safetensors")
    assert (problem.name, problem.code, problem.symmetry.order) == ("mine", None, 9)
    code, said, _ = run(capsys, "problem", *OWN, "--name", "torus", "--json", "--out", "mine")
    record = json.loads(said)
    assert (record["name"], record["symmetry"], record["schedule"]["depth"]) == ("torus", 9, 4)
    assert record["structure_id"] == problem.structure_id


def test_a_schedule_of_ones_own(capsys, folder):
    words = ("--schedule-x", "ticks_x.npy", "--schedule-z", "ticks_z.npy", "--out", "mine")
    assert "8 ticks of CNOTs: X 1-4, then Z 5-8" in run(capsys, "problem", *OWN, *words)[1]
    names = ("problem", "toric:3", "--p", 0.004, "--rounds", 1, *words)
    assert "8 ticks of CNOTs" in run(capsys, *names)[1]
    assert load_problem("mine/problem.safetensors").code is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--checks-x", "x.npy"), "--checks-x and --checks-z must come together"),
        (("--checks-x", "x.npy", "--checks-z", "other.npy"), "must commute: got rows"),
        (("--checks-x", "x.npy", "--checks-z", "narrow.npy"), "equally many columns: got 18 and"),
        (("--checks-x", "two.npy", "--checks-z", "z.npy"), "must hold only 0 and 1"),
        (("--checks-x", "text.npy", "--checks-z", "z.npy"), "must be a matrix saved with numpy"),
        (("--checks-x", "objects.npy", "--checks-z", "z.npy"), "must be a matrix saved with numpy"),
        (("--checks-x", "gone.npy", "--checks-z", "z.npy"), "gone.npy: No such file"),
        (("--checks-x", "empty.npy", "--checks-z", "z.npy"), "got none in row 9. Drop the row."),
        (("toric:3", "--name", "mine"), "--name must be left out for a code that has one"),
        (("toric:3", "--schedule-x", "ticks_x.npy"), "must come together: got one of them"),
        (
            ("toric:3", "--schedule-x", "ticks_x.npy", "--schedule-z", "crossed.npy"),
            "schedule must",
        ),
    ],
)
def test_bad_input_is_one_line(capsys, folder, words, message):
    rest = ("--p", 0.004, "--rounds", 1, "--out", "out")
    assert message in refusal(capsys, "problem", *words, *rest)


def test_a_schedule_goes_with_a_code(capsys, folder):
    words = ("--dem", "a.dem", "--schedule-x", "ticks_x.npy", "--out", "out")
    assert "--schedule-x must go with a code" in refusal(capsys, "problem", *words)
