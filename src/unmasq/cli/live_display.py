"""What a long command shows on stderr while it runs."""

import time
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

PLAIN_SECONDS = 10.0
Display = TypeVar("Display", bound="LiveDisplay")


class LiveDisplay:
    """Bars on a terminal, a line every ten seconds elsewhere; or nothing at all."""

    def __init__(self, bar_width: int = 40, *, quiet: bool = False):
        self._console = Console(stderr=True, quiet=quiet)
        self._last_line = time.monotonic()
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width),
            TextColumn("{task.fields[facts]}"),
            console=self._console,
            disable=not self._console.is_terminal,
        )

    def __enter__(self: Display) -> Display:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def say(self, message: str) -> None:
        self._console.print(message, highlight=False, soft_wrap=True)

    def say_now_and_then(self, message: str) -> None:
        """Where there are no bars."""
        if not self._console.is_terminal and time.monotonic() - self._last_line > PLAIN_SECONDS:
            self._last_line = time.monotonic()
            self.say(message)


def passing_bar() -> Progress:
    """A bar that is gone at the end; none without a terminal."""
    console = Console(stderr=True)
    return Progress(console=console, disable=not console.is_terminal, transient=True)
