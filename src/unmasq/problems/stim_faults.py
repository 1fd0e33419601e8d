"""Faults and their channels, read from Stim's circuits and error models.

Stim says how likely each fault is at one rate. Which channels it merges, and so its probability at
every rate, comes from asking again with all but one kind of noise taken out.
"""

from typing import TYPE_CHECKING

import numpy as np

from unmasq.problems.faults import CHANNEL_KINDS, Channels, FaultKey, merge_faults

if TYPE_CHECKING:
    import stim

_GATE_KINDS = {
    "DEPOLARIZE1": "depolarize1",
    "DEPOLARIZE2": "depolarize2",
    "X_ERROR": "flip",
    "Y_ERROR": "flip",
    "Z_ERROR": "flip",
}
_COUNTING_RATE = 0.01  # any rate tells the number of merged channels


def faults_of_dem(dem: "stim.DetectorErrorModel") -> dict[FaultKey, float]:
    """{(detectors, logicals): prior}; a target named twice cancels, separators do not matter."""
    faults: list[tuple[FaultKey, float]] = []
    for instruction in dem.flattened():
        if instruction.type != "error" or instruction.args_copy()[0] == 0:
            continue
        detectors: set[int] = set()
        logicals: set[int] = set()
        for target in instruction.targets_copy():
            if not target.is_separator():
                ids = detectors if target.is_relative_detector_id() else logicals
                ids ^= {target.val}
        key = (tuple(sorted(detectors)), tuple(sorted(logicals)))
        faults.append((key, instruction.args_copy()[0]))
    return merge_faults(faults)


def error_model(circuit: "stim.Circuit") -> "stim.DetectorErrorModel":
    """The circuit's error model; general Pauli channels are taken as independent faults."""
    try:
        return circuit.detector_error_model(approximate_disjoint_errors=True)
    except ValueError as error:  # Stim's explanation has many lines
        raise ValueError(
            "circuit must have detectors and observables that are deterministic without noise: "
            f"Stim says '{str(error).strip().splitlines()[0]}'"
        ) from error


def channels_of_circuit(
    circuit: "stim.Circuit", p: float, order: list[FaultKey]
) -> Channels | None:
    """The channels that make each fault of `order`, at rates relative to p.

    None where some noise is neither depolarizing nor a flip.
    """
    flat = circuit.flattened()
    classes = sorted({(kind, rate) for kind, rate, _ in _noise(flat) if rate > 0})
    if any(kind not in CHANNEL_KINDS for kind, _ in classes):
        return None
    column = {key: j for j, key in enumerate(order)}
    counts = np.zeros((len(order), len(classes)), np.int16)
    for c, (kind, rate) in enumerate(classes):
        base, power = CHANNEL_KINDS[kind]
        one = power * np.log1p(-base * _COUNTING_RATE)
        for key, prior in faults_of_dem(error_model(_only(flat, kind, rate))).items():
            number = np.log1p(-2 * prior) / one
            assert abs(number - round(number)) < 1e-6 * number, (key, number)
            counts[column[key], c] = round(number)
    return Channels(
        tuple(kind for kind, _ in classes), tuple(rate / p for _, rate in classes), counts
    )


def greatest_rate(circuit: "stim.Circuit") -> float:
    """The largest argument of a noisy instruction; 0 without noise."""
    return max((rate for _, rate, _ in _noise(circuit.flattened())), default=0.0)


def _noise(flat: "stim.Circuit") -> list[tuple[str, float, int]]:
    """(kind, rate, index) of each noisy instruction; an unconvertible one keeps Stim's name."""
    import stim

    found = []
    for index, instruction in enumerate(flat):
        name, arguments = instruction.name, instruction.gate_args_copy()
        if not arguments or not stim.gate_data(name).is_noisy_gate:
            continue
        is_flip = stim.gate_data(name).produces_measurements and not name.startswith("HERALDED")
        kind = "flip" if is_flip else _GATE_KINDS.get(name, name)
        found.append((kind, max(arguments), index))
    return found


def _only(flat: "stim.Circuit", kind: str, rate: float) -> "stim.Circuit":
    """The circuit with the noise of one kind and rate, at the counting rate; no other noise."""
    import stim

    noisy = {index: (k, r) for k, r, index in _noise(flat)}
    kept = stim.Circuit()
    for index, instruction in enumerate(flat):
        name, targets = instruction.name, instruction.targets_copy()
        if index not in noisy:
            kept.append(instruction)
        elif noisy[index] == (kind, rate):
            kept.append(name, targets, _COUNTING_RATE)
        elif stim.gate_data(name).produces_measurements:
            kept.append(name, targets)
    return kept
