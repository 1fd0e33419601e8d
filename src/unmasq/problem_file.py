"""One file for one problem: arrays and a JSON header in safetensors. Loading needs no Stim."""

import json
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save
from scipy import sparse

from unmasq.atomic_files import write_whole
from unmasq.problem import Channels, DecodingProblem, Layout
from unmasq.symmetry import Symmetry

FORMAT = "unmasq-problem-1"


def save_problem(problem: DecodingProblem, path: str | Path) -> None:
    """Writes the whole problem, or nothing."""
    arrays = {
        "priors": problem.priors,
        "layout.frame": problem.layout.frame,
        "layout.check": problem.layout.check,
        "layout.check_type": problem.layout.check_type,
    }
    for name in ("check_matrix", "logical_matrix"):
        matrix = getattr(problem, name)
        arrays[f"{name}.indices"] = matrix.indices.astype(np.int32)
        arrays[f"{name}.indptr"] = matrix.indptr.astype(np.int32)
    header = {
        "format": FORMAT,
        "structure_id": problem.structure_id,
        "num_detectors": problem.num_detectors,
        "num_logicals": problem.num_logicals,
        "num_frames": problem.layout.num_frames,
        **{key: getattr(problem, key) for key in ("p", "name", "noise", "basis", "code")},
    }
    if problem.channels is not None:
        arrays["channels.counts"] = problem.channels.counts
        header["channels"] = {"kinds": problem.channels.kinds, "ratios": problem.channels.ratios}
    if problem.symmetry is not None:
        for name in ("check_images", "token_images", "basis_tokens"):
            arrays[f"symmetry.{name}"] = getattr(problem.symmetry, name)
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    write_whole(path, save(contiguous, metadata={"unmasq": json.dumps(header)}))


def load_problem(path: str | Path) -> DecodingProblem:
    """Reads a problem file; a cut-off, foreign or altered one is refused."""
    data = Path(path).read_bytes()
    try:
        size = int.from_bytes(data[:8], "little")
        header = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["unmasq"])
        arrays = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} must be a problem file: it is cut off or of another kind "
            f"({type(error).__name__}). Write it again with `unmasq problem`."
        ) from error
    if header.get("format") != FORMAT:
        raise ValueError(f"{path} must have format {FORMAT}: got {header.get('format')}.")
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
    problem = DecodingProblem(
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
    if problem.structure_id != header["structure_id"]:
        raise ValueError(
            f"{path} must hold the structure its header names ({header['structure_id']}): got "
            f"{problem.structure_id}. The file was altered; write it again with `unmasq problem`."
        )
    return problem


def _matrix(arrays: dict[str, np.ndarray], name: str, rows: int) -> sparse.csc_array:
    indices, indptr = arrays[f"{name}.indices"], arrays[f"{name}.indptr"]
    data = np.ones(len(indices), np.uint8)
    return sparse.csc_array((data, indices, indptr), shape=(rows, len(indptr) - 1))
