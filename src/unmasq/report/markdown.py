"""Our own Markdown pages as HTML: headings, paragraphs, tables, lists, code, links, emphasis.

No more than docs/paper.md and the model cards use, and no HTML passes through.
"""

import re
from collections.abc import Callable
from html import escape

_COMMENT = re.compile(r"<!--.*?-->\n?", re.S)
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[((?:[^\[\]]|\[\[[^\]]*\]\])+)\]\(([^)\s]+)\)")
_BOLD = re.compile(r"\*\*(.+?)\*\*")
_ITALIC = re.compile(r"(?<![\w*])\*([^*\s](?:[^*]*[^*\s])?)\*(?![\w*])")
_HEADING = re.compile(r"(#{1,6}) +(.*)")
_RULE = re.compile(r"\|(?: *:?-+:? *\|)+")


def html_of(text: str, *, level: int = 1, link: Callable[[str], str | None] = lambda to: to) -> str:
    """The page, its first heading being <h`level`>; `link` gives targets, or None for no link.

    >>> html_of("# A *b*")
    '<h1>A <em>b</em></h1>'
    """
    blocks = re.split(r"\n{2,}|(?<=\n)(?=#)", _COMMENT.sub("\n\n", text).strip())
    return "\n".join(_block(block.strip("\n"), level, link) for block in blocks if block.strip())


def slug(heading: str) -> str:
    """The anchor of a heading.

    >>> slug("The paper's figure 2")
    'the-papers-figure-2'
    """
    return re.sub(r"[^\w]+", "-", heading.lower().replace("'", "")).strip("-")


def table_html(head: list[str], rows: list[list[str]]) -> str:
    """Cells are HTML already. Wide tables scroll by themselves, not the page."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    start = f"<thead><tr>{top}</tr></thead>\n" if any(head) else ""
    return f'<div class="wide"><table>\n{start}<tbody>\n{body}</tbody></table></div>'


def _block(block: str, level: int, link: Callable[[str], str | None]) -> str:
    lines = block.split("\n")
    heading = _HEADING.fullmatch(lines[0])
    if heading and len(lines) > 1:
        rest = "\n".join(lines[1:])
        return "\n".join(_block(part, level, link) for part in (lines[0], rest))
    if heading:
        number = min(level + len(heading[1]) - 1, 6)
        return f"<h{number}>{_inline(heading[2], link)}</h{number}>"
    if block.startswith("```"):
        code = "\n".join(lines[1:-1])
        return f"<pre><code>{escape(code)}</code></pre>"
    if len(lines) > 1 and _RULE.fullmatch(lines[1].strip()):
        head, _, *rows = ([_inline(cell, link) for cell in _cells(line)] for line in lines)
        return table_html(head, rows)
    if block.startswith("> "):
        quoted = " ".join(line.removeprefix(">").strip() for line in lines)
        return f"<blockquote><p>{_inline(quoted, link)}</p></blockquote>"
    if block.startswith("- "):
        items = re.split(r"\n?^- ", block, flags=re.M)[1:]
        listed = (f"<li>{_inline(' '.join(item.split()), link)}</li>" for item in items)
        return f"<ul>{''.join(listed)}</ul>"
    return f"<p>{_inline(' '.join(lines), link)}</p>"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def _inline(text: str, link: Callable[[str], str | None]) -> str:
    """Code first: nothing inside it is emphasis or a link."""
    kept: list[str] = []

    def keep(html: str) -> str:
        kept.append(html)
        return f"\0{len(kept) - 1}\0"

    def linked(found: re.Match[str]) -> str:
        target = link(found[2])
        words = _emphasised(found[1])
        return (
            words if target is None else keep(f'<a href="{escape(target)}">') + words + keep("</a>")
        )

    text = _CODE.sub(lambda found: keep(f"<code>{escape(found[1])}</code>"), text)
    text = _emphasised(_LINK.sub(linked, escape(text, quote=False)))
    return re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], text)


def _emphasised(text: str) -> str:
    return _ITALIC.sub(r"<em>\1</em>", _BOLD.sub(r"<strong>\1</strong>", text))
