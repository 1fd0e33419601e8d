"""Small random error models for property tests: faults as plain tuples, and their DEM text."""

from hypothesis import strategies as st

NUM_DETECTORS = 4
NUM_LOGICALS = 2

_bits = st.lists(st.integers(0, NUM_DETECTORS - 1), max_size=3)
_logicals = st.lists(st.integers(0, NUM_LOGICALS - 1), max_size=2)

# (detectors, logicals, probability); a detector may be named twice, and faults may be equal.
faults = st.lists(
    st.tuples(_bits, _logicals, st.floats(1e-6, 0.5)), min_size=1, max_size=12
).filter(lambda found: any(detectors or logicals for detectors, logicals, _ in found))


def dem_text(found) -> str:
    """The faults as error lines, with all detectors and observables declared."""
    lines = [
        f"error({probability!r}) "
        + " ".join([*(f"D{d}" for d in detectors), *(f"L{k}" for k in logicals)])
        for detectors, logicals, probability in found
    ]
    declared = [f"detector D{NUM_DETECTORS - 1}", f"logical_observable L{NUM_LOGICALS - 1}"]
    return "\n".join([*lines, *declared])
