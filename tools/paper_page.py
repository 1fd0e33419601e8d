"""Writes the tables of docs/paper.md anew from the counts in results/ and the shipped models.

    python tools/paper_page.py

See `unmasq.report.paper_page` for the blocks that are filled in.
"""

from pathlib import Path

from unmasq.decoding.model_store import shipped_models
from unmasq.report.paper_page import filled
from unmasq.report.results_folder import ResultsFolder

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "paper.md"


def written() -> str:
    """The page as the results have it."""
    text = PAGE.read_text(encoding="utf-8")
    return filled(text, ResultsFolder(ROOT / "results"), shipped_models())


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
    print(PAGE)
