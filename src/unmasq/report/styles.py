"""One colour, marker and line for each decoder, the same in every figure.

Markers and lines tell decoders apart in grey too. The networks are blue, what others made is not.
"""

import collections
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unmasq.report.names import is_network

Style = dict[str, Any]

_DASH_DOT_DOT = (0, (6, 1, 1, 1, 1, 1))
_BASELINES = {
    "bposd-x": ("#d55e00", "s", "--"),
    "bposd-xz": ("#b04a00", "p", "--"),
    "bplsd-x": ("#e69f00", "v", ":"),
    "bplsd-xz": ("#a87400", "<", ":"),
    "relay-x": ("#4fc59f", "d", "-."),
    "relay-xz": ("#009e73", "D", "-."),
    "relay5-x": ("#2b8a6b", "8", "-."),
    "relay5-xz": ("#00573f", "X", "-."),
    "tesseract-x": ("#cc79a7", "^", _DASH_DOT_DOT),
    "tesseract-xz": ("#9a4a77", ">", _DASH_DOT_DOT),
    "pymatching": ("#5b4636", "h", "--"),
    "bp4-osd0": ("#8c8c8c", "P", ":"),
    "bp4-osd10": ("#000000", "s", "--"),
    "bp4-osd10-s0.875": ("#4d4d4d", "p", "-."),
    "coset8": ("#7a4a1e", "*", ":"),
}
_AS_TRAINED = ("#1646a0", "o", "-")
_VIEWS = ("#5d9bdd", "*", "--")
_GUESS = ("#2c2d8f", "h", "-.")
_THRESHOLD = ("#3f78c4", "H", ":")
_OURS = {_AS_TRAINED[0], _VIEWS[0], _GUESS[0], _THRESHOLD[0]}  # above all other lines
# Other networks, other T, other p: from dark to light, so that a grey print keeps the order.
_MORE = (
    ("#0d2a5e", "^", "--"),
    ("#7a3fa0", "v", "-."),
    ("#c0392b", "D", ":"),
    ("#1f8a70", "P", _DASH_DOT_DOT),
    ("#6aa5d8", "X", "-"),
    ("#f0913a", "<", "--"),
    ("#b8b8b8", ">", "-."),
)
_WAY_MARKERS = "o*sdph8"


def decoder_styles(
    decoders: Sequence[str], names: Mapping[str, str] | None = None
) -> dict[str, Style]:
    """A style for each decoder of a figure.

    Baselines have their own, and so has the network that `names` does not name, with its ways of
    being asked; named networks follow in the order of `names`.
    """
    named = list(names or {})
    ours: str | None = None  # the network in blue
    has_plain = False
    others = 0
    seen: collections.Counter[str] = collections.Counter()
    found: dict[str, Style] = {}
    for decoder in dict.fromkeys(decoders):
        base, *ways = decoder.split(",")
        if decoder in _BASELINES:
            found[decoder] = _style(*_BASELINES[decoder])
            continue
        if is_network(decoder) and base not in named and ours in (None, base):
            ours = base
            look = _way(ways)
            if look is not _AS_TRAINED or not has_plain:
                has_plain = has_plain or look is _AS_TRAINED
                found[decoder] = _style(*look)
                continue
        place = named.index(base) if base in named else len(named) + others
        others += base not in named
        colour, marker, line = _MORE[place % len(_MORE)]
        if base in named and seen[base]:  # asked in another way
            marker, line = _WAY_MARKERS[seen[base] % len(_WAY_MARKERS)], ":"
        seen[base] += 1
        found[decoder] = _style(colour, marker, line)
    return found


def series_styles() -> Iterator[Style]:
    """Styles of lines that belong to one network: other p, other T."""
    for look in itertools.chain([_AS_TRAINED], itertools.cycle(_MORE)):
        yield _style(*look)


def _way(ways: Sequence[str]) -> tuple[str, str, Any]:
    kinds = {way.partition("=")[0] for way in ways}
    if "views" in kinds:
        return _VIEWS
    if "guess" in kinds:
        return _GUESS
    return _THRESHOLD if "tau" in kinds else _AS_TRAINED


def _style(colour: str, marker: str, line: Any) -> Style:
    return {
        "color": colour,
        "marker": marker,
        "linestyle": line,
        "markersize": 7 if marker == "*" else 5,
        "linewidth": 1.4,
        "zorder": 3 if colour in _OURS else 2,
    }
