"""Ctrl-C and SIGTERM: a long command ends in order, says what it kept, and how to go on.

Both raise KeyboardInterrupt anywhere inside `main`. A command that must not be interrupted in the
middle of a step asks a `StopRequest` between steps instead.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Ending:
    """What ended a command: the exit code is the shell's for the signal, such as 143."""

    code: int | None = None

    def receive(self, number: int, frame: FrameType | None) -> None:
        self.code = 128 + number
        raise KeyboardInterrupt


class StopRequest:
    """Whether to stop after the step that runs; a second signal ends it at once."""

    def __init__(self, say: Callable[[str], None]):
        self._say = say
        self._number: int | None = None

    def __call__(self) -> bool:
        return self._number is not None

    @property
    def exit_code(self) -> int:
        """For the shell: 0 if there was no signal."""
        return 0 if self._number is None else 128 + self._number

    def receive(self, number: int, frame: FrameType | None) -> None:
        if self._number is not None:
            raise KeyboardInterrupt
        self._number = number
        self._say(f"{signal.Signals(number).name}: stopping after this step; once more, at once")


@contextlib.contextmanager
def stop_request(say: Callable[[str], None]) -> Iterator[StopRequest]:
    """Keeps the first SIGINT or SIGTERM as a request."""
    request = StopRequest(say)
    with _handled(_SIGNALS, request.receive):
        yield request


@contextlib.contextmanager
def terminable() -> Iterator[Ending]:
    """SIGTERM interrupts as Ctrl-C does, so that files are closed and temporary ones removed."""
    ending = Ending()
    with _handled((signal.SIGTERM,), ending.receive):
        yield ending


@contextlib.contextmanager
def _handled(
    numbers: tuple[signal.Signals, ...], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only there may one ask
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
