"""Runs the command line inside the test process."""

import pytest

from unmasq.cli import main


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `unmasq WORDS`."""
    with pytest.raises(SystemExit) as ending:
        main([str(word) for word in words])
    captured = capsys.readouterr()
    return ending.value.code, captured.out, captured.err


def refusal(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """The one line with which `unmasq WORDS` refuses: exit code 2, nothing else said."""
    code, out, err = run(capsys, *words)
    assert code == 2, err
    assert out == ""
    assert err.count("\n") == 1, err
    assert err.startswith("error: "), err
    return err.removeprefix("error: ").rstrip("\n")
