"""Finding weight files: those shipped in the package, and the user's own through UNMASQ_MODELS.

UNMASQ_MODELS lists folders or files, separated as in PATH. Everything here reads files alone and
never imports jax: a listing must not take hold of an accelerator.
"""

import dataclasses
import functools
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from unmasq.decoding.identity import Identity, decoder_name
from unmasq.files.model_card import read_card
from unmasq.files.weight_file import (
    WEIGHTS,
    BrokenWeightsError,
    Header,
    glance_at,
    read_weight_file,
)
from unmasq.problems.problem import DecodingProblem
from unmasq.suggest import nearest

ENVIRONMENT_VARIABLE = "UNMASQ_MODELS"
SHIPPED = Path(__file__).parents[1] / "weights"
_OTHER_FILES = ("problem.", "step-", "slim-")  # of a run folder, beside its weights


@dataclasses.dataclass(frozen=True, eq=False)
class ModelFile:
    """What a weight file says about itself, without its tensors."""

    path: Path
    header: Header
    num_detectors: int
    num_parameters: int
    shipped: bool

    @property
    def name(self) -> str:
        return self.header["name"]

    @property
    def structure_id(self) -> str:
        """Of the decoding problem it was trained for."""
        return self.header["structure_id"]

    @property
    def num_logicals(self) -> int:
        return self.header["num_logicals"]

    @property
    def decoder_name(self) -> str:
        """'unmasq-' and eight digits of the hash: what result files hold."""
        return decoder_name(self.model_hash)

    @property
    def identity(self) -> Identity:
        """The same for a decoder; how many views may vote is known when it is loaded."""
        return Identity.from_header(
            self.header, self.model_hash, self.num_detectors, card=self.card
        )

    @functools.cached_property
    def model_hash(self) -> str:
        """Hash of config and weights; reads the file."""
        return read_weight_file(self.path).model_hash

    @property
    def card(self) -> dict[str, Any]:
        """The model card beside the file, or {}."""
        return read_card(self.path.with_suffix(".json"))

    def require_whole(self) -> None:
        """Shipped files are of the first version, without a digest: their cards vouch for them."""
        expected = self.card.get("file_sha256") if self.shipped else None
        if expected and hashlib.sha256(self.path.read_bytes()).hexdigest() != expected:
            raise BrokenWeightsError(
                f"{self.path} must be the file that its card describes: its content was altered. "
                "Install unmasq again."
            )


def known_models() -> list[ModelFile]:
    """The user's own weights in the order of UNMASQ_MODELS, then the shipped ones."""
    return [*_own_models(), *shipped_models()]


def shipped_models() -> list[ModelFile]:
    """Those in the package, by name."""
    return _folder_models(SHIPPED, shipped=True)


def find_model(name_or_path: str | Path) -> ModelFile:
    """A weight file by its path, its folder, its name, or the name in a result file."""
    path = Path(name_or_path)
    if path.is_file():
        return _require_weights(path)
    if path.is_dir():
        return _only_model_in(path)
    name = str(name_or_path)
    if path.suffix == ".safetensors" or len(path.parts) > 1:
        raise FileNotFoundError(f"model must be a weight file: {name} does not exist.")
    models = known_models()
    found = [model for model in models if name in (model.name, model.path.stem)]
    if not found and name.startswith("unmasq-"):
        found = [model for model in models if model.decoder_name == name]
    if not found:
        names = sorted({model.name for model in models})
        listed = ", ".join(names) if names else "none is installed"
        raise ValueError(
            f"model must be a weight file or a known name ({listed}): got '{name}'."
            f"{nearest(name, names)} Name folders of your own weights in {ENVIRONMENT_VARIABLE}."
        )
    return _first_of_one_kind(found, f"model '{name}'")


def model_for_problem(problem: DecodingProblem, models: Sequence[ModelFile]) -> ModelFile | None:
    """The weights trained for this problem, or None: own ones before shipped ones.

    Only where there are none, those that decode every number of rounds of its experiment. Several
    own models for one problem are refused; of shipped ones the card marks the default.
    """
    found = [model for model in models if model.structure_id == problem.structure_id]
    if not found:
        found = [model for model in models if model.identity.fit(problem)]
    own = [model for model in found if not model.shipped]
    if own:
        return _first_of_one_kind(own, f"the model for structure {problem.structure_id}")
    marked = [model for model in found if model.card.get("default")]
    return next(iter([*marked, *found]), None)


def read_model(path: str | Path, *, shipped: bool = False) -> ModelFile | None:
    """What a weight file says about itself; None for any other file, or one that is cut off."""
    found = glance_at(path)
    return None if found is None else ModelFile(Path(path), *found, shipped)


def _own_models() -> Iterator[ModelFile]:
    for entry in os.environ.get(ENVIRONMENT_VARIABLE, "").split(os.pathsep):
        if not entry:
            continue
        path = Path(entry).expanduser()
        if path.is_dir():
            yield from _folder_models(path)
        elif path.is_file():
            yield _require_weights(path)
        else:
            raise FileNotFoundError(
                f"{ENVIRONMENT_VARIABLE} must list folders or weight files: {entry} does not exist."
            )


def _folder_models(folder: Path, *, shipped: bool = False) -> list[ModelFile]:
    """Weight files in a folder and, so that a folder of runs will do, in its folders."""
    paths = [*sorted(folder.glob("*.safetensors")), *sorted(folder.glob("*/*.safetensors"))]
    models = (read_model(path, shipped=shipped) for path in paths)
    return [model for model in models if model is not None]


def _only_model_in(folder: Path) -> ModelFile:
    models = _folder_models(folder)
    if not models:
        for path in sorted(folder.glob("*.safetensors")):
            if not path.name.startswith(_OTHER_FILES):
                raise WEIGHTS.refusal(path)
        known = [model for model in known_models() if str(folder) in (model.name, model.path.stem)]
        hint = f" For the known model of that name give its file, {known[0].path}." if known else ""
        raise ValueError(f"model must be a folder with a weight file: got none in {folder}.{hint}")
    return _first_of_one_kind(models, f"the model in {folder}")


def _require_weights(path: Path) -> ModelFile:
    model = read_model(path, shipped=path.resolve().parent == SHIPPED.resolve())
    if model is None:
        raise WEIGHTS.refusal(path)
    return model


def _first_of_one_kind(models: Sequence[ModelFile], what: str) -> ModelFile:
    """The first, where all are copies of one; two different ones are never chosen between."""
    if len(models) > 1 and len({model.model_hash for model in models}) > 1:
        listed = ", ".join(f"{model.decoder_name} ({model.path})" for model in models)
        raise ValueError(f"{what} must be unique: got {listed}. Name the one you mean.")
    return models[0]
