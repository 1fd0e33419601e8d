import re

import pytest

from command_line import refusal, run
from unmasq.cli import demo


def test_the_demo_decodes_prints_a_table_and_draws_a_plot(capsys, tmp_path, monkeypatch):
    """On the smallest code and for a few seconds; the first point has shots in any case."""
    monkeypatch.setattr(demo, "CODE", "bb18")
    monkeypatch.setattr(demo, "ROUNDS", 2)
    code, out, err = run(capsys, "demo", "--seconds", 3, "--out", tmp_path)
    assert code == 0
    assert "structure" in err
    assert "[[18,4,4]], circuit noise, 2 rounds, basis X, bposd-x" in out
    rows = [line.split() for line in out.splitlines() if re.match(r"\s*0\.00\d ", line)]
    assert [row[0] for row in rows][0] == "0.004"
    for row in rows:
        shots, failures = int(row[1]), int(row[2])
        assert shots % 8 == 0
        assert 0 <= failures <= shots
    content = (tmp_path / "demo.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) > 10_000


@pytest.mark.parametrize("seconds", [0, -3])
def test_no_time_is_refused(capsys, tmp_path, seconds):
    said = refusal(capsys, "demo", f"--seconds={seconds}", "--out", tmp_path)
    assert f"--seconds must be above 0: got {seconds}" in said
