"""Runs `unmasq` in forked processes that need not import anything again, and kills them.

They are forked from a process in which jax is imported but not started: a started one has threads
that a fork would lose.
"""

import ctypes
import multiprocessing
import multiprocessing.connection
import os
import resource
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

LIMIT = 300.0  # seconds after which a command hangs
HANGING = 124


class Order(NamedTuple):
    """One command; `code` None of the answer says that it was killed."""

    words: Sequence[str]
    log: Path
    seconds: float | None = None  # then kill -9
    file_bytes: int | None = None  # no file may become larger: like a full disk
    powerless: bool = False  # without root's power to write where others may not


class Zygote:
    """Must be made before anything starts jax."""

    def __init__(self, cache: Path) -> None:
        here, there = multiprocessing.Pipe()
        child = os.fork()
        if child == 0:
            here.close()
            _serve(there, cache)
        there.close()
        self._pipe = here

    def run(self, *orders: Order) -> list[int | None]:
        """All of them at the same time; their exit codes."""
        self._pipe.send(orders)
        return self._pipe.recv()


def _serve(pipe: multiprocessing.connection.Connection, cache: Path) -> None:
    import jax

    import unmasq.cli
    import unmasq.training.loop  # noqa: F401
    from hardening.sandbox import TINY
    from unmasq.recipes import RECIPES

    RECIPES["tiny"] = TINY
    jax.config.update("jax_compilation_cache_dir", str(cache))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    while True:
        try:
            orders = pipe.recv()
        except EOFError:
            os._exit(0)
        begun = time.monotonic()
        children = [_start(order) for order in orders]
        pipe.send([_end(c, o, begun) for c, o in zip(children, orders, strict=True)])


def _start(order: Order) -> tuple[int, int]:
    """Its number, and a pipe with what it says: files of its own may be forbidden."""
    import jax

    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        os.set_blocking(reading, False)
        return child, reading
    try:
        descriptor = writing
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        if order.file_bytes is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (order.file_bytes, order.file_bytes))
            jax.config.update("jax_compilation_cache_dir", None)  # or it is left half-written
        if order.powerless:
            _drop_capabilities()
        from unmasq.cli import main

        main(list(order.words))
    except SystemExit as ending:
        os._exit(ending.code if isinstance(ending.code, int) else 1)
    except BaseException:
        import traceback

        os.write(2, traceback.format_exc().encode())
    os._exit(70)


def _end(started: tuple[int, int], order: Order, begun: float) -> int | None:
    child, reading = started
    limit = begun + (LIMIT if order.seconds is None else order.seconds)
    said, status = b"", None
    while status is None and time.monotonic() < limit:
        found, ended = os.waitpid(child, os.WNOHANG)
        status = ended if found else None
        said += _read(reading)
        time.sleep(0.002)
    if status is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    order.log.write_bytes(said + _read(reading))
    os.close(reading)
    if status is not None:
        return os.waitstatus_to_exitcode(status)
    return None if order.seconds is not None else HANGING


def _read(pipe: int) -> bytes:
    try:
        return os.read(pipe, 1 << 16)
    except BlockingIOError:
        return b""


def _drop_capabilities() -> None:
    """All powers of root (Linux): from here on the rights of files count."""
    version = (ctypes.c_uint32 * 2)(0x20080522, 0)
    none = (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None, use_errno=True).capset(version, none) != 0:
        raise OSError(ctypes.get_errno(), "capset")
