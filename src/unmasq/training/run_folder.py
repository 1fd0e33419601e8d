"""A training run on disk: config, manifest, problem, metrics and checkpoints.

Everything is written whole. After a kill at any moment the folder resumes from its newest whole
checkpoint (the first is written before the run exists); metrics of updates that the checkpoint
does not know are dropped, since they are made again. All processes of a run must see one folder.
"""

import contextlib
import errno
import glob
import json
import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import equinox as eqx
import jax

from unmasq.files.array_file import Arrays
from unmasq.files.atomic import write_whole
from unmasq.files.provenance import checkout
from unmasq.models.weights import load_weights, named_arrays, restore_arrays
from unmasq.problems.problem import DecodingProblem, ProblemMismatchError
from unmasq.problems.problem_file import load_problem, save_problem
from unmasq.training.checkpoint import (
    BrokenCheckpointError,
    delete_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from unmasq.training.config import TrainConfig, from_json, to_json
from unmasq.training.measure import TRAINING_SEED
from unmasq.training.processes import agreed, same_everywhere
from unmasq.training.streams import PLAIN_STREAM
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

    def require_new(self) -> None:
        """Refuses an existing run, so that nothing is overwritten."""
        if agreed((self.path / "config.json").exists()):
            raise ValueError(
                f"--out must be a new folder: got {self.path}, which holds a run. "
                f"Go on with it by --resume {self.path}, or choose another folder."
            )
        # Said before the first update is compiled, not after.
        there = next(path for path in (self.path, *self.path.absolute().parents) if path.exists())
        with _clear_errors(self.path, "Choose another folder."):
            if not there.is_dir():
                raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            if self.writes and not os.access(there, os.W_OK):
                raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    def create(
        self,
        config: TrainConfig,
        problem: DecodingProblem,
        state: TrainState,
        history: Sequence[Mapping[str, Any]] = (),
        stream: int = PLAIN_STREAM,
    ) -> None:
        """A new run, with its first checkpoint; `history` tells of the runs before it."""
        self.require_new()
        if not self.writes:
            return
        with _clear_errors(self.path, "Choose another folder, or make room, and start again."):
            save_problem(problem, self.path / "problem.safetensors")
            facts = {**_manifest(config, problem, stream), "history": list(history)}
            manifest = json.dumps(facts, indent=1)
            write_whole(self.path / "manifest.json", manifest)
            self.save(state, 0.0)
            write_whole(self.path / "config.json", to_json(config))  # last: now it is a run
            self._sweep_temporaries(config.name)  # of one that was killed before it was a run

    def open(self) -> tuple[TrainConfig, DecodingProblem]:
        """Config and problem of an existing run."""
        for name in ("config.json", "manifest.json", "problem.safetensors"):
            if not (self.path / name).exists():
                raise ValueError(
                    f"--resume must name a run folder: got {self.path}, which has no {name}. "
                    "Start a run with --out (a slim copy serves as --init)."
                )
        try:
            config = from_json((self.path / "config.json").read_bytes())
        except ValueError as error:
            raise ValueError(f"{self.path / 'config.json'}: {error}") from error
        problem = load_problem(self.path / "problem.safetensors")
        self._require_problem(problem.structure_id, "problem.safetensors")
        return config, problem

    def manifest(self) -> dict[str, Any]:
        """Where and with what the run was started."""
        path = self.path / "manifest.json"
        try:
            manifest = json.loads(path.read_bytes())
            return {**manifest, "structure_id": manifest["structure_id"]}
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"{path} must be the manifest of a run: {error!r}.") from error

    def stream(self) -> int:
        """Which random numbers it draws; runs of before there were streams have the plain one."""
        return self.manifest().get("seeds", {}).get("stream", PLAIN_STREAM)

    def save(self, state: TrainState, seconds: float) -> None:
        """A full checkpoint; older ones beyond the last two go."""
        if not self.writes:
            return
        step = int(state.step)
        header = {
            "step": step,
            "seconds": seconds,
            "structure_id": self.manifest()["structure_id"],
        }
        with _clear_errors(self.path):
            if self.metrics_path.exists():  # not behind the checkpoint after a power cut either
                with self.metrics_path.open("a") as file:
                    os.fsync(file.fileno())
            save_checkpoint(self.path, f"step-{step:09d}", named_arrays(state), header)
            for manifest in self.checkpoints()[KEPT_CHECKPOINTS:]:
                delete_checkpoint(manifest)

    def checkpoints(self) -> list[Path]:
        """Manifests, newest first."""
        return sorted(self.path.glob("step-*.json"), reverse=True)

    def restore(self, state: TrainState) -> tuple[TrainState, float, list[str]]:
        """The newest whole checkpoint in place of `state`, its seconds, and what was passed over.

        Broken checkpoints are set aside as NAME.broken: the run goes another way now.
        """
        arrays, header, broken = newest_whole(self.checkpoints(), self.path)
        self._require_problem(header.get("structure_id"), f"step-{header['step']:09d}.json")
        restored = restore_arrays(state, arrays)
        if not same_everywhere(header["step"]):
            raise ValueError(
                f"all processes must see the same {self.path}: got update {header['step']} here "
                "and another one elsewhere. Use a folder that they share."
            )
        if self.writes:
            self._sweep(broken)
            self._drop_metrics_after(header["step"])
        warnings = [f"passed over {path.name}: {why}" for path, why in broken.items()]
        return restored, float(header["seconds"]), warnings

    def log(self, record: Mapping[str, Any]) -> None:
        """Appends one line of metrics."""
        if self.writes:
            with _clear_errors(self.path), self.metrics_path.open("a") as file:
                file.write(json.dumps(record) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """All whole lines of the metrics."""
        return read_metrics(self.metrics_path)

    def _require_problem(self, structure_id: str | None, file: str) -> None:
        expected = self.manifest()["structure_id"]
        if structure_id != expected:
            raise ProblemMismatchError(
                f"{self.path / file} must belong to the problem that the run was started with, "
                f"structure {expected}: got {structure_id}."
            )

    def _drop_metrics_after(self, step: int) -> None:
        """Also the closing record of a finished run, which is made again."""
        if self.metrics_path.exists():
            kept = [r for r in self.metrics() if r["step"] <= step and not r.get("finished")]
            write_whole(self.metrics_path, "".join(json.dumps(r) + "\n" for r in kept))

    def _sweep(self, broken: Mapping[Path, str]) -> None:
        """Sets broken checkpoints aside and removes what a kill left half-written."""
        for manifest in broken:
            manifest.replace(manifest.with_suffix(".broken"))
        for shard in self.path.glob("step-*.safetensors"):
            manifest = self.path / shard.name.rsplit("-", 1)[0]
            if not any(manifest.with_suffix(end).exists() for end in (".json", ".broken")):
                shard.unlink()
        self._sweep_temporaries(from_json((self.path / "config.json").read_bytes()).name)

    def _sweep_temporaries(self, name: str) -> None:
        """One process writes here: what is half-written now stays so."""
        starts = [f"{file}." for file in ("problem", "manifest", "config", "metrics", name)]
        for start in ("step-", *starts):
            for temporary in self.path.glob(f".{glob.escape(start)}*"):
                temporary.unlink(missing_ok=True)


_SAVED = "All that was saved is still there: make room and go on with --resume."


@contextlib.contextmanager
def _clear_errors(folder: Path, way_out: str = _SAVED) -> Iterator[None]:
    """A full disk and the like in one line that says what is left."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise OSError(f"{folder} must be writable: {reason}. {way_out}") from error


def mirror_run(folder: str | Path, state: TrainState, config: TrainConfig, run: RunFolder) -> None:
    """A slim copy elsewhere: weights, average, config and metrics; one checkpoint, not two."""
    if not run.writes:
        return
    folder = Path(folder)
    slim = {"weights": state.weights, "average": state.average}
    step = int(state.step)
    with _clear_errors(folder):
        save_checkpoint(
            folder, "slim", named_arrays(slim), {"step": step}, shard_name=f"slim-{step:09d}"
        )
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
            except (ValueError, RecursionError):
                break
    return records


def _manifest(config: TrainConfig, problem: DecodingProblem, stream: int) -> dict[str, Any]:
    commit, dirty = checkout()
    return {
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "structure_id": problem.structure_id,
        "problem": problem.name,
        "seeds": {"training": config.seed, "stream": stream, "evaluation": TRAINING_SEED},
        "commit": commit,
        "dirty": dirty,
        "versions": {
            name: metadata.version(name) for name in ("jax", "jaxlib", "equinox", "optax", "numpy")
        },
        "python": platform.python_version(),
        "device": jax.devices()[0].device_kind,
        "devices": jax.device_count(),
        "processes": jax.process_count(),
    }


def newest_whole(
    manifests: Sequence[Path], folder: Path
) -> tuple[Arrays, dict[str, Any], dict[Path, str]]:
    """Arrays and header of the first that is whole, and what is wrong with those before it."""
    broken: dict[Path, str] = {}
    for manifest in manifests:
        try:
            return *load_checkpoint(manifest), broken
        except BrokenCheckpointError as error:
            broken[manifest] = str(error)
    why = next(iter(broken.values()), "got none.")
    raise BrokenCheckpointError(f"{folder} must hold a whole checkpoint: {why}")


def load_average(path: str | Path) -> Arrays:
    """Averaged weights by name: of a weight file, a checkpoint, or the newest in a folder."""
    path = Path(path)
    if path.suffix == ".safetensors":
        weights = load_weights(path)
        return named_arrays(eqx.filter(weights.network, eqx.is_inexact_array))
    manifests = [path]
    if path.is_dir():
        manifests = [*path.glob("slim.json"), *RunFolder(path).checkpoints()]
    arrays, _, _ = newest_whole(manifests, path)
    return {
        name.removeprefix("average."): array
        for name, array in arrays.items()
        if name.startswith("average.")
    }
