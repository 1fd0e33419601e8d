"""Writes the tables of docs/results.md anew from the counts in results/.

    python tools/results_page.py
    unmasq figures --only bb72-circuit --format svg --out docs \\
        --decoders unmasq-f6599ad8 unmasq-d2922bc1 bposd-x relay-xz relay5-xz

A table stands between `<!-- counts: KIND MODEL CSV ... -->` and `<!-- end -->`. KIND is `all` for
the counts of that model and of the baselines on its shots, and `ways` for the ways in which the
model was asked. Everything else on the page is written by hand.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from unmasq.decoding.model_store import find_model
from unmasq.evaluation.counts import Counts
from unmasq.evaluation.failures import compare
from unmasq.evaluation.stats_file import read_counts
from unmasq.report.names import point_label

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "results.md"
_TABLE = re.compile(r"(<!-- counts: (all|ways) (\S+) ([^>]*?) -->\n).*?(<!-- end -->)", re.S)
_HEAD = """\
| p | decoder | failures / shots | rate per shot [95 %] | it alone, network alone | p-value |
| --- | --- | --- | --- | --- | --- |
"""


def filled(text: str) -> str:
    """The page with all its tables as the stored counts have them."""
    return _TABLE.sub(
        lambda found: f"{found[1]}{table(*found.groups()[1:3], found[4].split())}{found[5]}", text
    )


def table(kind: str, model_name: str, files: Sequence[str]) -> str:
    """One row for each p and decoder, the network first; baselines on its shots only."""
    model = find_model(model_name)
    sources = [(path, c) for path in _paths(files) for c in read_counts(path)]
    own = [(path, c) for path, c in sources if c.point.model_hash == model.model_hash]
    shots = {c.point.shots_id for _, c in own}
    others = [(path, c) for path, c in sources if c.point.model_hash is None]
    others = [(path, c) for path, c in others if c.point.shots_id in shots]
    usual = _usual([c for _, c in own], model.decoder_name)
    if kind == "ways":
        asked = {c.point.p for _, c in own if c.point.decoder != usual}
        own, others = [(path, c) for path, c in own if c.point.p in asked], []
    paired = {
        comparison.second: comparison.paired for comparison in compare(usual, [*own, *others])
    }
    rows = []
    for _, c in sorted([*own, *others], key=lambda pair: _order(pair[1], usual)):
        pair = paired.get(c.point)
        alone = f"{pair.second_only}, {pair.first_only}" if pair else ""
        chance = f"{pair.p_value:.2g}" if pair else ""
        label = point_label(c.point)
        rows.append(
            f"| {c.point.p:g} | {label} | {c.errors} / {c.shots} | {c.rate} "
            f"| {alone} | {chance} |\n"
        )
    return _HEAD + "".join(rows)


def _usual(own: Sequence[Counts], plain: str) -> str:
    """The way of asking that the others are held against: about every shot, or the most counted."""
    shots: dict[str, int] = {}
    for c in own:
        shots[c.point.decoder] = shots.get(c.point.decoder, 0) + c.shots
    return plain if plain in shots or not shots else max(shots, key=shots.__getitem__)


def _order(counts: Counts, network: str) -> tuple:
    """By p; the network in its usual way, in other ways, then baselines."""
    decoder = counts.point.decoder
    return counts.point.p, decoder != network, counts.point.model_hash is None, decoder


def _paths(files: Sequence[str]) -> list[Path]:
    return [ROOT / "results" / name for name in files]


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(PAGE)
