"""The README does not rot: snippets run, numbers are those of results/, its tree is true."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import sinter

from unmasq.baselines import baseline_names
from unmasq.decoding.model_store import find_model
from unmasq.evaluation.failures import read_flags
from unmasq.evaluation.stats_file import read_counts

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent
MAX_LINES = 160

# Commands that run here as they stand, but for what makes them long.
SHORTER = {
    "unmasq problem bb72": (),
    "sinter collect --circuits bb72/circuit.stim": (("--max_shots 256", "--max_shots 3"),),
    "stim gen": (),
    "stim detect": (),
    "unmasq problem --circuit d3.stim": (),
}
# The others take minutes, or other files; their options are checked against --help.
# The three commands of an own circuit run in tests/test_own_circuit.py.


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language; '' for those of none."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.M | re.S)
    return [text for kind, text in found if kind == language]


def commands() -> list[str]:
    """Every command of the shell blocks, comments off and continued lines joined."""
    lines = "\n".join(blocks("bash")).replace("\\\n", " ").splitlines()
    return [" ".join(line.partition("#")[0].split()) for line in lines if line.strip()]


def shortened(command: str) -> str | None:
    """What to run for a command; None where it is too long to run."""
    for start, changes in SHORTER.items():
        if command.startswith(start):
            for old, new in changes:
                assert old in command, f"the README no longer says {old}"
                command = command.replace(old, new)
            return command
    return None


def shell(command: str, folder: Path, environment: dict[str, str] | None = None) -> str:
    result = subprocess.run(
        ["bash", "-c", f'PATH="{BIN}:$PATH" && {command}'],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory, quick_compilation) -> Path:
    """Where all quick commands of the README ran, one after the other."""
    folder = tmp_path_factory.mktemp("readme")
    quick = [short for command in commands() if (short := shortened(command)) is not None]
    assert len(quick) == len(SHORTER)
    for command in quick:
        shell(command, folder, quick_compilation)
    return folder


def test_sinter_counts_the_shots(folder):
    (stats,) = sinter.read_stats_from_csv_files(folder / "sinter.csv")
    assert (stats.decoder, stats.shots, stats.discards) == ("unmasq", 3, 0)


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_the_python_snippets_run(folder, monkeypatch, number):
    monkeypatch.chdir(folder)
    exec(compile(blocks("python")[number], "README.md", "exec"), {"__name__": "readme"})


@pytest.mark.parametrize("command", commands())
def test_every_option_in_a_command_exists(command):
    words = [word for word in shlex.split(command) if not re.fullmatch(r"[A-Z_]+=.*", word)]
    if words[0] == "source":
        assert "source .venv/bin/activate" in (ROOT / "Makefile").read_text()
        return
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M)
        return
    ask = f"stim help {words[1]}" if words[0] == "stim" else f"{words[0]} {words[1]} --help"
    ask = ask.replace("unmasq -h --help", "unmasq -h")
    help_text = shell(ask, ROOT)
    options = {word for word in words if word.startswith("--")}
    assert options <= set(re.findall(r"--[a-z_-]+", help_text))


def test_the_rates_in_the_text_are_those_of_the_results():
    """Also those that say when another decoder is the better choice."""
    file = ROOT / "results" / "bb72-circuit.csv"
    counts = {(c.point.decoder, c.point.p): c for c in read_counts(file)}
    name = find_model("bb72-messages").decoder_name
    rates = {key: c.errors / c.shots for key, c in counts.items()}
    text = " ".join(TEXT.split())
    baseline = counts["bposd-x", 0.003]
    ours = read_flags(file, counts[name, 0.003]).failed[: baseline.shots].sum()
    on_the_same = f"fails on {ours} of {baseline.shots:,} shots, BP-OSD on {baseline.errors}"
    assert on_the_same in text
    both = {f"{rates[decoder, 0.006]:.0%}" for decoder in ("relay-xz", name)}
    assert both == {"15%"}
    assert rates["relay5-x", 0.006] > 1.3 * rates[name, 0.006]
    assert "it needs both types of checks to be level" in text
    assert "](docs/bb72-circuit.svg)" in TEXT


def test_the_large_code_s_rates_are_those_of_the_results():
    counts = read_counts(
        ROOT / "results" / "bb144-circuit.csv", ROOT / "results" / "bb144-ways.csv"
    )
    ours = find_model("bb144-circuit").decoder_name
    rates = {(c.point.decoder, c.point.p): c.errors / c.shots for c in counts}
    often, relay = f"{ours},guess=7", "relay5-x"
    text = " ".join(TEXT.replace(" %", "%").split())
    low = f"in {rates[relay, 0.003]:.2%} of the shots at p = 0.003, the network in"
    assert f"{low} {rates[often, 0.003]:.2%}" in text
    assert f"in {100 * rates[relay, 0.005]:.1f} and {rates[often, 0.005]:.1%}" in text


def test_the_first_screen_has_no_hashes():
    start = "\n".join(TEXT.splitlines()[:60])
    assert not re.search(r"\b[0-9a-f]{8,}\b", start)
    assert "McNemar" not in TEXT


def test_the_tree_lists_what_is_there():
    (tree,) = (text for text in blocks("") if text.startswith("src/unmasq/"))
    listed = {line.split()[0].rstrip("/") for line in tree.splitlines() if line.startswith("  ")}
    there = {
        entry.name
        for entry in (ROOT / "src" / "unmasq").iterdir()
        if not entry.name.startswith(("_", ".")) and entry.name != "py.typed"
    }
    assert listed == there
    for line in tree.splitlines():
        if not line.startswith(" "):
            assert (ROOT / line.split()[0]).is_dir()


def test_every_baseline_is_named():
    assert all(f"`{name}`" in TEXT for name in baseline_names())


def test_every_linked_file_exists():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", TEXT)
    assert links
    assert all((ROOT / link).exists() for link in links)


def test_nothing_is_left_to_fill_in():
    assert not re.search(r"@[A-Z]|TODO", TEXT)


def test_it_is_short():
    assert len(TEXT.splitlines()) < MAX_LINES
