"""One file for one problem: arrays and a JSON header in safetensors. Loading needs no Stim."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save
from scipy import sparse

from unmasq.atomic_files import write_whole
from unmasq.codes.symmetry import Symmetry
from unmasq.problems.faults import Channels
from unmasq.problems.problem import DecodingProblem, Layout

FORMAT = "unmasq-problem-1"


def save_problem(problem: DecodingProblem, path: str | Path) -> None:
    """Writes the whole problem, or nothing."""
    arrays: dict[str, np.ndarray] = {
        "priors": problem.priors,
        "layout.frame": problem.layout.frame,
        "layout.check": problem.layout.check,
        "layout.check_type": problem.layout.check_type,
    }
    for name in ("check_matrix", "logical_matrix"):
        matrix = getattr(problem, name)
        arrays[f"{name}.indices"] = matrix.indices.astype(np.int32)
        arrays[f"{name}.indptr"] = matrix.indptr.astype(np.int32)
    header: dict[str, Any] = {
        "format": FORMAT,
        "structure_id": problem.structure_id,
        "priors_id": problem.priors_id,
        "num_detectors": problem.num_detectors,
        "num_logicals": problem.num_logicals,
        "num_frames": problem.layout.num_frames,
        **{key: getattr(problem, key) for key in ("p", "name", "noise", "basis", "code")},
    }
    if problem.channels is not None:
        arrays["channels.counts"] = problem.channels.counts
        header["channels"] = {
            "kinds": list(problem.channels.kinds),
            "ratios": list(problem.channels.ratios),
        }
    if problem.symmetry is not None:
        for name in ("check_images", "token_images", "basis_tokens"):
            arrays[f"symmetry.{name}"] = getattr(problem.symmetry, name)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header["digest"] = _digest(header, arrays)
    write_whole(path, save(arrays, metadata={"unmasq": json.dumps(header)}))


def load_problem(path: str | Path) -> DecodingProblem:
    """Reads a problem file; a cut-off, foreign or altered one is refused."""
    header, arrays = _read(Path(path))
    channels = symmetry = None
    if "channels" in header:
        channels = Channels(
            tuple(header["channels"]["kinds"]),
            tuple(header["channels"]["ratios"]),
            arrays["channels.counts"],
        )
    if "symmetry.check_images" in arrays:
        symmetry = Symmetry(
            arrays["symmetry.check_images"],
            arrays["symmetry.token_images"],
            arrays["symmetry.basis_tokens"],
        )
    return DecodingProblem(
        _matrix(arrays, "check_matrix", header["num_detectors"]),
        _matrix(arrays, "logical_matrix", header["num_logicals"]),
        arrays["priors"],
        Layout(
            arrays["layout.frame"],
            arrays["layout.check"],
            arrays["layout.check_type"],
            header["num_frames"],
        ),
        channels=channels,
        symmetry=symmetry,
        **{key: header[key] for key in ("p", "name", "noise", "basis", "code")},
    )


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a problem file, as they were written."""
    data = path.read_bytes()
    try:
        size = int.from_bytes(data[:8], "little")
        header = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["unmasq"])
        found = header.get("format")
        arrays = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} must be a problem file: it is cut off or of another kind. "
            "Write it again with `unmasq problem`."
        ) from error
    if found != FORMAT:
        raise ValueError(
            f"{path} must have format {FORMAT}: got {found}. Write it again with `unmasq problem`."
        )
    if header.pop("digest", None) != _digest(header, arrays):
        raise ValueError(
            f"{path} must hold what was written into it: its content was altered. "
            "Write it again with `unmasq problem`."
        )
    return header, arrays


def _digest(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _matrix(arrays: dict[str, np.ndarray], name: str, rows: int) -> sparse.csc_array:
    indices, indptr = arrays[f"{name}.indices"], arrays[f"{name}.indptr"]
    data = np.ones(len(indices), np.uint8)
    return sparse.csc_array((data, indices, indptr), shape=(rows, len(indptr) - 1))
