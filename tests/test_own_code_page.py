"""docs/own-code.md runs as it stands, but for the length of its training."""

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[1] / "docs" / "own-code.md").read_text(encoding="utf-8")
SHORT = (
    'settings=["num_updates=20", "batch_size=32", "evaluate_shots=0", "network.width=16", '
    '"network.feedforward=16", "network.message_width=16"]'
)


@pytest.mark.slow
def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    program = "\n".join(re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S))
    for old, new in (("minutes=3", SHORT), ("max_shots=4096", "max_shots=128")):
        assert old in program
        program = program.replace(old, new)
    exec(compile(program, "own-code.md", "exec"), {})
    said = capsys.readouterr().out
    assert "[[18,2,?]] | 4 ticks of CNOTs: X 1-4, Z 1-4" in said
    assert "72 detectors, 9 symmetries, 8 relations" in said
    assert "pymatching" in said
    assert (tmp_path / "runs" / "torus.png").stat().st_size > 1000
