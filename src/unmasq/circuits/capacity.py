"""Code-capacity noise as a Stim circuit: depolarizing data qubits, perfect checks.

Each data qubit starts in a Bell pair with a noiseless partner, so that a product of Paulis on the
data times the same product on the partners is +1. That makes X and Z checks and X and Z logicals,
which do not all commute on the data alone, deterministic at once.
"""

from typing import TYPE_CHECKING

import numpy as np

from unmasq.codes import CSSCode
from unmasq.error_rate import require_error_rate

if TYPE_CHECKING:
    import stim


def capacity_circuit(code: CSSCode, p: float) -> "stim.Circuit":
    """Detectors: X checks, then Z checks, in one frame. Observables: X logicals, then Z ones.

    >>> from unmasq.codes import get_code
    >>> circuit = capacity_circuit(get_code("bb18"), p=0.05)
    >>> circuit.num_detectors, circuit.num_observables
    (18, 8)
    """
    import stim

    require_error_rate(p)
    data = np.arange(code.n)
    partners = data + code.n
    circuit = stim.Circuit()
    circuit.append("RX", partners)
    circuit.append("R", data)
    circuit.append("CX", np.stack([partners, data], axis=1).ravel())
    circuit.append("TICK")
    circuit.append("DEPOLARIZE1", data, p)
    circuit.append("TICK")
    checks = _with_type(code.checks_x, code.checks_z)
    logicals = _with_type(code.logicals_x, code.logicals_z)
    for kind, _, row in checks + logicals:
        target = stim.target_x if kind == 0 else stim.target_z
        factors = [target(int(q)) for q in np.flatnonzero(np.tile(row, 2))]
        if factors:
            circuit.append("MPP", stim.target_combined_paulis(factors))
        else:  # an empty check is never violated
            circuit.append("MPAD", [0])
    total = len(checks) + len(logicals)
    for index, (kind, site, _) in enumerate(checks):
        circuit.append("DETECTOR", [stim.target_rec(index - total)], (site, kind, 0))
    for index in range(len(logicals)):
        circuit.append("OBSERVABLE_INCLUDE", [stim.target_rec(index - len(logicals))], index)
    return circuit


def _with_type(x: np.ndarray, z: np.ndarray) -> list[tuple[int, int, np.ndarray]]:
    return [(kind, i, row) for kind, rows in enumerate((x, z)) for i, row in enumerate(rows)]
