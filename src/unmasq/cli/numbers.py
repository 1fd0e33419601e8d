"""Numbers on the command line: 1e3 is a whole number, and a limit is checked before the run."""

from collections.abc import Mapping

LARGEST = 10**15  # exact as a float, and more shots than anyone decodes


def whole_number(text: str | int) -> int:
    """A count, such as 1000, 1e3 or 2.5e6; for `typer.Option(parser=...)`, defaults too.

    >>> [whole_number(text) for text in ("7", "1e3", "2.5e6")]
    [7, 1000, 2500000]
    """
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (value.is_integer() and abs(value) <= LARGEST):
        raise ValueError(f"number must be a whole number such as 1000 or 1e3: got '{text}'.")
    return int(value)


def require_at_least(least: int, options: Mapping[str, int | float | None]) -> None:
    """Refuses what is below, infinite or no number; None was not given."""
    for option, value in options.items():
        if value is not None and not least <= value < float("inf"):
            raise ValueError(f"{option} must be at least {least}: got {value:g}.")
