"""A training run on disk: config, manifest, problem, metrics and checkpoints.

Everything is written whole. After a kill at any moment the folder resumes from its newest whole
checkpoint; metrics of updates that the checkpoint does not know are dropped, since they are made
again.
"""

import json
import platform
import subprocess
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from unmasq.atomic_files import write_whole
from unmasq.checkpoint import (
    BrokenCheckpointError,
    ProblemMismatchError,
    delete_checkpoint,
    load_checkpoint,
    load_weights,
    named_arrays,
    restore_arrays,
    save_checkpoint,
)
from unmasq.problem import DecodingProblem
from unmasq.problem_file import load_problem, save_problem
from unmasq.training.config import TrainConfig, from_json, to_json
from unmasq.training.update import TrainState

KEPT_CHECKPOINTS = 2


class RunFolder:
    """The files of one run; only the first process of a multi-process run writes."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.writes = jax.process_index() == 0

    @property
    def metrics_path(self) -> Path:
        return self.path / "metrics.jsonl"

    def create(self, config: TrainConfig, problem: DecodingProblem) -> None:
        """A new run; an existing one is refused, so that nothing is overwritten."""
        if (self.path / "config.json").exists():
            raise ValueError(
                f"--out must be a new folder: got {self.path}, which holds a run. "
                f"Go on with it by --resume {self.path}, or choose another folder."
            )
        if self.writes:
            save_problem(problem, self.path / "problem.safetensors")
            write_whole(self.path / "manifest.json", json.dumps(_manifest(problem), indent=1))
            write_whole(self.path / "config.json", to_json(config))

    def open(self) -> tuple[TrainConfig, DecodingProblem]:
        """Config and problem of an existing run."""
        if not (self.path / "config.json").exists():
            raise ValueError(
                f"--resume must name a run folder: got {self.path}, which has no config.json. "
                "Start a run with --out."
            )
        config = from_json((self.path / "config.json").read_bytes())
        problem = load_problem(self.path / "problem.safetensors")
        expected = self.manifest()["structure_id"]
        if expected != problem.structure_id:
            raise ProblemMismatchError(
                f"{self.path} must hold the problem it was started with ({expected}): "
                f"got {problem.structure_id}."
            )
        return config, problem

    def manifest(self) -> dict[str, Any]:
        """Where and with what the run was started."""
        return json.loads((self.path / "manifest.json").read_bytes())

    def save(self, state: TrainState, seconds: float) -> None:
        """A full checkpoint; older ones beyond the last two go."""
        if not self.writes:
            return
        header = {
            "step": int(state.step),
            "seconds": seconds,
            "structure_id": self.manifest()["structure_id"],
        }
        name = f"step-{int(state.step):09d}"
        save_checkpoint(self.path, name, named_arrays(state), header)
        for manifest in self.checkpoints()[KEPT_CHECKPOINTS:]:
            delete_checkpoint(manifest)

    def checkpoints(self) -> list[Path]:
        """Manifests, newest first."""
        return sorted(self.path.glob("step-*.json"), reverse=True)

    def restore(self, state: TrainState) -> tuple[TrainState, float, list[str]]:
        """The newest whole checkpoint, its seconds, and what had to be passed over.

        A run killed before its first checkpoint begins again: the given state comes back.
        """
        warnings: list[str] = []
        for manifest in self.checkpoints():
            try:
                arrays, header = load_checkpoint(manifest)
            except BrokenCheckpointError as error:
                warnings.append(f"passed over {manifest.name}: {error}")
                continue
            self._drop_metrics_after(header["step"])
            return restore_arrays(state, arrays), float(header["seconds"]), warnings
        if warnings:
            raise BrokenCheckpointError(f"{self.path} has no whole checkpoint left: {warnings[0]}")
        self._drop_metrics_after(0)
        return state, 0.0, warnings

    def log(self, record: Mapping[str, Any]) -> None:
        """Appends one line of metrics."""
        if self.writes:
            with self.metrics_path.open("a") as file:
                file.write(json.dumps(record) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """All whole lines of the metrics."""
        return read_metrics(self.metrics_path)

    def _drop_metrics_after(self, step: int) -> None:
        if self.writes and self.metrics_path.exists():
            kept = [record for record in self.metrics() if record["step"] <= step]
            write_whole(self.metrics_path, "".join(json.dumps(r) + "\n" for r in kept))


def mirror_run(folder: str | Path, state: TrainState, config: TrainConfig, run: RunFolder) -> None:
    """A slim copy elsewhere: weights, average, config and metrics; one checkpoint, not two."""
    if not run.writes:
        return
    folder = Path(folder)
    slim = {"weights": state.weights, "average": state.average}
    arrays = {
        f"{group}.{name}": array
        for group, tree in slim.items()
        for name, array in named_arrays(tree).items()
    }
    save_checkpoint(folder, "slim", arrays, {"step": int(state.step)})
    write_whole(folder / "config.json", to_json(config))
    if run.metrics_path.exists():
        write_whole(folder / "metrics.jsonl", run.metrics_path.read_bytes())


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """All whole lines; a line that a kill cut off is left out."""
    records = []
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                records.append(json.loads(line))
            except json.JSONDecodeError:
                break
    return records


def _manifest(problem: DecodingProblem) -> dict[str, Any]:
    return {
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "structure_id": problem.structure_id,
        "problem": problem.name,
        "commit": _git("rev-parse", "HEAD"),
        "dirty": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "versions": {
            name: metadata.version(name) for name in ("jax", "jaxlib", "equinox", "optax", "numpy")
        },
        "python": platform.python_version(),
        "device": jax.devices()[0].device_kind,
        "devices": jax.device_count(),
        "processes": jax.process_count(),
    }


def _git(*arguments: str) -> str | None:
    try:
        result = subprocess.run(
            ["git", *arguments],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()


def load_average(path: str | Path) -> dict[str, np.ndarray]:
    """Averaged weights by name: of a weight file, a checkpoint, or the newest in a folder."""
    path = Path(path)
    if path.suffix == ".safetensors":
        weights = load_weights(path)
        return named_arrays(eqx.filter(weights.network, eqx.is_inexact_array))
    manifest = path
    if path.is_dir():
        found = [path / "slim.json"] if (path / "slim.json").exists() else []
        found += sorted(path.glob("step-*.json"), reverse=True)
        if not found:
            raise ValueError(f"{path} must hold a checkpoint (slim.json or step-*.json): got none.")
        manifest = found[0]
    arrays, _ = load_checkpoint(manifest)
    return {
        name.removeprefix("average."): array
        for name, array in arrays.items()
        if name.startswith("average.")
    }
