"""A run's files: resumable after a kill at any write, refused where they are foreign."""

import contextlib
import errno
import json
import os

import jax.numpy as jnp
import numpy as np
import pytest

from tiny_runs import TINY, repetition_problem
from unmasq.files import array_file
from unmasq.models.weights import NetworkMismatchError, named_arrays
from unmasq.problems.problem import ProblemMismatchError
from unmasq.problems.problem_file import save_problem
from unmasq.training import checkpoint, run_folder
from unmasq.training.checkpoint import BrokenCheckpointError, load_checkpoint
from unmasq.training.run_folder import RunFolder, load_average, mirror_run, read_metrics
from unmasq.training.update import TrainState


def state_at(step, size=3):
    """Any arrays do: only the training loop knows what they mean."""
    weights = {"w": jnp.full((size,), float(step)), "b": jnp.float32(step)}
    return TrainState(weights, weights, [jnp.int32(step)], jnp.int32(step), jnp.int32(0))


def assert_step(state, step):
    expected = named_arrays(state_at(step))
    found = named_arrays(state)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.fixture(scope="module")
def problem():
    return repetition_problem()


@pytest.fixture
def run(tmp_path, problem):
    """A run with checkpoints at updates 4 and 8, and metrics up to update 8."""
    run = RunFolder(tmp_path / "run")
    run.create(TINY, problem, state_at(0))
    for step in (4, 8):
        run.log({"step": step, "loss": 1.0})
        run.save(state_at(step), float(step))
    return run


class Killed(BaseException):
    """Nothing catches it, as nothing catches SIGKILL."""


@pytest.fixture
def kill_at(monkeypatch):
    """kill_at(n): the n-th file from now on is half-written when the process ends."""

    def arrange(number):
        write, count = checkpoint.write_whole, iter(range(10**6))

        def failing(path, content):
            if next(count) == number:
                path.parent.mkdir(parents=True, exist_ok=True)
                (path.parent / f".{path.name}.abc").write_text("half")
                raise Killed
            write(path, content)

        for module in (checkpoint, array_file, run_folder):
            monkeypatch.setattr(module, "write_whole", failing)

    return arrange


def test_a_run_opens_as_it_was_made(run, problem):
    config, found = run.open()
    assert config == TINY
    assert found.structure_id == problem.structure_id
    manifest = run.manifest()
    assert manifest["structure_id"] == problem.structure_id
    assert manifest["seeds"] == {"training": TINY.seed, "stream": 0, "evaluation": 1}
    assert {"commit", "dirty", "versions", "python", "device", "devices"} <= manifest.keys()


def test_a_new_run_begins_with_a_checkpoint(tmp_path, problem):
    run = RunFolder(tmp_path)
    run.create(TINY, problem, state_at(0))
    state, seconds, warnings = run.restore(state_at(99))
    assert_step(state, 0)
    assert (seconds, warnings) == (0.0, [])


def test_an_existing_run_is_never_overwritten(run, problem):
    before = {file.name: file.read_bytes() for file in run.path.iterdir()}
    with pytest.raises(ValueError, match="--out must be a new folder: .* --resume"):
        run.create(TINY, problem, state_at(0))
    assert {file.name: file.read_bytes() for file in run.path.iterdir()} == before


@pytest.mark.parametrize("number", range(6))
def test_killed_while_it_begins_a_run_resumes_or_begins_again(tmp_path, problem, kill_at, number):
    run = RunFolder(tmp_path / "run")
    kill_at(number)
    try:
        run.create(TINY, problem, state_at(0))
        assert number == 5  # problem, manifest, shard, its manifest, config
    except Killed:
        with pytest.raises(ValueError, match="--resume must name a run folder: .* --out"):
            run.open()
        run.create(TINY, problem, state_at(0))
    assert not list(run.path.glob(".*"))  # it may end without ever being resumed
    run.open()
    assert_step(run.restore(state_at(99))[0], 0)


@pytest.mark.parametrize("number", range(3))
def test_killed_while_it_saves_or_resumes_a_run_goes_on(run, kill_at, number):
    run.log({"step": 12, "loss": 1.0})
    kill_at(number)  # the shard, its manifest, or the metrics while it resumes
    step = 12 if number == 2 else 8
    with contextlib.suppress(Killed):
        run.save(state_at(12), 12.0)
        run.restore(state_at(99))
        pytest.fail("was not killed")
    state, seconds, warnings = run.restore(state_at(99))
    assert_step(state, step)
    assert (seconds, warnings) == (float(step), [])
    assert [r["step"] for r in run.metrics()] == list(range(4, step + 1, 4))
    # Nothing half-written is left behind.
    assert not list(run.path.glob(".*"))
    left = {file.name.rsplit("-", 1)[0] for file in run.path.glob("step-*.safetensors")}
    assert left == {manifest.stem for manifest in run.checkpoints()}


def test_two_checkpoints_are_kept(run):
    run.save(state_at(12), 12.0)
    assert [file.stem for file in run.checkpoints()] == ["step-000000012", "step-000000008"]
    assert len(list(run.path.glob("step-*.safetensors"))) == 2


def cut(path):
    path.write_bytes(path.read_bytes()[:50])


def flip(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def remove(path):
    path.unlink()


@pytest.mark.parametrize(
    ("file", "harm"),
    [
        ("step-000000008.json", cut),
        ("step-000000008.json", flip),
        ("step-000000008-0.safetensors", cut),
        ("step-000000008-0.safetensors", flip),
        ("step-000000008-0.safetensors", remove),
    ],
)
def test_a_harmed_checkpoint_falls_back_to_the_one_before(run, file, harm):
    harm(run.path / file)
    state, seconds, (warning,) = run.restore(state_at(99))
    assert_step(state, 4)
    assert seconds == 4.0
    assert warning.startswith("passed over step-000000008.json: ")
    assert [r["step"] for r in run.metrics()] == [4]
    # It stays out of the way of the checkpoints to come.
    assert [path.stem for path in run.checkpoints()] == ["step-000000004"]
    run.save(state_at(6), 6.0)
    assert [path.stem for path in run.checkpoints()] == ["step-000000006", "step-000000004"]
    assert_step(run.restore(state_at(99))[0], 6)


def test_without_a_whole_checkpoint_nothing_is_touched(run):
    for manifest in run.checkpoints():
        cut(manifest)
    before = {file.name: file.read_bytes() for file in run.path.iterdir()}
    with pytest.raises(BrokenCheckpointError, match="run must hold a whole checkpoint: .*step-"):
        run.restore(state_at(99))
    assert {file.name: file.read_bytes() for file in run.path.iterdir()} == before


def test_a_run_that_lost_all_checkpoints_says_so(run):
    for file in run.path.glob("step-*"):
        file.unlink()
    with pytest.raises(BrokenCheckpointError, match="must hold a whole checkpoint: got none"):
        run.restore(state_at(99))


def test_metrics_that_are_made_again_are_dropped(run):
    for record in ({"step": 8, "finished": False}, {"step": 8, "finished": True}, {"step": 12}):
        run.log(record)
    with run.metrics_path.open("a") as file:
        file.write('{"step": 16, "lo')  # a kill cut it off
    assert [r["step"] for r in run.metrics()] == [4, 8, 8, 8, 12]
    run.restore(state_at(99))
    assert run.metrics() == [
        {"step": 4, "loss": 1.0},
        {"step": 8, "loss": 1.0},
        {"step": 8, "finished": False},
    ]
    run.log({"step": 12})
    assert run.metrics()[-1] == {"step": 12}


# Foreign folders


def test_a_folder_of_another_problem_is_refused(run):
    save_problem(repetition_problem(5), run.path / "problem.safetensors")
    with pytest.raises(ProblemMismatchError, match="problem.safetensors must belong to the prob"):
        run.open()


def test_a_checkpoint_of_another_problem_is_refused(run, tmp_path):
    other = RunFolder(tmp_path / "other")
    other.create(TINY, repetition_problem(5), state_at(0))
    other.save(state_at(12), 12.0)
    for file in other.path.glob("step-000000012*"):
        file.rename(run.path / file.name)
    with pytest.raises(ProblemMismatchError, match="step-000000012.json must belong to the prob"):
        run.restore(state_at(99))


@pytest.mark.parametrize(
    "other",
    [state_at(0, size=4), state_at(0)._replace(weights={"w": jnp.zeros(3)})],
    ids=["shapes", "names"],
)
def test_a_checkpoint_of_another_network_is_refused(run, other):
    with pytest.raises(NetworkMismatchError, match="another network"):
        run.restore(other)


@pytest.mark.parametrize("file", ["config.json", "manifest.json", "problem.safetensors"])
@pytest.mark.parametrize("harm", [cut, remove])
def test_a_folder_that_is_not_whole_is_refused(run, file, harm):
    harm(run.path / file)
    with pytest.raises(ValueError, match=file):
        run.open()


def test_a_manifest_without_a_problem_is_refused(run):
    (run.path / "manifest.json").write_text("{}")
    with pytest.raises(ValueError, match=r"manifest.json must be the manifest of a run"):
        run.open()


# Full disks


NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_keeps_what_was_saved(run, monkeypatch):
    def full(_):
        raise NO_SPACE

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="run must be writable: No space left .* --resume") as refusal:
        run.save(state_at(12), 12.0)
    assert "\n" not in str(refusal.value)
    monkeypatch.undo()
    assert not list(run.path.glob(".*"))
    assert_step(run.restore(state_at(99))[0], 8)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has a device that is full")
def test_metrics_on_a_full_disk_say_so(run):
    run.metrics_path.unlink()
    run.metrics_path.symlink_to("/dev/full")
    with pytest.raises(OSError, match="run must be writable: No space left"):
        run.log({"step": 12})


def test_a_new_run_on_a_full_disk_says_so(tmp_path, problem, monkeypatch):
    def full(_):
        raise NO_SPACE

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="must be writable: No space left .*start again"):
        RunFolder(tmp_path).create(TINY, problem, state_at(0))
    assert not (tmp_path / "config.json").exists()


# Slim copies


def test_a_slim_copy_holds_weights_average_and_metrics(run, tmp_path):
    mirror_run(tmp_path / "slim", state_at(8), TINY, run)
    arrays, header = load_checkpoint(tmp_path / "slim" / "slim.json")
    assert set(arrays) == {"weights.w", "weights.b", "average.w", "average.b"}
    assert header["step"] == 8
    assert read_metrics(tmp_path / "slim" / "metrics.jsonl") == run.metrics()
    mirror_run(tmp_path / "slim", state_at(12), TINY, run)
    assert len(list((tmp_path / "slim").glob("*.safetensors"))) == 1
    assert load_average(tmp_path / "slim")["b"] == 12


@pytest.mark.parametrize("number", range(3))
def test_a_slim_copy_is_replaced_whole(run, tmp_path, kill_at, number):
    mirror_run(tmp_path / "slim", state_at(8), TINY, run)
    kill_at(number)
    with pytest.raises(Killed):
        mirror_run(tmp_path / "slim", state_at(12), TINY, run)
    assert load_average(tmp_path / "slim")["b"] == (12 if number == 2 else 8)


def test_a_slim_copy_does_not_resume(run, tmp_path):
    mirror_run(tmp_path / "slim", state_at(8), TINY, run)
    with pytest.raises(ValueError, match="no manifest.json.*a slim copy serves as --init"):
        RunFolder(tmp_path / "slim").open()


def test_averaged_weights_come_from_the_newest_whole_checkpoint(run, tmp_path):
    assert load_average(run.path)["b"] == 8
    assert load_average(run.path / "step-000000004.json")["b"] == 4
    cut(run.path / "step-000000008.json")
    assert load_average(run.path)["b"] == 4
    with pytest.raises(ValueError, match="must hold a whole checkpoint: got none"):
        load_average(tmp_path)
    with pytest.raises(ValueError, match="No such file"):
        load_average(tmp_path / "nowhere")


def test_records_are_json_lines(run):
    lines = run.metrics_path.read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [4, 8]


def test_weights_that_a_kill_left_half_written_are_swept(run):
    left, others = run.path / f".{TINY.name}.safetensors.0123456789ab", run.path / ".notes"
    for path in (left, others):
        path.write_text("half")
    run.restore(state_at(99))
    assert not left.exists()
    assert others.exists()
