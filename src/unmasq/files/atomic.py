"""Files that are written whole or not at all, and what is no file: devices, pipes, stdout."""

import contextlib
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Mapping
from pathlib import Path

_STALE = 3600.0  # seconds: a writer that is still alive writes more often than that
STANDARD = "-"  # stdin where a command reads, stdout where it writes
Name = str | Path
_STDOUT = {STANDARD, "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}
_STDIN = {STANDARD, "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}


def write_whole(path: str | Path, content: bytes | str) -> None:
    """Writes to a temporary file beside `path`, flushes it to disk, and renames it into place.

    A reader, or a run killed at any moment, sees the old file or the new one. A full disk leaves
    the old file untouched. A link leads to its target, which keeps its mode; a pipe or a device is
    written to, not replaced; "-" is standard output.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        if str(path) in _STDOUT:  # what the shell opened, at its place: never truncated
            sys.stdout.flush()
            with os.fdopen(os.dup(1), "wb") as file:
                file.write(data)
        elif _is_special(path):
            with open(path, "wb") as file:
                file.write(data)
        else:
            _replace(os.path.realpath(path), data)
    except OSError as error:  # about the user's file, not the temporary one
        raise OSError(error.errno, error.strerror, str(path)) from error


def read_input(path: str | Path) -> bytes:
    """All bytes of a file; "-" is standard input."""
    return sys.stdin.buffer.read() if str(path) in _STDIN else Path(path).read_bytes()


def require_distinct(inputs: Mapping[str, Name | None], outputs: Mapping[str, Name | None]) -> None:
    """Refuses an output that would replace an input or another output; keys are option names."""
    taken = {option: path for option, path in inputs.items() if path and str(path) not in _STDIN}
    for option, path in outputs.items():
        if path is None or (str(path) not in _STDOUT and _is_special(path)):
            continue
        for other, known in taken.items():
            if _is_same(path, known):
                raise ValueError(
                    f"{option} must not be the file of {other}: got {path} for both. "
                    "Choose another name."
                )
        taken[option] = path


def _is_same(first: Name, second: Name) -> bool:
    names = [
        STANDARD if str(path) in _STDOUT else os.path.realpath(path) for path in (first, second)
    ]
    if names[0] == names[1]:
        return True
    exist = all(os.path.exists(name) for name in names)
    return exist and os.path.samefile(*names)


def _is_special(path: str | Path) -> bool:
    """Whether it exists and is no regular file; a folder is refused on writing."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _replace(path: str, data: bytes) -> None:
    folder, name = os.path.split(path)
    with contextlib.suppress(FileExistsError):  # not a folder: opening says so
        os.makedirs(folder, exist_ok=True)
    mode = None
    if os.path.exists(path):
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if not os.access(path, os.W_OK):
            raise PermissionError(13, "Permission denied")
    temporary = os.path.join(folder, f".{name[:200]}.{secrets.token_hex(6)}")
    # The user's umask decides on the mode of a new file.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sweep(folder, name)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _sweep(folder: str, name: str) -> None:
    """Removes what writers of this file left half-written when they were killed."""
    pattern = re.compile(rf"\.{re.escape(name[:200])}\.[0-9a-f]{{12}}")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > _STALE:
                os.unlink(entry.path)
