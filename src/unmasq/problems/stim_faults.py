"""Faults and their channels, read from Stim's circuits and error models.

Stim says how likely each fault is at one rate. Which channels it merges, and so its probability at
every rate, comes from asking again with all but one kind of noise taken out.
"""

from typing import TYPE_CHECKING

import numpy as np

from unmasq.error_rate import LEAST_RATE
from unmasq.problems.faults import CHANNEL_KINDS, Channels, FaultKey, as_counts, merge_faults

if TYPE_CHECKING:
    import stim

_GATE_KINDS = {
    "DEPOLARIZE1": "depolarize1",
    "DEPOLARIZE2": "depolarize2",
    "X_ERROR": "flip",
    "Y_ERROR": "flip",
    "Z_ERROR": "flip",
}
# Any rate tells the number of merged channels; at a low one a million of them are still far from
# a fault that happens half of the time, where their number is lost in rounding.
_COUNTING_RATE = 1e-5
MOST_ERRORS = 20_000_000  # of a circuit, before equal ones merge: a quarter of an hour
_BYTES = 700  # of memory for each of them ([[144,12,12]], 24 rounds: 237 MB for 345,600)
_ERRORS_OF_GATE = {  # (errors, targets) of one channel; else one of each
    "DEPOLARIZE1": (3, 1),
    "PAULI_CHANNEL_1": (3, 1),
    "DEPOLARIZE2": (15, 2),
    "PAULI_CHANNEL_2": (15, 2),
}


def require_buildable(errors: int, detectors: int, where: str) -> None:
    """Refuses what would take all memory, and hours, before it does."""
    largest = max(errors, detectors)
    if largest > MOST_ERRORS:
        what = "elementary errors" if errors >= detectors else "detectors"
        raise ValueError(
            f"{where} must have at most {MOST_ERRORS:,} {what}: got {largest:,}, which would "
            f"take some {largest * _BYTES / 2**30:,.0f} GB. Take fewer rounds: the faults of a few "
            "rounds repeat in all of them."
        )


def elementary_errors(circuit: "stim.Circuit") -> int:
    """How many Pauli errors the noise can make, before equal ones merge; nothing is unrolled."""
    import stim

    total = 0
    for part in circuit:
        if isinstance(part, stim.CircuitRepeatBlock):
            total += part.repeat_count * elementary_errors(part.body_copy())
        elif part.gate_args_copy() and stim.gate_data(part.name).is_noisy_gate:
            errors, targets = _ERRORS_OF_GATE.get(part.name, (1, 1))
            total += len(part.targets_copy()) // targets * errors
    return total


def faults_of_dem(dem: "stim.DetectorErrorModel") -> dict[FaultKey, float]:
    """{(detectors, logicals): prior}; a target named twice cancels, separators do not matter."""
    require_buildable(dem.num_errors, dem.num_detectors, "error model")
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
            f"Stim says '{str(error).strip().splitlines()[0]}' Leave out those that are not, or "
            "prepare the states that they compare."
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
    for kind, rate in classes:
        if rate < LEAST_RATE:
            raise ValueError(
                f"rates of the circuit must be 0 or at least {LEAST_RATE}: got {rate} of a {kind} "
                "channel, whose faults vanish in rounding."
            )
    column = {key: j for j, key in enumerate(order)}
    counts = np.zeros((len(order), len(classes)), np.int64)
    for c, (kind, rate) in enumerate(classes):
        base, power = CHANNEL_KINDS[kind]
        one = power * np.log1p(-base * _COUNTING_RATE)
        for key, prior in faults_of_dem(error_model(_only(flat, kind, rate))).items():
            number = np.log1p(-2 * prior) / one
            if abs(number - round(number)) > min(1e-6 * number, 0.1):
                raise ValueError(
                    f"circuit must merge fewer than a million {kind} channels into one fault: got "
                    f"some {number:.0f} that flip detectors {key[0]}."
                )
            counts[column[key], c] = round(number)
    ratios = tuple(rate / p for _, rate in classes)
    return Channels(tuple(kind for kind, _ in classes), ratios, as_counts(counts))


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
