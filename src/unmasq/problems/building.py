"""Decoding problems from a code with noise, a Stim circuit, an error model, or matrices."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from unmasq.circuits import NoiseModel, capacity_circuit, memory_circuit
from unmasq.codes import CSSCode
from unmasq.codes.gf2 import as_bits
from unmasq.codes.schedule import Schedule
from unmasq.codes.tanner_graph import TannerGraph
from unmasq.error_rate import LEAST_RATE
from unmasq.problems.both_bases import both_bases
from unmasq.problems.faults import (
    FaultKey,
    column_supports,
    fault_columns,
    merge_faults,
    require_priors,
)
from unmasq.problems.found_symmetry import with_structure, with_symmetry
from unmasq.problems.layouts import choose_layout, equal_frames
from unmasq.problems.problem import DecodingProblem, Layout
from unmasq.problems.stim_faults import (
    channels_of_circuit,
    elementary_errors,
    error_model,
    faults_of_dem,
    greatest_rate,
    require_buildable,
)

if TYPE_CHECKING:
    import stim

NOISES = ("circuit", "code-capacity")


def circuit_from_code(
    code: CSSCode,
    noise: str | NoiseModel,
    p: float | None = None,
    rounds: int | None = None,
    basis: str = "X",
    schedule: Schedule | None = None,
) -> "stim.Circuit":
    """The Stim circuit behind `problem_from_code`."""
    if isinstance(noise, NoiseModel):
        if p is not None:
            raise ValueError(f"p must be left out where noise holds the rates: got {p}.")
        rates = noise
    else:
        if noise not in NOISES and not noise.startswith("circuit "):
            raise ValueError(f"noise must be {' or '.join(NOISES)}: got '{noise}'.")
        if p is None:
            raise ValueError("p must be given: the physical error rate, such as 0.003.")
        if noise == "code-capacity":
            if schedule is not None:
                raise ValueError("schedule must go with circuit noise: got code-capacity.")
            return capacity_circuit(code, p)
        rates = NoiseModel.read(noise, p)
    if rounds is None:
        if code.distance is None:
            raise ValueError(f"rounds must be given: the distance of '{code.name}' is not known.")
        rounds = code.distance
    if rounds > 1:  # what one round takes, times their number, before they are written out
        one = elementary_errors(memory_circuit(code, rates, 1, basis, schedule))
        require_buildable(
            rounds * one, rounds * code.num_checks, f"{rounds:,} rounds of {code.name}"
        )
    return memory_circuit(code, rates, rounds, basis, schedule)


def problem_from_code(
    code: CSSCode,
    noise: str | NoiseModel,
    p: float | None = None,
    rounds: int | None = None,
    basis: str = "X",
    schedule: Schedule | None = None,
) -> DecodingProblem:
    """A memory experiment of one basis, or code capacity: both syndromes in, both bases out.

    `noise` is "circuit" or "code-capacity" at rate p, or a `NoiseModel` of the memory circuit, with
    its greatest rate as p, or such a model's label, "circuit 1:0.1:0.5:1", at rate p. Rounds
    default to the distance, the schedule of CNOTs to the code's own; code capacity has neither
    rounds, nor basis, nor schedule. Basis "XZ" has the logicals of both: no experiment reads them
    out together, but what a fault does to each is known.

    >>> from unmasq.codes import get_code
    >>> problem_from_code(get_code("bb18"), "circuit", p=0.003, rounds=4, basis="X")
    DecodingProblem(bb18, circuit noise, 4 rounds, basis X, p = 0.003: 90 detectors, 3006 faults,
    4 logicals)
    """
    capacity = noise == "code-capacity"
    if basis == "XZ" and not capacity:
        bases = (problem_from_code(code, noise, p, rounds, each, schedule) for each in "XZ")
        return both_bases(*bases)
    circuit = circuit_from_code(code, noise, p, rounds, basis, schedule)
    if schedule is not None:  # neither known by name any more, nor as symmetric as the code
        code = dataclasses.replace(code, own_schedule=schedule, symmetries={}, known=False)
    frames = circuit.num_detectors // max(code.num_checks, 1)
    types = np.repeat(np.array([0, 1], np.int32), [len(code.checks_x), len(code.checks_z)])
    layout = dataclasses.replace(equal_frames(circuit.num_detectors, frames), check_type=types)
    problem = _from_circuit(
        circuit,
        layout,
        name=code.name,
        noise=noise.label if isinstance(noise, NoiseModel) else noise,
        basis="XZ" if capacity else basis,
        code=code,
    )
    return problem if schedule is None else with_structure(problem, circuit)


def problem_from_circuit(
    circuit: "stim.Circuit",
    *,
    rounds: int | None = None,
    single_frame: bool = False,
    name: str = "circuit",
) -> DecodingProblem:
    """Any circuit with noise, detectors and observables.

    Frames come from `rounds` (R + 1 equal frames), or from the detectors' coordinates (the last
    one is time, the others name the check), or are one single frame where there are none. Its p is
    the greatest rate of the circuit. Symmetry and Tanner graph are looked for in its gates.

    >>> import stim
    >>> noise = {"before_round_data_depolarization": 0.01}
    >>> circuit = stim.Circuit.generated("repetition_code:memory", distance=3, rounds=2, **noise)
    >>> problem_from_circuit(circuit).num_detectors
    6
    """
    require_buildable(elementary_errors(circuit), circuit.num_detectors, "circuit")
    layout = choose_layout(
        circuit.num_detectors, circuit.get_detector_coordinates(), rounds, single_frame
    )
    return with_structure(_from_circuit(circuit, layout, name=name), circuit)


def problem_from_dem(
    dem: "stim.DetectorErrorModel",
    *,
    rounds: int | None = None,
    single_frame: bool = False,
    name: str = "dem",
) -> DecodingProblem:
    """Any detector error model, with frames as in `problem_from_circuit`.

    Its priors are known as they stand and at no other rate; its p is the greatest of them.

    >>> import stim
    >>> faults = ("error(0.1) D0 L0", "error(0.2) D0 D1", "error(0.1) D1")
    >>> dem = stim.DetectorErrorModel("\\n".join(faults))
    >>> problem_from_dem(dem).check_matrix.toarray()
    array([[1, 1, 0],
           [0, 1, 1]], dtype=uint8)
    """
    require_buildable(dem.num_errors, dem.num_detectors, "error model")
    layout = choose_layout(dem.num_detectors, dem.get_detector_coordinates(), rounds, single_frame)
    return _from_faults(faults_of_dem(dem), dem.num_observables, layout, name)


def problem_from_matrices(
    check_matrix: ArrayLike | sparse.sparray,
    logical_matrix: ArrayLike | sparse.sparray,
    priors: ArrayLike,
    *,
    frames: int = 1,
    name: str = "matrices",
) -> DecodingProblem:
    """From H, L (dense or sparse) and priors; equal columns merge. Detectors are frame-major.

    >>> problem_from_matrices([[1, 1, 0], [0, 1, 1]], [[1, 0, 0]], [0.1, 0.2, 0.1], name="rep")
    DecodingProblem(rep, custom noise, basis ?, p = 0.2: 2 detectors, 3 faults, 1 logical)
    """
    h = _as_sparse_bits(check_matrix, "check_matrix")
    logical = _as_sparse_bits(logical_matrix, "logical_matrix")
    values = np.asarray(priors, np.float64)
    if h.shape[1] != logical.shape[1] or values.shape != (h.shape[1],):
        raise ValueError(
            "check_matrix, logical_matrix and priors must have one column for each fault: got "
            f"{h.shape[1]} and {logical.shape[1]} columns, and priors of shape {values.shape}."
        )
    require_priors(values)  # before equal columns merge
    keys = zip(column_supports(h), column_supports(logical), strict=True)
    faults = merge_faults(zip(keys, values.tolist(), strict=True))
    return _from_faults(faults, logical.shape[0], equal_frames(h.shape[0], frames), name)


def _from_circuit(
    circuit: "stim.Circuit",
    layout: Layout,
    *,
    name: str,
    noise: str = "custom",
    basis: str = "?",
    code: CSSCode | None = None,
) -> DecodingProblem:
    dem = error_model(circuit)
    faults = faults_of_dem(dem)
    if not faults:
        raise ValueError(
            f"circuit must have noise that flips detectors: got none in '{name}'. Add some, "
            "such as DEPOLARIZE2(0.003) after its gates."
        )
    check_matrix, logical_matrix, priors, order = fault_columns(
        faults, dem.num_detectors, dem.num_observables
    )
    p = min(greatest_rate(circuit), 0.5)
    problem = DecodingProblem(
        check_matrix,
        logical_matrix,
        priors,
        layout,
        p,
        name,
        noise,
        basis,
        code.name if code and code.known else None,  # a name that `get_code` knows
        channels_of_circuit(circuit, p, order),
    )
    if code is None:
        return problem
    problem = dataclasses.replace(problem, tanner=_tanner_graph(code, basis))
    return with_symmetry(problem, code.symmetries.get(basis), "code")


def _tanner_graph(code: CSSCode, basis: str) -> TannerGraph:
    """Relations by type and tick; those that the symmetry for `basis` exchanges are one."""
    graph = code.schedule.tanner_graph()
    symmetry = code.symmetries.get(basis)
    if symmetry is None:
        return graph
    images = symmetry.check_images  # qubits of a bicycle code move as checks do, ...
    if code.bicycle is None and code.translations is not None:  # ... those of others by themselves
        return graph.under(images, code.translations[:, code.num_checks :] - code.num_checks)
    return graph.under(images, images)


def _from_faults(
    faults: Mapping[FaultKey, float], num_logicals: int, layout: Layout, name: str
) -> DecodingProblem:
    check_matrix, logical_matrix, priors, _ = fault_columns(faults, len(layout.frame), num_logicals)
    # The nominal p; that of an error model without faults means nothing.
    p = min(float(priors.max(initial=LEAST_RATE)), 0.5)
    return DecodingProblem(check_matrix, logical_matrix, priors, layout, p, name)


def _as_sparse_bits(matrix: ArrayLike | sparse.sparray, name: str) -> sparse.csc_array:
    if not sparse.issparse(matrix):
        return sparse.csc_array(as_bits(matrix, name))
    columns = sparse.csc_array(matrix)
    columns.sum_duplicates()
    columns.eliminate_zeros()
    if not (columns.data == 1).all():
        bad = columns.data[columns.data != 1][0]
        raise ValueError(f"{name} must hold only 0 and 1: got {bad}. Reduce it modulo 2.")
    return columns.astype(np.uint8)
