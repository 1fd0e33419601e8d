"""`unmasq report`: one page that needs nothing else, and names what was not measured."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from command_line import refusal, run
from unmasq.cli import main
from unmasq.report import page as report_page

pytestmark = pytest.mark.usefixtures("full_compilation")

ROOT = Path(__file__).parents[2]
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """Checks that elements close in order; collects ids, links and classes."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links = [], [], []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found[key] for key in ("href", "xlink:href", "src") if key in found]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Of the stored results, written once."""
    out = tmp_path_factory.mktemp("report") / "report.html"
    words = ["report", "--from", "results", "--out", str(out)]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        with pytest.raises(SystemExit, match="0"):
            main(words)
    return out.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def read(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


def test_it_needs_nothing_from_outside(page, read):
    assert "<script" not in page
    assert "@import" not in page
    assert "src=" not in page
    assert not re.search(r"url\((?!#)", page)
    local = [link for link in read.links if link.startswith(("#", "data:image/png;base64,"))]
    assert set(read.links) - set(local) == {"https://arxiv.org/abs/2509.22347"}
    assert len(page) < 2_000_000


def test_no_two_elements_share_an_id_and_every_link_leads_somewhere(read):
    assert len(read.ids) == len(set(read.ids))
    assert {link[1:] for link in read.links if link.startswith("#")} <= set(read.ids)


def test_every_colour_of_a_drawing_has_a_dark_counterpart(page):
    used = set(re.findall(r"var\(--c([0-9a-f]{6})\)", page))
    light, dark = (re.findall(rf"--c([0-9a-f]{{6}}):{end}", page) for end in (r"#\1;", r"#"))
    assert used == set(light)
    assert len(dark) == 2 * len(used)
    assert not re.search(r"(?:fill|stroke): ?#", page)
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page


def test_it_holds_figures_claims_tables_counts_and_cards(page):
    assert page.count("<svg") >= 10
    for words in (
        '<strong class="verdict confirmed">Confirmed</strong>',
        "<td>120 / 4285888</td>",
        "<td>120 / 4,285,888</td>",
        "<td>13,557,784</td>",
        "10,209,025 parameters",
        "Shot 0 of seed 0 at p = 0.007",
        " of 12 wrong.",
        "<summary><code>bb72-circuit</code>",
        "<code>own-codes.csv</code>",
    ):
        assert words in page, words
    assert "docs/" not in re.sub(r"<code>.*?</code>", "", page), "links of the repository"


def test_it_names_what_was_not_measured(page):
    missing = page.partition('<section id="not-measured">')[2].partition("</section>")[0]
    assert "(c) time for one shot against p: anything on an A100" in missing


def test_another_folder_no_claims_and_no_shot(capsys, tmp_path, monkeypatch):
    def refuse(*_):
        raise ValueError("problem must be given where Stim is not installed.")

    monkeypatch.setattr(report_page, "followed_model", refuse)
    source = tmp_path / "results"
    source.mkdir()
    content = (ROOT / "results" / "bb18-circuit.csv").read_text()
    (source / "bb18-circuit.csv").write_text(content)
    out = tmp_path / "folder" / "page.html"
    code, said, err = run(
        capsys, "report", "--from", source, "--paper", tmp_path / "no.md", "--out", out
    )
    assert (code, err) == (0, f"{_missing(out)} parts are not measured: the page names them.\n")
    assert said.startswith(f"{out}: ")
    text = out.read_text()
    assert f"{tmp_path / 'no.md'}: no such file." in text
    assert "Not drawn: the shots of bb72-messages: problem must be given where Stim" in text
    assert "bb18-circuit.csv" in text
    assert '<figure class="empty">' in text
    assert "bb72-circuit.csv</code>" not in text


def test_mistakes_end_in_one_line_and_no_page(capsys, tmp_path):
    out = tmp_path / "page.html"
    err = refusal(capsys, "report", "--from", tmp_path, "--out", out)
    assert "--from must be a folder with CSVs" in err
    assert not out.exists()
    assert "--out must be a file: got the folder" in refusal(capsys, "report", "--out", tmp_path)
    err = refusal(capsys, "report", "--from", ROOT / "results", "--model", "bb71", "--out", out)
    assert "model must be a weight file or a known name" in err
    assert not out.exists()


def _missing(out):
    text = out.read_text().partition('<section id="not-measured">')[2].partition("</section>")[0]
    return text.count("<tr>") - 1
