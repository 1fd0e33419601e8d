"""Decoding problems from a code with noise, a Stim circuit, an error model, or matrices."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from unmasq.circuits import NoiseModel, capacity_circuit, memory_circuit, require_error_rate
from unmasq.codes import CSSCode
from unmasq.problem import (
    CHANNEL_KINDS,
    Channels,
    DecodingProblem,
    FaultKey,
    Layout,
    fault_columns,
    merge_probabilities,
)

if TYPE_CHECKING:
    import stim

_GATE_KINDS = {
    "DEPOLARIZE1": "depolarize1",
    "DEPOLARIZE2": "depolarize2",
    "X_ERROR": "flip",
    "Y_ERROR": "flip",
    "Z_ERROR": "flip",
}


def circuit_from_code(
    code: CSSCode, noise: str, p: float, rounds: int | None = None, basis: str = "X"
) -> "stim.Circuit":
    """The Stim circuit behind `problem_from_code`; rounds default to the distance."""
    require_error_rate(p)
    if noise == "code-capacity":
        return capacity_circuit(code, p)
    if noise != "circuit":
        raise ValueError(f"noise must be circuit or code-capacity: got '{noise}'.")
    if rounds is None:
        if code.distance is None:
            raise ValueError(f"rounds must be given: the distance of '{code.name}' is not known.")
        rounds = code.distance
    return memory_circuit(code, NoiseModel.uniform(p), rounds, basis)


def problem_from_code(
    code: CSSCode, noise: str, p: float, rounds: int | None = None, basis: str = "X"
) -> DecodingProblem:
    """Circuit-level memory of one basis, or code capacity with both syndromes and both bases."""
    circuit = circuit_from_code(code, noise, p, rounds, basis)
    frames = circuit.num_detectors // code.num_checks
    layout = Layout(
        *_frame_major(frames, code.num_checks),
        np.repeat([0, 1], [len(code.checks_x), len(code.checks_z)]).astype(np.int32),
        frames,
    )
    basis = "XZ" if noise == "code-capacity" else basis
    return _from_circuit(circuit, p, layout, name=code.name, noise=noise, basis=basis, code=code)


def problem_from_circuit(
    circuit: "stim.Circuit",
    *,
    rounds: int | None = None,
    single_frame: bool = False,
    name: str = "circuit",
) -> DecodingProblem:
    """Any circuit with detectors and observables.

    Frames come from `rounds` (R + 1 equal frames), or from the detectors' coordinates (the last
    one is time, the others name the check), or are one single frame.
    """
    flat = circuit.flattened()
    rates = [rate for _, rate, _ in _noise_instructions(flat)]
    layout = _layout(flat.num_detectors, flat.get_detector_coordinates(), rounds, single_frame)
    return _from_circuit(flat, max(rates, default=0.0), layout, name=name)


def problem_from_dem(
    dem: "stim.DetectorErrorModel",
    *,
    rounds: int | None = None,
    single_frame: bool = False,
    name: str = "dem",
) -> DecodingProblem:
    """Any detector error model; its priors stay as they are (no other p)."""
    layout = _layout(dem.num_detectors, dem.get_detector_coordinates(), rounds, single_frame)
    check_matrix, logical_matrix, priors, _ = fault_columns(
        faults_of_dem(dem), dem.num_detectors, dem.num_observables
    )
    p = float(priors.max(initial=1e-12))
    return DecodingProblem(check_matrix, logical_matrix, priors, layout, p, name)


def problem_from_matrices(
    check_matrix: ArrayLike,
    logical_matrix: ArrayLike,
    priors: ArrayLike,
    *,
    frames: int = 1,
    name: str = "matrices",
) -> DecodingProblem:
    """From H, L and priors; equal columns merge. Detectors are frame-major."""
    h = sparse.csc_array(np.atleast_2d(np.asarray(check_matrix, np.uint8)))
    lo = sparse.csc_array(np.atleast_2d(np.asarray(logical_matrix, np.uint8)))
    values = np.asarray(priors, np.float64)
    if h.shape[1] != lo.shape[1] or values.shape != (h.shape[1],):
        raise ValueError(
            "check_matrix, logical_matrix and priors must have one column for each fault: got "
            f"{h.shape[1]}, {lo.shape[1]} and {values.shape}."
        )
    faults: dict[FaultKey, float] = {}
    for j, prior in enumerate(values):
        key = (
            tuple(h.indices[h.indptr[j] : h.indptr[j + 1]].tolist()),
            tuple(lo.indices[lo.indptr[j] : lo.indptr[j + 1]].tolist()),
        )
        faults[key] = merge_probabilities(faults.get(key, 0.0), float(prior))
    layout = _layout(h.shape[0], {}, frames - 1, False)
    columns = fault_columns(faults, h.shape[0], lo.shape[0])
    return DecodingProblem(*columns[:3], layout, float(values.max()), name)


def faults_of_dem(dem: "stim.DetectorErrorModel") -> dict[FaultKey, float]:
    """{(detectors, logicals): prior}; equal faults merge, faults without effect are left out."""
    faults: dict[FaultKey, float] = {}
    for instruction in dem.flattened():
        if instruction.type != "error":
            continue
        detectors: set[int] = set()
        logicals: set[int] = set()
        for target in instruction.targets_copy():
            if target.is_separator():
                continue
            ids = detectors if target.is_relative_detector_id() else logicals
            ids ^= {target.val}
        probability = instruction.args_copy()[0]
        key = (tuple(sorted(detectors)), tuple(sorted(logicals)))
        if probability > 0 and key != ((), ()):
            faults[key] = merge_probabilities(faults.get(key, 0.0), probability)
    return faults


def _from_circuit(
    circuit: "stim.Circuit",
    p: float,
    layout: Layout,
    *,
    name: str,
    noise: str = "custom",
    basis: str = "X",
    code: CSSCode | None = None,
) -> DecodingProblem:
    dem = circuit.detector_error_model(approximate_disjoint_errors=True)
    faults = faults_of_dem(dem)
    if not faults:
        raise ValueError(f"circuit must have noise that flips detectors: got none in '{name}'.")
    check_matrix, logical_matrix, priors, order = fault_columns(
        faults, dem.num_detectors, dem.num_observables
    )
    return DecodingProblem(
        check_matrix,
        logical_matrix,
        priors,
        layout,
        p,
        name,
        noise,
        basis,
        code.name if code else None,
        _channels(circuit, p, order),
        code.symmetries.get(basis) if code else None,
    )


def _channels(circuit: "stim.Circuit", p: float, order: list[FaultKey]) -> Channels | None:
    """Counts elementary channels: one error model for each kind and rate, all others silenced."""
    flat = circuit.flattened()
    classes = sorted({(kind, rate) for kind, rate, _ in _noise_instructions(flat) if rate > 0})
    if any(kind not in CHANNEL_KINDS for kind, _ in classes):
        return None
    column = {key: j for j, key in enumerate(order)}
    counts = np.zeros((len(order), len(classes)), np.int16)
    for c, (kind, rate) in enumerate(classes):
        base, power = CHANNEL_KINDS[kind]
        one = power * np.log1p(-base * rate)
        dem = _only(flat, kind, rate).detector_error_model()
        for key, prior in faults_of_dem(dem).items():
            number = np.log1p(-2 * prior) / one
            if abs(number - round(number)) > 1e-6 * max(number, 1):
                return None
            counts[column[key], c] = round(number)
    return Channels(
        tuple(kind for kind, _ in classes), tuple(rate / p for _, rate in classes), counts
    )


def _noise_instructions(flat: "stim.Circuit") -> list[tuple[str, float, int]]:
    """(kind, rate, index) of each noisy instruction; an unconvertible one keeps Stim's name."""
    import stim

    found = []
    for index, instruction in enumerate(flat):
        data = stim.gate_data(instruction.name)
        arguments = instruction.gate_args_copy()
        if not arguments or not data.is_noisy_gate:
            continue
        default = "flip" if data.produces_measurements else instruction.name
        kind = _GATE_KINDS.get(instruction.name, default)
        if instruction.name.startswith("HERALDED"):
            kind = instruction.name
        found.append((kind, max(arguments), index))
    return found


def _only(flat: "stim.Circuit", kind: str, rate: float) -> "stim.Circuit":
    """The circuit with the noise of one kind and rate, all other noise taken out."""
    import stim

    noisy = {index: (k, r) for k, r, index in _noise_instructions(flat)}
    kept = stim.Circuit()
    for index, instruction in enumerate(flat):
        if index not in noisy or noisy[index] == (kind, rate):
            kept.append(instruction)
        elif stim.gate_data(instruction.name).produces_measurements:
            kept.append(instruction.name, instruction.targets_copy())
    return kept


def _layout(
    num_detectors: int,
    coordinates: dict[int, list[float]],
    rounds: int | None,
    single_frame: bool,
) -> Layout:
    if rounds is not None and single_frame:
        raise ValueError("rounds and single_frame must not be given together: choose one.")
    placed = num_detectors and all(len(coordinates.get(d, [])) >= 2 for d in range(num_detectors))
    if rounds is None and not single_frame and placed:
        return _layout_from_coordinates(num_detectors, coordinates)
    frames = 1 if rounds is None else rounds + 1
    if frames < 1 or num_detectors % frames:
        raise ValueError(
            f"rounds + 1 = {frames} frames must divide the {num_detectors} detectors: "
            f"{num_detectors % max(frames, 1)} are left over. Give detectors coordinates whose "
            "last entry is the round, or use one single frame."
        )
    checks = num_detectors // frames
    return Layout(*_frame_major(frames, checks), np.zeros(checks, np.int32), frames)


def _layout_from_coordinates(num_detectors: int, coordinates: dict[int, list[float]]) -> Layout:
    times = sorted({coordinates[d][-1] for d in range(num_detectors)})
    frame_of = {time: r for r, time in enumerate(times)}
    check_of: dict[tuple[float, ...], int] = {}  # numbered in the order of the detectors
    frame = np.empty(num_detectors, np.int32)
    check = np.empty(num_detectors, np.int32)
    for d in range(num_detectors):
        *place, time = coordinates[d]
        frame[d] = frame_of[time]
        check[d] = check_of.setdefault(tuple(place), len(check_of))
    if len(set(zip(frame.tolist(), check.tolist(), strict=True))) != num_detectors:
        raise ValueError(
            "detector coordinates must differ: got two detectors at one place and time. "
            "Give the number of rounds instead, or use one single frame."
        )
    return Layout(frame, check, np.zeros(len(check_of), np.int32), len(times))


def _frame_major(frames: int, checks: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    frame, check = np.divmod(np.arange(frames * checks, dtype=np.int32), max(checks, 1))
    return frame.astype(np.int32), check.astype(np.int32)
