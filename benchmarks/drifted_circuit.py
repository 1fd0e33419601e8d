"""A circuit whose every qubit has a rate of its own: a factor exp(spread z), z normal.

A channel of two qubits has the mean of their factors; no rate exceeds that of full mixing. The
faults stay the same, only their priors differ: a network trained for the circuit decodes both.

    python benchmarks/drifted_circuit.py circuit.stim --spread 0.7 --seed 1 --out drifted.stim
"""

import argparse
from pathlib import Path

import numpy as np
import stim

LIMITS = {
    "DEPOLARIZE1": 3 / 4,
    "DEPOLARIZE2": 15 / 16,
    **dict.fromkeys(("X_ERROR", "Y_ERROR", "Z_ERROR", "M", "MX", "MY", "MR", "MRX", "MRY"), 1 / 2),
}


def drifted(circuit: stim.Circuit, spread: float, seed: int) -> stim.Circuit:
    """The same gates; every noise argument times the factor of its qubit, or qubits."""
    factors = np.exp(spread * np.random.default_rng(seed).standard_normal(circuit.num_qubits))
    found = stim.Circuit()
    for instruction in circuit.flattened():
        rates = instruction.gate_args_copy()
        if instruction.name not in LIMITS or not rates:
            found.append(instruction)
            continue
        for group in instruction.target_groups():
            factor = np.mean([factors[target.value] for target in group])
            rate = min(rates[0] * factor, LIMITS[instruction.name])
            found.append(instruction.name, group, rate)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("circuit", type=Path)
    parser.add_argument("--spread", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    circuit = stim.Circuit.from_file(given.circuit)
    drifted(circuit, given.spread, given.seed).to_file(given.out)


if __name__ == "__main__":
    main()
