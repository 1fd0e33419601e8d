"""What a physical error rate may be: for circuits, and for problems, which know no circuits."""

LEAST_RATE = 1e-12  # below it the probabilities of faults vanish in rounding


def require_error_rate(p: float, name: str = "p") -> None:
    """Refuses a physical error rate above 0.5, and one that is 0 or next to it."""
    if not 0 < p <= 0.5:
        raise ValueError(f"{name} must lie in (0, 0.5]: got {p}. Typical values are 0.001 to 0.01.")
    if p < LEAST_RATE:
        raise ValueError(
            f"{name} must be at least {LEAST_RATE}: got {p}, at which the probabilities of faults "
            "vanish in rounding. Typical values are 0.001 to 0.01."
        )
