"""A folder of small valid files that every campaign starts from."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import numpy as np
import stim

from unmasq.codes import get_code
from unmasq.models import NetworkConfig
from unmasq.problems.building import circuit_from_code, problem_from_code, problem_from_matrices
from unmasq.problems.problem import DecodingProblem
from unmasq.problems.problem_file import save_problem
from unmasq.training.config import NoiseSchedule, OptimizerConfig, TrainConfig

TINY = TrainConfig(
    name="tiny",
    num_updates=40,
    batch_size=16,
    network=NetworkConfig(width=8, feedforward=8, heads=2, encoder_layers=0, decoder_layers=1),
    optimizer=OptimizerConfig(learning_rate=3e-3),
    updates_per_call=4,
    evaluate_shots=1024,
    noise=NoiseSchedule(p=0.2),  # of `repetition`, as the command line has it
)
CIRCUIT = stim.Circuit.generated(
    "repetition_code:memory",
    rounds=2,
    distance=3,
    after_clifford_depolarization=0.01,
    before_measure_flip_probability=0.01,
)
FORMATS = ("b8", "01", "dets", "r8", "hits")


def repetition() -> DecodingProblem:
    """Three bits in a row with a check between neighbours: trains in a second."""
    checks = np.array([[1, 1, 0], [0, 1, 1]], np.uint8)
    return problem_from_matrices(
        checks, np.array([[1, 0, 0]], np.uint8), [0.2] * 3, name="repetition"
    )


@dataclasses.dataclass
class Sandbox:
    """Valid files under `root`; scratch files of a case go to `root/scratch`."""

    root: Path

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        os.chdir(self.root)
        code = get_code("bb18")
        self.problem = problem_from_code(code, "code-capacity", 0.05)
        save_problem(self.problem, "problem.safetensors")
        save_problem(repetition(), "repetition.safetensors")
        shots = circuit_from_code(code, "code-capacity", 0.05)
        self.shots = shots.compile_detector_sampler(seed=5).sample(40)
        for file_format in FORMATS:
            stim.write_shot_data_file(
                data=self.shots, path=f"shots.{file_format}", format=file_format, num_detectors=18
            )
        Path("circuit.stim").write_text(str(CIRCUIT))
        Path("model.dem").write_text(str(CIRCUIT.detector_error_model()))
        self.scratch.mkdir(exist_ok=True)
        self._write_run()
        self._write_counts()
        self._known = self._fingerprints()

    @property
    def scratch(self) -> Path:
        return self.root / "scratch"

    def _write_run(self) -> None:
        """A finished run: checkpoints, metrics, weights, cards."""
        from unmasq.training.loop import train
        from unmasq.training.run_folder import RunFolder

        if (self.root / "run" / "tiny.safetensors").exists():
            return
        shutil.rmtree("run", ignore_errors=True)
        train(TINY, repetition(), RunFolder("run"))

    def _write_counts(self) -> None:
        from unmasq.evaluation.collect import collect
        from unmasq.evaluation.contenders import baseline
        from unmasq.evaluation.limits import Limits

        if not Path("stats.csv").exists():
            collect(
                [baseline("bposd-xz")], self.problem, [0.05], Limits(64), save=Path("stats.csv"),
                workers=1,
            )  # fmt: skip

    def run_file(self, ending: str) -> Path:
        """The newest file of the run that ends so."""
        return sorted((self.root / "run").glob(f"*{ending}"))[-1]

    def recipe(self) -> dict:
        return json.loads((self.root / "run" / "config.json").read_text())

    def changed(self) -> list[str]:
        """Valid files that are not what they were: they must outlive every case."""
        now = self._fingerprints()
        return [path for path, mark in self._known.items() if now.get(path) != mark]

    def _fingerprints(self) -> dict[str, tuple[int, int]]:
        return {
            str(path): (path.stat().st_size, path.stat().st_mtime_ns)
            for path in self.root.rglob("*")
            if path.is_file() and self.scratch not in path.parents
        }

    def clear(self) -> None:
        """Removes what cases made."""
        shutil.rmtree(self.scratch)
        self.scratch.mkdir()
        for path in self._fingerprints().keys() - self._known.keys():
            Path(path).unlink()
