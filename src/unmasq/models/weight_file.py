"""Checkpoints and weight files: safetensors and JSON, whole or not at all.

A checkpoint is one manifest `NAME.json` and shards `NAME-....safetensors` below a given size; an
array that is larger is cut. The manifest is renamed into place last and holds the SHA-256 of every
shard and of itself, so a checkpoint that was cut off or altered anywhere is recognised. A weight
file is a single 16-bit safetensors file that carries its network config and geometry: it loads
without the problem or Stim.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from unmasq.atomic_files import write_whole
from unmasq.codes.symmetry import Symmetry
from unmasq.models import Denoiser, Geometry, NetworkConfig, network_shapes, on_device
from unmasq.problems.pauli_channel import Qubits
from unmasq.problems.problem import DecodingProblem, Layout
from unmasq.problems.translates import Translates

SHARD_BYTES = 15 * 2**20
WEIGHTS_FORMAT = "unmasq-weights-1"
_HEADER_BYTES = 4096  # room for safetensors' own header in a shard ...
_ENTRY_BYTES = 256  # ... and for each array in it

Arrays = dict[str, np.ndarray]


class ProblemMismatchError(ValueError):
    """Weights of another decoding problem."""


class BrokenCheckpointError(ValueError):
    """A checkpoint that is cut off or altered."""


class NetworkMismatchError(ValueError):
    """A whole checkpoint, but of another network."""


def named_arrays(tree: PyTree) -> Arrays:
    """Array leaves by their path, such as 'encoder.blocks.0.mixing.value.weight'."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(eqx.filter(tree, eqx.is_array))
    return {_name(path): np.asarray(leaf) for path, leaf in leaves}


def restore_arrays(tree: PyTree, arrays: Mapping[str, np.ndarray]) -> PyTree:
    """The tree with its arrays, or their shapes, replaced by name; names and shapes must agree."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(eqx.filter(tree, _has_shape))
    names = [_name(path) for path, _ in leaves]
    for what, found in (
        ("hold", [name for name in names if name not in arrays]),
        ("not hold", [name for name in arrays if name not in set(names)]),
    ):
        if found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            raise NetworkMismatchError(
                f"checkpoint must {what} {found[0]}{more}: it belongs to another network."
            )
    new = []
    for path, leaf in leaves:
        array = arrays[_name(path)]
        if array.shape != leaf.shape:
            raise NetworkMismatchError(
                f"{_name(path)} must have shape {leaf.shape}: got {array.shape}. "
                "The checkpoint belongs to another network."
            )
        new.append(jnp.asarray(array, leaf.dtype))
    return eqx.combine(jax.tree_util.tree_unflatten(structure, new), tree)


def with_weights(network: Denoiser, arrays: Mapping[str, np.ndarray]) -> Denoiser:
    """The network with its weights, or their shapes, replaced by name."""
    trained, fixed = eqx.partition(network, _is_weight)
    return eqx.combine(restore_arrays(trained, arrays), fixed)


def _has_shape(leaf: Any) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)


def _is_weight(leaf: Any) -> bool:
    return _has_shape(leaf) and bool(jnp.issubdtype(leaf.dtype, jnp.inexact))


def save_checkpoint(
    folder: str | Path,
    name: str,
    arrays: Mapping[str, np.ndarray],
    header: Mapping[str, Any],
    shard_bytes: int = SHARD_BYTES,
    shard_name: str | None = None,
) -> Path:
    """Writes shards, then the manifest `NAME.json`; returns the manifest's path.

    Where a checkpoint is to replace one of the same name, a new `shard_name` (NAME-... ) keeps the
    old one whole until the new manifest is in place.
    """
    folder = Path(folder)
    pieces, cut = _pieces(arrays, shard_bytes)
    shards = {}
    for number, names in enumerate(_shards(pieces, shard_bytes)):
        data = save({key: _contiguous(pieces[key]) for key in names})
        file = f"{shard_name or name}-{number}.safetensors"
        write_whole(folder / file, data)
        shards[file] = hashlib.sha256(data).hexdigest()
    manifest = {**header, "cut": cut, "shards": shards}
    manifest["digest"] = _digest(manifest)
    path = folder / f"{name}.json"
    write_whole(path, json.dumps(manifest, indent=1))
    for shard in folder.glob(f"{name}-*.safetensors"):
        if shard.name not in shards:
            shard.unlink(missing_ok=True)
    return path


def load_checkpoint(manifest: str | Path) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and header; every hash is checked."""
    manifest = Path(manifest)
    try:
        header = json.loads(manifest.read_bytes())
        if header.pop("digest", None) not in (_digest(header), None):  # None: an early version
            raise BrokenCheckpointError("the manifest was altered")
        arrays: Arrays = {}
        for file, digest in header["shards"].items():
            data = (manifest.parent / file).read_bytes()
            if hashlib.sha256(data).hexdigest() != digest:
                raise BrokenCheckpointError(f"{file} was cut off or altered")
            arrays.update(_load(data))
        _join(arrays, header.get("cut", {}))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
        raise BrokenCheckpointError(
            f"{manifest} must be a whole checkpoint: {error} ({type(error).__name__})."
        ) from error
    return arrays, header


def delete_checkpoint(manifest: Path) -> None:
    """Removes a checkpoint, manifest first: what remains is never taken for a whole one."""
    shards = sorted(manifest.parent.glob(f"{manifest.stem}-*.safetensors"))
    manifest.unlink(missing_ok=True)
    for shard in shards:
        shard.unlink(missing_ok=True)


@dataclasses.dataclass(frozen=True, eq=False)
class Weights:
    """A network with what it was trained for."""

    network: Denoiser
    config: NetworkConfig
    geometry: Geometry
    header: dict[str, Any]  # name, structure_id, objective, num_steps, recipe, counts, ...
    model_hash: str  # of config and tensors
    translates: Translates | None = None  # of a problem with symmetry

    def require_structure(self, problem: DecodingProblem) -> None:
        """Refuses a problem other than the one the weights were trained for."""
        if problem.structure_id != self.header["structure_id"]:
            raise ProblemMismatchError(
                f"weights '{self.header['name']}' must be used on their own problem, structure "
                f"{self.header['structure_id']} ({self.geometry.num_detectors} detectors, "
                f"{self.geometry.num_logicals} logicals): got structure {problem.structure_id} "
                f"({problem.num_detectors} detectors, {problem.num_logicals} logicals). "
                "Train a decoder for it with `unmasq train`."
            )


def save_weights(
    path: str | Path,
    network: Denoiser,
    config: NetworkConfig,
    geometry: Geometry,
    header: Mapping[str, Any],
    dtype: Any = np.float16,
    translates: Translates | None = None,
) -> None:
    """One file with 16-bit weights. `header` needs name, structure_id, objective, num_steps."""
    tensors = {
        f"network.{name}": array.astype(dtype)
        for name, array in named_arrays(eqx.filter(network, eqx.is_inexact_array)).items()
    }
    tensors.update(_geometry_arrays(geometry))
    if translates is not None:
        tensors["translates.logical_maps"] = translates.logical_maps
        tensors["translates.flip_maps"] = translates.flip_maps
    text = json.dumps(
        {
            **header,
            "format": WEIGHTS_FORMAT,
            "network": dataclasses.asdict(config),
            "num_frames": geometry.layout.num_frames,
            "num_logicals": geometry.num_logicals,
        }
    )
    contiguous = {key: _contiguous(array) for key, array in tensors.items()}
    write_whole(path, save(contiguous, metadata={"unmasq": text}))


def load_weights(path: str | Path) -> Weights:
    """Reads a weight file; a cut-off or foreign one is refused."""
    path = Path(path)
    data = path.read_bytes()
    try:
        size = int.from_bytes(data[:8], "little")
        header = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["unmasq"])
        arrays = _load(data)
        found = header.get("format")
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BrokenCheckpointError(
            f"{path} must be a weight file: it is cut off or of another kind "
            f"({type(error).__name__})."
        ) from error
    if found != WEIGHTS_FORMAT:
        raise BrokenCheckpointError(f"{path} must have format {WEIGHTS_FORMAT}: got {found}.")
    tensors = {
        name.removeprefix("network."): array.astype(np.float32)
        for name, array in arrays.items()
        if name.startswith("network.")
    }
    try:
        config = NetworkConfig(**header["network"])
        geometry = _geometry_from(arrays, header)
        translates = _translates_from(arrays, geometry)
    except (KeyError, TypeError, ValueError) as error:
        raise BrokenCheckpointError(
            f"{path} must be a weight file that this version knows: {error}. Update unmasq."
        ) from error
    network = on_device(with_weights(network_shapes(config, geometry), tensors))
    digest = _model_hash(header["network"], tensors)
    return Weights(network, config, geometry, header, digest, translates)


def _model_hash(config: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> str:
    """Of the config as it was saved: options that come later must not change the hash."""
    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].astype("<f4").tobytes())
    return digest.hexdigest()


_QUBITS = ("of_checks", "logicals_of_x", "logicals_of_z")


def _geometry_arrays(geometry: Geometry) -> Arrays:
    layout, symmetry = geometry.layout, geometry.symmetry
    arrays = {
        "layout.frame": layout.frame,
        "layout.check": layout.check,
        "layout.check_type": layout.check_type,
    }
    if symmetry is not None:
        arrays["symmetry.check_images"] = symmetry.check_images
        arrays["symmetry.token_images"] = symmetry.token_images
        arrays["symmetry.basis_tokens"] = symmetry.basis_tokens
    if geometry.qubits is not None:
        for name in _QUBITS:
            arrays[f"qubits.{name}"] = getattr(geometry.qubits, name)
    return arrays


def _geometry_from(arrays: Mapping[str, np.ndarray], header: Mapping[str, Any]) -> Geometry:
    layout = Layout(
        arrays["layout.frame"],
        arrays["layout.check"],
        arrays["layout.check_type"],
        header["num_frames"],
    )
    symmetry = None
    if "symmetry.check_images" in arrays:
        symmetry = Symmetry(
            arrays["symmetry.check_images"],
            arrays["symmetry.token_images"],
            arrays["symmetry.basis_tokens"],
        )
    qubits = None
    if "qubits.of_checks" in arrays:
        qubits = Qubits(*(arrays[f"qubits.{name}"] for name in _QUBITS))
    return Geometry(layout, header["num_logicals"], symmetry, qubits)


def _translates_from(arrays: Mapping[str, np.ndarray], geometry: Geometry) -> Translates | None:
    if geometry.symmetry is None or "translates.flip_maps" not in arrays:
        return None
    maps = (arrays["translates.logical_maps"], arrays["translates.flip_maps"])
    return Translates.under(geometry.symmetry, geometry.layout, *maps)


def _digest(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _pieces(
    arrays: Mapping[str, np.ndarray], limit: int
) -> tuple[Arrays, dict[str, dict[str, Any]]]:
    """Arrays too large for one shard cut into flat pieces, and how to join those."""
    room = limit - _HEADER_BYTES - _ENTRY_BYTES
    if room < _ENTRY_BYTES:
        raise ValueError(f"shard_bytes must be at least {2 * _HEADER_BYTES}: got {limit}.")
    pieces: Arrays = {}
    cut: dict[str, dict[str, Any]] = {}
    for name, array in arrays.items():
        if array.nbytes <= room:
            pieces[name] = array
            continue
        flat = array.reshape(-1)
        step = room // array.itemsize
        starts = range(0, flat.size, step)
        pieces.update({f"{name}[{i}]": flat[i : i + step] for i in starts})
        cut[name] = {"shape": array.shape, "starts": list(starts)}
    return pieces, cut


def _join(arrays: Arrays, cut: Mapping[str, Mapping[str, Any]]) -> None:
    for name, entry in cut.items():
        flat = np.concatenate([arrays.pop(f"{name}[{i}]") for i in entry["starts"]])
        arrays[name] = flat.reshape(entry["shape"])


def _shards(arrays: Mapping[str, np.ndarray], limit: int) -> list[list[str]]:
    """Names in order, cut so that each group stays below `limit` bytes."""
    groups: list[list[str]] = [[]]
    size = _HEADER_BYTES
    for name, array in arrays.items():
        cost = array.nbytes + _ENTRY_BYTES
        if groups[-1] and size + cost > limit:
            groups.append([])
            size = _HEADER_BYTES
        groups[-1].append(name)
        size += cost
    return groups


def _load(data: bytes) -> Arrays:
    """As `safetensors.numpy.load`, which does not read the bfloat16 that `save` writes."""
    return {
        name: np.frombuffer(view["data"], _dtype(view["dtype"])).reshape(view["shape"])
        for name, view in deserialize(data)
    }


def _dtype(name: str) -> np.dtype:
    if name in ("BF16", "BOOL"):
        return jnp.dtype("bfloat16" if name == "BF16" else "bool")
    kind = {"F": "float", "I": "int", "U": "uint", "C": "complex"}[name[0]]
    return np.dtype(kind + name[1:])


def _contiguous(array: np.ndarray) -> np.ndarray:
    """In C order, as safetensors needs; np.ascontiguousarray would turn shape () into (1,)."""
    return np.array(array, order="C", copy=None)


def _name(path: tuple) -> str:
    parts = [
        str(getattr(key, "name", getattr(key, "key", getattr(key, "idx", key)))) for key in path
    ]
    return ".".join(parts)
