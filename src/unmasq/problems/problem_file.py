"""One file for one problem: arrays and a JSON header in safetensors. Loading needs no Stim."""

from pathlib import Path

import numpy as np
from scipy import sparse

from unmasq.files.array_file import ArrayFormat, Arrays, Header
from unmasq.problems.faults import Channels
from unmasq.problems.problem import DecodingProblem
from unmasq.problems.site_arrays import Sites, read_sites, write_sites

MAX_ROWS = 10**5  # logicals and frames
PROBLEM = ArrayFormat("unmasq-problem-1", "problem file", "Write it again with `unmasq problem`.")


def save_problem(problem: DecodingProblem, path: str | Path) -> None:
    """Writes the whole problem, or nothing. Training and measuring from the file need no Stim.

    >>> import tempfile
    >>> from unmasq.problems.building import problem_from_matrices
    >>> problem = problem_from_matrices([[1, 1, 0], [0, 1, 1]], [[1, 0, 0]], [0.1, 0.2, 0.1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_problem(problem, f"{folder}/problem.safetensors")
    ...     load_problem(f"{folder}/problem.safetensors").structure_id == problem.structure_id
    True
    """
    facts, arrays = write_sites(Sites(problem.layout, problem.symmetry, problem.tanner))
    arrays["priors"] = problem.priors
    for name in ("check_matrix", "logical_matrix"):
        matrix = getattr(problem, name)
        arrays[f"{name}.indices"] = matrix.indices.astype(np.int32)
        arrays[f"{name}.indptr"] = matrix.indptr.astype(np.int32)
    header: Header = {
        "structure_id": problem.structure_id,
        "priors_id": problem.priors_id,
        "num_detectors": problem.num_detectors,
        "num_logicals": problem.num_logicals,
        **facts,
        **{key: getattr(problem, key) for key in ("p", "name", "noise", "basis", "code")},
    }
    if problem.channels is not None:
        arrays["channels.counts"] = problem.channels.counts
        header["channels"] = {
            "kinds": list(problem.channels.kinds),
            "ratios": list(problem.channels.ratios),
        }
    PROBLEM.write(path, arrays, header)


def load_problem(path: str | Path) -> DecodingProblem:
    """Reads a problem file; a cut-off, foreign or altered one is refused.

    >>> load_problem("no/such/file.safetensors")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no/such/file.safetensors'
    """
    header, arrays = PROBLEM.read(path)
    with PROBLEM.understanding(path):
        return _problem(header, arrays)


def _problem(header: Header, arrays: Arrays) -> DecodingProblem:
    _require_sizes(header, arrays)
    layout, symmetry, tanner = read_sites(header, arrays)
    channels = None
    if "channels" in header:
        channels = Channels(
            tuple(header["channels"]["kinds"]),
            tuple(header["channels"]["ratios"]),
            arrays["channels.counts"],
        )
    return DecodingProblem(
        _matrix(arrays, "check_matrix", header["num_detectors"]),
        _matrix(arrays, "logical_matrix", header["num_logicals"]),
        arrays["priors"],
        layout,
        channels=channels,
        symmetry=symmetry,
        tanner=tanner,
        **{key: header[key] for key in ("p", "name", "noise", "basis", "code")},
    )


def _matrix(arrays: Arrays, name: str, rows: int) -> sparse.csc_array:
    """Checked in full: SciPy writes past its memory where indices lie outside the matrix."""
    indices, indptr = arrays[f"{name}.indices"], arrays[f"{name}.indptr"]
    for part, array in (("indices", indices), ("indptr", indptr)):
        if array.ndim != 1 or array.dtype != np.int32:
            raise ValueError(f"{name}.{part} must be a row of int32: got {array.dtype}")
    ends = bool(len(indptr)) and indptr[0] == 0 and indptr[-1] == len(indices)
    if not ends or (np.diff(indptr) < 0).any():
        raise ValueError(f"{name}.indptr must rise from 0 to {len(indices)}")
    if len(indices) and not 0 <= indices.min() <= indices.max() < rows:
        raise ValueError(f"{name}.indices must lie in 0..{rows - 1}")
    data = np.ones(len(indices), np.uint8)
    return sparse.csc_array((data, indices, indptr), shape=(rows, len(indptr) - 1))


def _require_sizes(header: Header, arrays: Arrays) -> None:
    """Sizes that a problem can have: a wrong one would take all memory before it is refused."""
    detectors = len(arrays["layout.frame"])
    for name, limit in (
        ("num_detectors", detectors),
        ("num_logicals", MAX_ROWS),
        ("num_frames", MAX_ROWS),
    ):
        if type(header[name]) is not int or not 0 <= header[name] <= limit:
            raise ValueError(f"{name} must lie in 0..{limit}: got {str(header[name])[:20]}")
    if header["num_detectors"] != detectors:
        raise ValueError(f"num_detectors must be {detectors}: got {header['num_detectors']}")
    for name in ("name", "noise", "basis", "code"):
        if not isinstance(header[name], str | None):
            raise ValueError(f"{name} must be a word: got {str(header[name])[:20]}")
    if type(header["p"]) not in (int, float):
        raise ValueError(f"p must be a number: got {str(header['p'])[:20]}")
