"""Many devices and many processes: the same shots, the same losses, the same command."""

import dataclasses
import json
import socket
import subprocess
import sys

import pytest

import device_cases
from tiny_runs import TINY, repetition_problem, train_command
from unmasq.problems.problem_file import save_problem
from unmasq.training.loop import train
from unmasq.training.run_folder import RunFolder

CONFIG = dataclasses.replace(TINY, evaluate_every=20)


def losses_of(folder):
    return {r["step"]: r["loss"] for r in RunFolder(folder).metrics() if "loss" in r}


@pytest.fixture(scope="module")
def problem_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("problem") / "problem.safetensors"
    save_problem(repetition_problem(), path)
    return path


@pytest.fixture(scope="module")
def one_process(tmp_path_factory):
    """The losses on one device, by generator."""
    folder = tmp_path_factory.mktemp("one")
    losses = {}
    for generator in ("rbg", "threefry2x32"):
        config = dataclasses.replace(CONFIG, generator=generator)
        train(config, repetition_problem(), RunFolder(folder / generator))
        losses[generator] = losses_of(folder / generator)
    assert losses["rbg"] != losses["threefry2x32"]
    return losses


def finish(processes):
    """What they said; all must have ended well."""
    said = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), said
    return said


def start(words, environment, config=CONFIG):
    return subprocess.Popen(
        train_command(config, *words), env=environment, stderr=subprocess.PIPE, text=True
    )


def test_two_devices_give_the_losses_of_one(tmp_path, problem_path, one_process, quick_compilation):
    """With threefry, of which each device draws its part; two processes below have rbg."""
    generator = "threefry2x32"
    words = ["tiny", "--problem", problem_path, "--out", tmp_path / "run", "--cpu-devices", 2]
    finish([start([*words, "--set", f"generator={generator}"], quick_compilation)])
    assert RunFolder(tmp_path / "run").manifest()["devices"] == 2
    assert losses_of(tmp_path / "run") == pytest.approx(one_process[generator], rel=1e-4)


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.slow) for case in device_cases.SETTINGS]
)
def test_however_a_batch_is_cut_two_devices_give_the_losses_of_one(quick_compilation, case):
    """What is random, beside the shots, is drawn for the whole batch."""
    found = subprocess.run(
        [sys.executable, device_cases.__file__, case],
        env={**quick_compilation, "JAX_NUM_CPU_DEVICES": "2", "PYTHONPATH": ":".join(sys.path)},
        check=True,
        capture_output=True,
        timeout=300,
    )
    assert json.loads(found.stdout) == pytest.approx(device_cases.losses(case), rel=1e-4)


def start_two(words, environment):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    shared = ["--distributed", "--coordinator", f"localhost:{port}", "--num-processes", 2]
    return [start([*words, *shared, "--process-id", i], environment) for i in range(2)]


def test_two_processes_give_the_losses_of_one(
    tmp_path, problem_path, one_process, quick_compilation
):
    out = tmp_path / "run"
    words = ["tiny", "--problem", problem_path, "--out", out]
    first, second = finish(start_two(words, quick_compilation))
    assert RunFolder(out).manifest()["processes"] == 2
    assert losses_of(out) == pytest.approx(one_process["rbg"], rel=1e-4)
    assert "finished after 40 updates" in first
    assert "finished" not in second  # one process speaks


@pytest.mark.slow
def test_two_processes_stop_and_go_on_together(
    tmp_path, problem_path, one_process, quick_compilation
):
    out = tmp_path / "run"
    words = ["tiny", "--problem", problem_path, "--out", out]
    finish(start_two([*words, "--minutes", 0], quick_compilation))
    assert list(losses_of(out)) == [4]
    finish(start_two(["--resume", out], quick_compilation))
    assert losses_of(out) == pytest.approx(one_process["rbg"], rel=1e-4)
    # The same length for both, and an existing folder for neither.
    fitted = tmp_path / "fitted"
    words[-1] = fitted
    finish(start_two([*words, "--fit-minutes", 0.2], quick_compilation))
    assert RunFolder(fitted).open()[0].num_updates == max(losses_of(fitted))
    for process in start_two(words, quick_compilation):
        _, said = process.communicate(timeout=300)
        assert process.returncode == 2
        assert "error: --out must be a new folder" in said


CHECKS = """
import jax
from tiny_runs import TINY, repetition_problem
from unmasq.training import override
from unmasq.training.make_trainer import make_trainer
assert jax.device_count() == 3
make_trainer(override(TINY, ["batch_size=15"]), repetition_problem())
for size, proposal in ((16, 15), (2, 3)):
    try:
        make_trainer(override(TINY, [f"batch_size={size}"]), repetition_problem())
    except ValueError as error:
        expected = f"batch_size must divide over 3 devices: got {size}. "
        assert str(error) == expected + f"Try --set batch_size={proposal}.", error
    else:
        raise AssertionError(size)
"""


def test_a_batch_must_divide_over_the_devices(quick_compilation):
    path = ":".join(p for p in sys.path if p.endswith("tests"))
    environment = {
        **quick_compilation,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=3",
        "PYTHONPATH": f"{path}:{quick_compilation.get('PYTHONPATH', '')}",
    }
    subprocess.run([sys.executable, "-c", CHECKS], env=environment, check=True, timeout=300)
