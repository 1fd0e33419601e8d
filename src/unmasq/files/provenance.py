"""Which version of unmasq made a number."""

import functools
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@functools.cache
def provenance() -> str:
    """'unmasq 0.1.0', and in a checkout 'unmasq 0.1.0, commit 0123abc (modified)'."""
    try:
        text = f"unmasq {version('unmasq')}"
    except PackageNotFoundError:  # run from its source folder
        text = "unmasq (not installed)"
    commit, modified = checkout()
    if commit is None:
        return text
    return f"{text}, commit {commit[:7]}{' (modified)' if modified else ''}"


def checkout() -> tuple[str | None, bool | None]:
    """The commit that this file is part of, and whether tracked files differ from it."""
    if _git("ls-files", "--error-unmatch", __file__) is None:  # installed, perhaps inside another
        return None, None
    modified = bool(_git("status", "--porcelain", "--untracked-files=no"))
    return _git("rev-parse", "HEAD"), modified


def _git(*arguments: str) -> str | None:
    try:
        result = subprocess.run(
            ["git", *arguments],
            cwd=Path(__file__).parent,
            check=True,
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
