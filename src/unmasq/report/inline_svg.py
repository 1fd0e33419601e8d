"""A figure as SVG inside a page: text stays text, and colours follow the reader's light or dark.

Every colour of the drawing becomes a CSS variable, and `palette` gives each a counterpart for dark
pages: the same hue, with its lightness turned round, so that white paper turns dark.
"""

import colorsys
import io
import re
from collections.abc import Iterable
from html import escape
from typing import Any

import matplotlib
from matplotlib.figure import Figure

_SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "unmasq"}
_COLOUR = re.compile(r"#([0-9a-f]{6})\b")
_FONTS = re.compile(r"'DejaVu Sans'(?:, [^;\"]*?)?sans-serif")
_IDS = re.compile(r'(\bid="|url\(#|href="#)')
_DARKEST, _LIGHTEST = 0.09, 0.93  # of a dark page: its paper and its ink
_GREY, _PALE, _LINE = 0.2, 0.75, 0.6  # a line that is neither grey nor pale stays bright


def inline_svg(figure: Figure, name: str, label: str) -> str:
    """The <svg> element; `name` keeps its ids apart from those of other figures of the page."""
    content = io.BytesIO()
    with matplotlib.rc_context(_SETTINGS):
        figure.savefig(content, format="svg", transparent=True, metadata={"Date": None})
    text = content.getvalue().decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.S)
    text = _without_repeated_ids(_IDS.sub(rf"\g<1>{name}-", text))
    text = _FONTS.sub("var(--sans)", text)
    text = _COLOUR.sub(r"var(--c\1)", text)
    opening = f'<svg role="img" aria-label="{escape(label)}"'
    text = re.sub(r' (?:width|height)="[^"]*pt"', "", text, count=2)
    return text.replace("<svg", opening, 1).replace("\n", "").strip()


def _without_repeated_ids(text: str) -> str:
    """Matplotlib defines a marker anew in each container that has it."""
    seen: set[str] = set()

    def first_only(found: re.Match[str]) -> str:
        words = "" if found[0] in seen else found[0]
        seen.add(found[0])
        return words

    return re.sub(r' id="[^"]*"', first_only, text)


def palette(texts: Iterable[str]) -> tuple[str, str]:
    """CSS declarations of all colours that the drawings name, for light pages and for dark ones."""
    found = sorted(
        {name for text in texts for name in re.findall(r"var\(--c([0-9a-f]{6})\)", text)}
    )
    light = "".join(f"--c{name}:#{name};" for name in found)
    dark = "".join(f"--c{name}:{in_the_dark(name)};" for name in found)
    return light, dark


def in_the_dark(colour: str) -> str:
    """The counterpart of a colour on a dark page.

    >>> in_the_dark("ffffff"), in_the_dark("000000")
    ('#171717', '#ededed')
    >>> in_the_dark("cc79a7")  # no darker than it was
    '#c2709d'
    """
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    turned = _LIGHTEST - (_LIGHTEST - _DARKEST) * lightness
    if saturation > _GREY and lightness < _PALE:
        turned = max(turned, _LINE)
    parts = colorsys.hls_to_rgb(hue, turned, 0.9 * saturation)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)
