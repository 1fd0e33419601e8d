"""docs/paper.md, the paper's claims one by one: fills in what is read from the results.

Verdicts and sentences are written by hand. Every number of a decoder stands in a block

    <!-- KIND: WORDS -->
    ...
    <!-- end -->

whose content is written anew here. Kinds: `verdicts` lists the claims; `rows: FILES; DECODERS; P`
are counts (no P: all); `times: FILES; DECODERS` single shots; `runs: NAME; NAME` what training runs
counted at their end; `networks`, `training` and `places` the paper's tables. Among DECODERS
`unmasq` is any network that names.json does not name, `unmasq,T=6` the same asked so; one that it
names is called so, with _ for spaces. What the folder does not hold is said so by name.
"""

import re
from collections.abc import Callable, Collection, Sequence

from unmasq.decoding.model_store import ModelFile
from unmasq.evaluation.statistics import clopper_pearson
from unmasq.report.names import (
    NETWORK,
    base_name,
    decoder_label,
    is_network,
    point_label,
    usual_name,
)
from unmasq.report.paper_tables import budget, networks_table, place_weights_note, training_table
from unmasq.report.results_folder import RUNS, ResultsFolder

VERDICTS = ("Confirmed", "In part", "Not confirmed", "Not yet measured", "Beyond the paper")
_BLOCK = re.compile(r"(<!-- (\w+)(?:: ([^>]*?))? -->\n).*?(<!-- end -->)", re.S)
_CLAIM = re.compile(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", re.M | re.S)
_VERDICT = re.compile(r"^\*\*([^*]+)\.\*\*", re.M)


def filled(text: str, folder: ResultsFolder, models: Sequence[ModelFile]) -> str:
    """The page with every block as the results have it."""
    writers: dict[str, Callable[[str], str]] = {
        "rows": lambda words: rows_block(words, folder, models),
        "times": lambda words: times_block(words, folder),
        "runs": lambda words: runs_block(words, folder),
        "networks": lambda _: networks_table(models),
        "training": lambda _: training_table(models),
        "places": lambda _: place_weights_note(),
        "verdicts": lambda _: _verdicts_table(text),
    }

    def written(found: re.Match[str]) -> str:
        kind, words = found[2], found[3] or ""
        if kind not in writers:
            raise ValueError(f"block must be one of {', '.join(writers)}: got '{kind}'.")
        return f"{found[1]}{writers[kind](words)}{found[4]}"

    return _BLOCK.sub(written, text)


def claims(text: str) -> dict[str, str]:
    """The verdict on each claim, by its heading; refused where one has none."""
    found = {}
    for heading, body in _CLAIM.findall(text):
        verdict = _VERDICT.search(body)
        if verdict is None or verdict[1] not in VERDICTS:
            raise ValueError(
                f"claim must begin with one of {', '.join(VERDICTS)}, bold and with a full stop: "
                f"'{heading}' does not."
            )
        found[heading] = verdict[1]
    return found


def rows_block(words: str, folder: ResultsFolder, models: Sequence[ModelFile]) -> str:
    """Counts of some files, decoders and p."""
    files, decoders, *rest = ([*part.split()] for part in words.split(";"))
    wanted = {float(p) for p in rest[0]} if rest else None
    stored = [(name, c) for name in folder.files(*files) for c in folder.counts(name)]
    words_for = _words_for([c.point.decoder for _, c in stored], folder)
    counts = [
        (name, c)
        for name, c in stored
        if c.shots > c.discards
        and (wanted is None or c.point.p in wanted)
        and words_for[c.point.decoder] in decoders
    ]
    missing = _absent(files, decoders, {words_for[c.point.decoder] for _, c in counts})
    if not counts:
        return missing
    order = {name: number for number, name in enumerate(decoders)}
    counts.sort(key=lambda pair: (pair[1].point.p, order[words_for[pair[1].point.decoder]]))
    networks = {base_name(c.point.decoder) for _, c in counts if c.point.model_hash}
    unnamed = networks - set(folder.names)
    head = ["p", "decoder", "failures / shots", "rate per shot [95 %]", "file"]
    rows = []
    for name, c in counts:
        base = base_name(c.point.decoder)
        apart = f" [{base}]" if base in unnamed and len(unnamed) > 1 else ""
        label = point_label(c.point, folder.names) + apart
        kept = c.shots - c.discards
        rows.append([f"{c.point.p:g}", label, f"{c.errors} / {kept}", str(c.rate), name])
    return "\n".join(
        filter(None, [_table(head, rows), _trained(sorted(networks), folder, models), missing])
    )


def _trained(networks: Sequence[str], folder: ResultsFolder, models: Sequence[ModelFile]) -> str:
    """A line with each network's name in the files, and how long it was trained."""
    budgets = _budgets(folder, models)
    facts = [
        f"{decoder_label(name, names=folder.names)} (`{name}`) for "
        f"{budgets.get(name) or 'an unknown time'}"
        for name in networks
    ]
    return f"Trained: {'; '.join(facts)}.\n" if facts else ""


def times_block(words: str, folder: ResultsFolder) -> str:
    """Times of single shots."""
    files, decoders = ([*part.split()] for part in words.split(";"))
    stored = [(name, one) for name in folder.files(*files) for one in folder.times(name)]
    words_for = _words_for([one.decoder for _, one in stored], folder)
    times = [(name, one) for name, one in stored if words_for[one.decoder] in decoders]
    missing = _absent(files, decoders, {words_for[one.decoder] for _, one in times})
    if not times:
        return missing
    head = ["decoder", "p", "mean", "median", "99 %", "slowest (ms)", "shots", "on", "file"]
    rows = [
        [
            decoder_label(one.decoder, names=folder.names),
            f"{one.p:g}",
            *(f"{x:.3g}" for x in (one.mean_ms, one.median_ms, one.p99_ms, one.slowest_ms)),
            f"{one.calls:,}",
            one.device,
            name,
        ]
        for name, one in times
    ]
    return _table(head, rows) + (f"\n{missing}" if missing else "")


def runs_block(words: str, folder: ResultsFolder) -> str:
    """What training runs counted at their end, on shots of the training seed."""
    counted = {run["run"]: run for run in folder.runs if "evaluation" in run}
    names = [name.strip() for name in words.split(";")]
    missing = [name for name in names if name not in counted]
    rows = [
        [
            run["run"],
            f"{run['samples']:,}",
            f"{run['seconds']:.0f}",
            f"{at['p']:g}",
            f"{at['failures']} / {at['shots']}",
            str(clopper_pearson(at["failures"], at["shots"])),
            RUNS,
        ]
        for run in (counted[name] for name in names if name in counted)
        for at in run["evaluation"]
    ]
    absent = f"Not measured ({RUNS}): {'; '.join(missing)}.\n" if missing else ""
    if not rows:
        return absent
    head = ["run", "samples", "seconds", "p", "failures / shots", "rate per shot [95 %]", "file"]
    return _table(head, rows) + (f"\n{absent}" if absent else "")


def _words_for(decoders: Collection[str], folder: ResultsFolder) -> dict[str, str]:
    """'unmasq,T=6' for 'unmasq-<hash8>,T=6' unless names.json has words; baselines as they are."""
    found = {}
    for decoder in decoders:
        base, comma, way = usual_name(decoder, decoders).partition(",")
        word = folder.names.get(base, NETWORK).replace(" ", "_")
        found[decoder] = f"{word}{comma}{way}" if is_network(decoder) else decoder
    return found


def _absent(files: Sequence[str], decoders: Sequence[str], found: Collection[str]) -> str:
    """A line that names what is not there; '' where all is."""
    names = [decoder_label(name.replace("_", " ")) for name in decoders if name not in found]
    return f"Not measured ({', '.join(files)}): {'; '.join(names)}.\n" if names else ""


def _budgets(folder: ResultsFolder, models: Sequence[ModelFile]) -> dict[str, str]:
    """How long each network was trained, by 'unmasq-<hash8>', where that is known."""
    cards = [{**model.card, "model_hash": model.model_hash} for model in models]
    return {
        f"{NETWORK}-{card['model_hash'][:8]}": budget(card)
        for card in [*folder.runs, *cards]
        if "model_hash" in card
    }


def _verdicts_table(text: str) -> str:
    rows = [[heading, f"**{verdict}**"] for heading, verdict in claims(text).items()]
    return _table(["the paper's claim", "here"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
