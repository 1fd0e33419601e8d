"""Our Markdown as HTML: what our pages use, and nothing that a page could smuggle in."""

import pytest

from unmasq.report.markdown import html_of


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("## Two\n\nlines\nof text", "<h2>Two</h2>\n<p>lines of text</p>"),
        ("# A\ntext", "<h1>A</h1>\n<p>text</p>"),
        ("a **b** *c* `d*e*`", "<p>a <strong>b</strong> <em>c</em> <code>d*e*</code></p>"),
        ("3 * 4 * 5", "<p>3 * 4 * 5</p>"),
        ("- one\n- two\n  more", "<ul><li>one</li><li>two more</li></ul>"),
        ("> said\n> so", "<blockquote><p>said so</p></blockquote>"),
        ("```bash\na < b\n```", "<pre><code>a &lt; b</code></pre>"),
        ("<!-- rows: x -->\n\n<script>", "<p>&lt;script&gt;</p>"),
        ("[[72,12,6]] [a](https://b) x", '<p>[[72,12,6]] <a href="https://b">a</a> x</p>'),
        ("[on [[72,12,6]]](#c)", '<p><a href="#c">on [[72,12,6]]</a></p>'),
    ],
)
def test_what_our_pages_use(text, html):
    assert html_of(text) == html


def test_tables_scroll_by_themselves():
    html = html_of("| a | b |\n| --- | --- |\n| 1 | `x \\| y` |\n| 2 |  |")
    assert html.startswith('<div class="wide"><table>')
    assert "<thead><tr><th>a</th><th>b</th></tr></thead>" in html
    assert "<td>2</td><td></td>" in html


def test_a_table_without_a_head_has_none():
    assert "<thead>" not in html_of("| | |\n| --- | --- |\n| 1 | 2 |")


def test_links_may_be_dropped():
    assert html_of("see [a](b.md)", link=lambda target: None) == "<p>see a</p>"


def test_headings_start_at_a_level():
    assert html_of("# A\n\n## B", level=3) == "<h3>A</h3>\n<h4>B</h4>"
