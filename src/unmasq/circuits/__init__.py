"""Code and noise to a Stim circuit. Stim is imported when a circuit is built."""

from unmasq.circuits.capacity import capacity_circuit
from unmasq.circuits.memory import memory_circuit
from unmasq.circuits.noise import NoiseModel

__all__ = ["NoiseModel", "capacity_circuit", "memory_circuit"]
