"""Named arrays in safetensors and, for whole files, a JSON header with a digest of everything.

Problem files and weight files are such files; the shards of a checkpoint are bare arrays.
"""

import contextlib
import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from unmasq.files.atomic import write_whole

Arrays = dict[str, np.ndarray]
Header = dict[str, Any]
UNREADABLE = (
    SafetensorError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
    RecursionError,
    ZeroDivisionError,
)


@dataclasses.dataclass(frozen=True)
class ArrayFormat:
    """One kind of file, as its header names it, and how a broken one is refused."""

    name: str  # such as "unmasq-problem-1"
    kind: str  # "problem file"
    way_out: str
    error: type[ValueError] = ValueError
    undigested: str | None = None  # the name of files before there were digests

    def write(self, path: str | Path, arrays: Mapping[str, np.ndarray], header: Header) -> None:
        """The whole file, or nothing."""
        contiguous = {name: _contiguous(array) for name, array in arrays.items()}
        header = {**header, "format": self.name}
        header["digest"] = _digest(header, contiguous)
        write_whole(path, save(contiguous, metadata={"unmasq": json.dumps(header)}))

    def read(self, path: str | Path) -> tuple[Header, Arrays]:
        """Header and arrays as they were written; a cut-off, foreign or altered file is refused."""
        data = Path(path).read_bytes()
        try:
            size = int.from_bytes(data[:8], "little")
            header = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["unmasq"])
            found = header.get("format")
            arrays = arrays_of(data)
        except UNREADABLE as error:
            raise self.refusal(path) from error
        if found not in self._names:
            raise self.error(f"{path} must have format {self.name}: got {found}. {self.way_out}")
        early = found == self.undigested and "digest" not in header
        if not early and header.pop("digest", None) != _digest(header, arrays):
            raise self.error(
                f"{path} must hold what was written into it: its content was altered. "
                f"{self.way_out}"
            )
        return header, arrays

    @contextlib.contextmanager
    def understanding(self, path: str | Path) -> Iterator[None]:
        """Refuses whole files whose content makes no sense, or not to this version."""
        try:
            yield
        except UNREADABLE as error:
            reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            reason = (reason or type(error).__name__).splitlines()[0]
            raise self.error(
                f"{path} must be a {self.kind} that this version knows: {reason.rstrip('.')}. "
                "Update unmasq, or make it anew."
            ) from error

    def glance(self, path: str | Path) -> tuple[Header, dict[str, tuple[int, ...]]] | None:
        """Header and shapes, without reading the arrays; None for another or a cut-off file."""
        path = Path(path)
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            data_bytes = path.stat().st_size - 8 - size
            text = file.read(size) if data_bytes >= 0 else b""
        try:
            table = json.loads(text)
            header = json.loads(table.pop("__metadata__")["unmasq"])
            ends = [int(entry["data_offsets"][1]) for entry in table.values()]
            if header["format"] not in self._names or max(ends) != data_bytes:
                return None
            return header, {name: tuple(entry["shape"]) for name, entry in table.items()}
        except UNREADABLE:
            return None

    @property
    def _names(self) -> tuple[str, str]:
        return (self.name, self.undigested or self.name)

    def refusal(self, path: str | Path) -> ValueError:
        """For a file that is no such file, or only part of one."""
        return self.error(
            f"{path} must be a {self.kind}: it is cut off or of another kind. {self.way_out}"
        )


def bytes_of(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Bare arrays in safetensors."""
    return save({name: _contiguous(array) for name, array in arrays.items()})


def arrays_of(data: bytes) -> Arrays:
    """As `safetensors.numpy.load`, which does not read the bfloat16 that `save` writes."""
    return {
        name: np.frombuffer(view["data"], _dtype(view["dtype"])).reshape(view["shape"])
        for name, view in deserialize(data)
    }


def _digest(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """Of everything but the digest itself."""
    told = {key: value for key, value in header.items() if key != "digest"}
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _dtype(name: str) -> np.dtype:
    if name in ("BF16", "BOOL"):
        return np.dtype(ml_dtypes.bfloat16 if name == "BF16" else "bool")
    kind = {"F": "float", "I": "int", "U": "uint", "C": "complex"}[name[0]]
    return np.dtype(kind + name[1:])


def _contiguous(array: np.ndarray) -> np.ndarray:
    """In C order, as safetensors needs; np.ascontiguousarray would turn shape () into (1,)."""
    return np.array(array, order="C", copy=None)
