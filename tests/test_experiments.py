"""docs/experiments.md has one line for each entry of docs/experiments/, and lines can be read."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted((DOCS / "experiments").glob("*.md"))


def _entries(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"^## (\d{4}-\d\d-\d\d)  (.+\?)$", page.read_text(), re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_entry_has_its_line_and_verdict_in_the_index(page):
    index = (DOCS / "experiments.md").read_text()
    assert f"](experiments/{page.name})" in index
    section = index.split(f"](experiments/{page.name})")[1].split("\n### ")[0]
    lines = [line for line in section.splitlines() if line.startswith("- ")]
    rest = [line for line in section.splitlines() if line.strip() and line not in lines]
    assert not rest, "One line a question, verdict included."
    questions = [question for _, question in _entries(page)]
    assert len(questions) == page.read_text().count("\n## "), "A heading is a date and a question."
    assert len(lines) == len(questions)
    for question, line in zip(questions, lines, strict=True):
        assert line.startswith(f"- {question} "), f"Expected the line of: {question}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_entries_stand_newest_first(page):
    dates = [date for date, _ in _entries(page)]
    assert dates == sorted(dates, reverse=True)


@pytest.mark.parametrize("page", [DOCS / "experiments.md", *PAGES], ids=lambda page: page.stem)
def test_lines_of_the_log_are_under_120_characters(page):
    long = [line for line in page.read_text().splitlines() if len(line) >= 120]
    assert not long
