"""Checkpoints: a manifest and shards of arrays, whole or not at all.

A checkpoint is one manifest `NAME.json` and shards `NAME-....safetensors` below a given size; an
array that is larger is cut. The manifest is renamed into place last and holds the SHA-256 of every
shard and of itself, so a checkpoint that was cut off or altered anywhere is recognised.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unmasq.files.array_file import UNREADABLE, Arrays, arrays_of, bytes_of
from unmasq.files.atomic import write_whole

SHARD_BYTES = 15 * 2**20
_HEADER_BYTES = 4096  # room for safetensors' own header in a shard ...
_ENTRY_BYTES = 256  # ... and for each array in it


class BrokenCheckpointError(ValueError):
    """A checkpoint that is cut off or altered."""


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
        data = bytes_of({key: pieces[key] for key in names})
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
        # An early version wrote none.
        if "digest" in header and header.pop("digest") != _digest(header):
            raise BrokenCheckpointError("the manifest was altered")
        arrays: Arrays = {}
        for file, digest in header["shards"].items():
            data = (manifest.parent / file).read_bytes()
            if hashlib.sha256(data).hexdigest() != digest:
                raise BrokenCheckpointError(f"{file} was cut off or altered")
            arrays.update(arrays_of(data))
        _join(arrays, header.get("cut", {}))
    except (OSError, *UNREADABLE) as error:
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
