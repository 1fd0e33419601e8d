"""The README does not rot: snippets run, numbers are those of results/, its tree is true."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from unmasq.baselines import baseline_names
from unmasq.decoding.model_store import SHIPPED, find_model
from unmasq.evaluation.failures import compare
from unmasq.evaluation.stats_file import read_counts

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent
MAX_LINES = 200

# Commands that run here as they stand, but for what makes them long.
SHORTER = {
    "unmasq problem bb72": (),
    "sinter collect --circuits bb72/circuit.stim": (("--max_shots 256", "--max_shots 3"),),
    "sinter combine": (),
    "stim gen": (),
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


def shell(command: str, folder: Path) -> str:
    result = subprocess.run(
        ["bash", "-c", f'PATH="{BIN}:$PATH" && {command}'],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Where all quick commands of the README ran, one after the other."""
    folder = tmp_path_factory.mktemp("readme")
    quick = [short for command in commands() if (short := shortened(command)) is not None]
    assert len(quick) == len(SHORTER)
    for command in quick:
        output = shell(command, folder)
        if command.startswith("sinter combine"):
            (folder / "combined.txt").write_text(output)
    return folder


def test_sinter_prints_what_the_readme_shows(folder):
    """All but the counts, the time, and the id, which holds the path of the circuit."""
    (shown,) = (text for text in blocks("") if "strong_id" in text)
    found = (folder / "combined.txt").read_text()
    for text in (shown, found):
        header, row = text.strip().splitlines()
        assert header.replace(" ", "").startswith("shots,errors,discards,seconds,decoder,")
        assert re.fullmatch(
            r' *\d+, *\d+, *0, *[\d.]+,unmasq,\w+,"{""path"":""bb72/circuit.stim""}",', row
        )


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_the_python_snippets_run(folder, monkeypatch, number):
    monkeypatch.chdir(folder)
    exec(compile(blocks("python")[number], "README.md", "exec"), {"__name__": "readme"})


@pytest.mark.parametrize("command", commands())
def test_every_option_in_a_command_exists(command):
    words = [word for word in shlex.split(command) if not re.fullmatch(r"[A-Z_]+=.*", word)]
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M)
        return
    ask = f"stim help {words[1]}" if words[0] == "stim" else f"{words[0]} {words[1]} --help"
    help_text = shell(ask, ROOT)
    options = {word for word in words if word.startswith("--")}
    assert options <= set(re.findall(r"--[a-z_-]+", help_text))


def test_the_table_is_that_of_the_results():
    """Failures, shots, interval and paired counts of every row, from the CSV and its flags.

    All decoders are shown for a p that is shown.
    """
    path = ROOT / "results" / "bb72-circuit.csv"
    counts = read_counts(path)
    model = find_model("bb72-circuit")
    assert model.model_hash[:16] in TEXT
    assert model.structure_id in TEXT
    names = {
        model.decoder_name: "`bb72-circuit`",
        f"{model.decoder_name},views=36": "`bb72-circuit`, 36 views",
        "bposd-x": "BP-OSD(X)",
        "relay-xz": "Relay-BP(XZ)",
    }
    alone = {
        comparison.second: f"{comparison.paired.second_only}, {comparison.paired.first_only} "
        for comparison in compare(model.decoder_name, [(path, c) for c in counts])
    }
    rows = {
        f"| {c.point.p:g} | {names[c.point.decoder]} | {c.errors} / {c.shots} | {c.rate} | "
        f"{alone.get(c.point, '')}|"
        for c in counts
    }
    shown = set(re.findall(r"^\| 0\.00\d .*\|$", TEXT, re.M))
    shown_p = {row.split()[1] for row in shown}
    assert len(shown_p) >= 3
    assert shown == {row for row in rows if row.split()[1] in shown_p}


@pytest.mark.parametrize(("code", "title"), [("bb72", "[[72,12,6]]"), ("bb144", "[[144,12,12]]")])
def test_the_code_capacity_table_is_that_of_the_results(code, title):
    path = ROOT / "results" / f"{code}-capacity.csv"
    model = find_model(f"{code}-capacity")
    assert model.model_hash[:16] in TEXT
    counts = read_counts(path)
    by_point = {c.point: c for c in counts}
    rows = set()
    for pair in compare(model.decoder_name, [(path, c) for c in counts]):
        ours, other = by_point[pair.first], by_point[pair.second]
        if other.point.decoder == "bp4-osd10" and ours.shots == other.shots:
            rows.add(
                f"| {title}, {ours.point.p:g} | {ours.shots} | {ours.errors}: {ours.rate} | "
                f"{other.errors}: {other.rate} | "
                f"{pair.paired.second_only}, {pair.paired.first_only} |"
            )
    shown = set(re.findall(rf"^\| {re.escape(title)}.*\|$", TEXT, re.M))
    assert len(shown) >= 3
    assert shown <= rows


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.safetensors")), ids=lambda path: path.stem)
def test_the_cards_hold_the_counts_of_the_results(path):
    """All of this very model, and those of the baselines on its shots."""
    model = find_model(path)
    counts = read_counts(
        *sorted((ROOT / "results").glob(f"{model.header['problem']['code']}-*.csv"))
    )
    own = [c for c in counts if c.point.model_hash == model.model_hash]
    shots = {c.point.shots_id for c in own}
    others = [c for c in counts if c.point.model_hash is None and c.point.shots_id in shots]
    found = {(c.point.p, c.point.decoder, c.errors, c.shots, str(c.rate)) for c in (*own, *others)}
    keys = ("p", "decoder", "errors", "shots", "rate")
    assert {tuple(row[key] for key in keys) for row in model.card["measured"]} == found


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
