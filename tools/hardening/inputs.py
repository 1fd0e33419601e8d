"""Malformed files: problems, weights, checkpoints, CSVs, shots, error models, circuits, recipes."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import stim

from hardening import mutations
from hardening.commands import run_line
from hardening.judging import REFUSED, TAKEN, Finding, Target, refused_or
from hardening.sandbox import FORMATS, TINY, Sandbox
from unmasq.evaluation.failures import failures_path, read_flags
from unmasq.evaluation.stats_file import StatsFile, read_counts
from unmasq.files.weight_file import WEIGHTS, read_weight_file
from unmasq.models.weights import load_weights
from unmasq.problems.problem import DecodingProblem
from unmasq.problems.problem_file import PROBLEM, load_problem, save_problem
from unmasq.shots.formats import read_shot_file
from unmasq.training.checkpoint import load_checkpoint
from unmasq.training.config import from_json, override, to_json
from unmasq.training.run_folder import RunFolder


def require(holds: bool, what: str) -> None:
    if not holds:
        raise Finding(f"taken, but {what}")


def file_targets(sandbox: Sandbox) -> list[Target]:
    """All kinds of files; shares are by how fast a case is."""
    files = Files(sandbox)
    return [
        Target("problem file", files.problem, 2),
        Target("weight file", files.weights, 2),
        Target("checkpoint", files.checkpoint, 1),
        Target("run folder", files.run_folder, 0.5),
        Target("CSV", files.csv, 2),
        Target("shot file", files.shots, 3),
        Target("error model", files.error_model, 0.5),
        Target("circuit", files.circuit, 0.5),
        Target("recipe", files.recipe, 2),
    ]


class Files:
    def __init__(self, sandbox: Sandbox):
        self.sandbox = sandbox
        self.path = sandbox.scratch / "file"
        self._whole: dict[Path, bytes] = {}

    def whole(self, name: str | Path) -> bytes:
        path = self.sandbox.root / name
        if path not in self._whole:
            self._whole[path] = path.read_bytes()
        return self._whole[path]

    def _unchanged(self, data: bytes) -> None:
        require(self.path.read_bytes() == data, "its file was changed by reading it")

    def problem(self, rng: random.Random) -> str:
        """Bytes: equal to the original. Structure, with a true digest: saved and read the same."""
        whole = self.whole("problem.safetensors")
        by_bytes = rng.random() < 0.6
        if by_bytes:
            self.path.write_bytes(mutations.mutate_bytes(rng, whole))
        else:
            header, arrays = mutations.mutate_array_file(rng, whole)
            if rng.random() < 0.1:
                self.path.write_bytes(mutations.saved(header, arrays))
            else:
                PROBLEM.write(self.path, arrays, header)
        data = self.path.read_bytes()
        outcome, found = refused_or(lambda: load_problem(self.path))
        self._unchanged(data)
        if outcome == TAKEN:
            if by_bytes:
                require(_ids(found) == _ids(self.sandbox.problem), "it is another problem")
            else:
                save_problem(found, self.path)
                require(_ids(load_problem(self.path)) == _ids(found), "it does not save and load")
        return outcome

    def weights(self, rng: random.Random) -> str:
        """Bytes: the hash of the original. Structure: a network with the hash of its file."""
        whole = self.whole("run/tiny.safetensors")
        by_bytes = rng.random() < 0.7
        if by_bytes:
            self.path.write_bytes(mutations.mutate_bytes(rng, whole))
        else:
            header, arrays = mutations.mutate_array_file(rng, whole)
            if rng.random() < 0.2:
                self.path.write_bytes(mutations.saved(header, arrays))
            else:
                WEIGHTS.write(self.path, arrays, header)
        data = self.path.read_bytes()
        outcome, found = refused_or(lambda: load_weights(self.path))
        self._unchanged(data)
        if outcome == TAKEN:
            expected = read_weight_file(self.path).model_hash
            require(found.model_hash == expected, "its hash is another one")
            if by_bytes:
                original = read_weight_file(self.sandbox.root / "run/tiny.safetensors")
                require(expected == original.model_hash, "it is another network")
                require(found.header == original.header, "its header is another one")
        return outcome

    def checkpoint(self, rng: random.Random) -> str:
        """A manifest or a shard harmed: equal to the original, or refused."""
        manifest = self.sandbox.run_file(".json")
        manifest = next(p for p in sorted(manifest.parent.glob("step-*.json"), reverse=True))
        shard = manifest.with_name(f"{manifest.stem}-0.safetensors")
        folder = self.sandbox.scratch / "checkpoint"
        folder.mkdir(exist_ok=True)
        texts = {path.name: self.whole(path) for path in (manifest, shard)}
        name = rng.choice(sorted(texts))
        if name.endswith(".json") and rng.random() < 0.5:
            changed = mutations.mutate_json(rng, json.loads(texts[name]))
            texts[name] = mutations.json_text(rng, changed).encode()
        else:
            texts[name] = mutations.mutate_bytes(rng, texts[name])
        for file, data in texts.items():
            (folder / file).write_bytes(data)
        outcome, found = refused_or(lambda: load_checkpoint(folder / manifest.name))
        # Without a digest it is of the first version: there, names and shapes tell on restoring.
        if outcome == TAKEN and "digest" in json.loads(texts[manifest.name]):
            arrays, header = load_checkpoint(manifest)
            equal = found[0].keys() == arrays.keys() and all(
                found[0][key].tobytes() == arrays[key].tobytes() for key in arrays
            )
            require(equal, "its arrays are others")
            require(found[1] == header, "its header is another one")
        return outcome

    def run_folder(self, rng: random.Random) -> str:
        """Config, manifest or problem of a run harmed: opened as a valid run, or refused."""
        folder = self.sandbox.scratch / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        names = ("config.json", "manifest.json", "problem.safetensors", "metrics.jsonl")
        for name in names:
            (folder / name).write_bytes(self.whole(f"run/{name}"))
        name = rng.choice(names)
        data = self.whole(f"run/{name}")
        if name.endswith(".json") and rng.random() < 0.6:
            data = mutations.json_text(rng, mutations.mutate_json(rng, json.loads(data))).encode()
        else:
            data = mutations.mutate_bytes(rng, data)
        (folder / name).write_bytes(data)
        run = RunFolder(folder)
        outcome, found = refused_or(lambda: (*run.open(), run.manifest(), run.metrics()))
        require((folder / name).read_bytes() == data, "reading the run changed it")
        if outcome == TAKEN:
            require(from_json(to_json(found[0])) == found[0], "its config does not save and load")
            require(found[1].structure_id == found[2]["structure_id"], "its problem is foreign")
        return outcome

    def csv(self, rng: random.Random) -> str:
        """Counts add up and are the same when read again; appending keeps all of them."""
        save = self.sandbox.scratch / "stats.csv"
        which = rng.choice(("stats.csv", "stats.csv", failures_path("stats.csv").name))
        for name in ("stats.csv", failures_path("stats.csv").name):
            data = self.whole(name)
            if name == which and rng.random() < 0.5:
                data = mutations.mutate_bytes(rng, data)
            elif name == which:
                text = mutations.mutate_text(rng, data.decode())
                data = text.encode(errors="surrogateescape")
            (self.sandbox.scratch / name).write_bytes(data)
        before = save.read_bytes()
        outcome, counts = refused_or(lambda: read_counts(save))
        require(save.read_bytes() == before, "reading the CSV changed it")
        if outcome == TAKEN:
            for found in counts:
                require(0 <= found.errors <= found.shots, "it has more errors than shots")
                refused_or(lambda found=found: read_flags(save, found))
        opened, _ = refused_or(lambda: StatsFile(save).close())
        if opened == TAKEN:
            again = read_counts(save)
            require(
                outcome == TAKEN and _totals(again) == _totals(counts), "opening it lost counts"
            )
        else:
            require(save.read_bytes() == before, "a refused CSV was changed")
        return outcome

    def shots(self, rng: random.Random) -> str:
        """What is taken is what Stim reads."""
        file_format = rng.choice(FORMATS)
        data = self.whole(f"shots.{file_format}")
        if file_format in ("b8", "r8") or rng.random() < 0.5:
            data = mutations.mutate_bytes(rng, data)
        else:
            data = mutations.mutate_text(rng, data.decode()).encode()
        self.path.write_bytes(data)
        width = 18 if rng.random() < 0.9 else rng.choice((1, 8, 17, 19, 300))
        outcome, bits = refused_or(lambda: read_shot_file(self.path, file_format, width))
        self._unchanged(data)
        if outcome == TAKEN:
            try:
                expected = stim.read_shot_data_file(
                    path=self.path, format=file_format, num_detectors=width,
                    num_observables=64 if file_format == "dets" else 0,
                )[:, :width]  # fmt: skip
            except (ValueError, IndexError, RuntimeError):
                return outcome  # stricter than we are about spaces and line ends
            require(np.array_equal(bits, expected), f"Stim reads other bits ({file_format})")
        return outcome

    def error_model(self, rng: random.Random) -> str:
        words = ("error(0.1)", "detector", "logical_observable", "repeat", "shift_detectors", "D1",
                 "L1", "^", "D9999", "L40", *mutations.WORDS)  # fmt: skip
        return self._stim_text(rng, "model.dem", words, "--dem", stim.DetectorErrorModel)

    def circuit(self, rng: random.Random) -> str:
        some = "CX M R H DEPOLARIZE2(0.1) DETECTOR rec[-1] TICK REPEAT X_ERROR(2) MPP X0*Z1"
        words = (*some.split(), "OBSERVABLE_INCLUDE(0)", *mutations.WORDS)
        return self._stim_text(rng, "circuit.stim", words, "--circuit", stim.Circuit)

    def _stim_text(
        self, rng: random.Random, name: str, words: tuple[str, ...], option: str, parse: Callable
    ) -> str:
        """Through the command line: Stim must read it, and the problem must load as itself."""
        text = mutations.mutate_text(rng, self.whole(name).decode(), words)
        self.path.write_text(text)
        out = self.sandbox.scratch / "problem"
        shutil.rmtree(out, ignore_errors=True)
        code, err = run_line(["problem", option, str(self.path), "--out", str(out)])
        if code == 2:
            if not err.startswith("error: ") or err.count("\n") != 1:
                raise Finding(f"refusal must be one line: got {err[-300:]!r}")
            return REFUSED
        require(code == 0, f"the exit code was {code}")
        problem = load_problem(out / "problem.safetensors")
        detectors = parse(text).num_detectors
        require(problem.num_detectors == detectors, f"it has {detectors} detectors")
        return TAKEN

    def recipe(self, rng: random.Random) -> str:
        """A recipe that is taken is one that saves and loads as itself."""
        if rng.random() < 0.5:
            changed = mutations.mutate_json(rng, self.sandbox.recipe())
            text = mutations.json_text(rng, changed)
            outcome, found = refused_or(lambda: from_json(text))
        else:
            keys = ["name", "num_updates", "batch_size", "network.width", "noise.p", "stages", "x",
                    "optimizer.clip", "evaluate_p", "network", "seed", "ema"]  # fmt: skip
            value = rng.choice((*mutations.NUMBERS, *mutations.WORDS, "[[0,1,0.5]]", "null", "{}"))
            setting = rng.choice((f"{rng.choice(keys)}={value}", value, f"{value}={value}"))
            outcome, found = refused_or(lambda: override(TINY, [setting]))
        if outcome == TAKEN:
            require(from_json(to_json(found)) == found, "it does not save and load")
        return outcome


def _ids(problem: DecodingProblem) -> tuple:
    return problem.structure_id, problem.priors_id, problem.name, problem.num_detectors


def _totals(counts: list) -> list:
    return [(c.point.strong_id, c.shots, c.errors) for c in counts]
