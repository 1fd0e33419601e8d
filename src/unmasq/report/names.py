"""What people call a decoder and a problem, in figures, tables and the demo.

Result files keep the short names ('bposd-x', 'unmasq-d2922bc1,views=36'): those are what counts.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from unmasq.codes import CATALOGUE, get_code

if TYPE_CHECKING:
    from unmasq.evaluation.counts import Point
    from unmasq.problems.problem import DecodingProblem

_BASELINES = {
    "bposd": "BP-OSD ({checks})",
    "bplsd": "BP-LSD ({checks})",
    "relay": "Relay-BP ({checks}, S = 1)",
    "relay5": "Relay-BP ({checks}, S = 5)",
    "tesseract": "Tesseract ({checks})",
}
_OTHERS = {
    "bp4-osd0": "BP4+OSD-0",
    "bp4-osd10": "BP4+OSD-10",
    "pymatching": "PyMatching",
    "coset8": "most likely coset (weight up to 8)",
}
_WAYS = {
    "T": "T = {}",
    "tau": "τ = {}",
    "views": "{} views",
    "guess": "asked where BP fails",
    "discard": "confidence from {}",
}
NETWORK = "unmasq"  # in a list of decoders: all networks


def decoder_label(
    decoder: str, num_steps: int | None = None, names: Mapping[str, str] | None = None
) -> str:
    """A decoder's name for people; `names` has words for single networks, by 'unmasq-<hash8>'.

    >>> decoder_label("relay5-xz")
    'Relay-BP (XZ, S = 5)'
    >>> decoder_label("bp4-osd10-s0.875")
    'BP4+OSD-10, scaling 0.875'
    >>> decoder_label("unmasq-d2922bc1,views=36", num_steps=12)
    'unmasq, T = 12, 36 views'
    >>> decoder_label("unmasq-1fcfe368", 12, {"unmasq-1fcfe368": "untied"})
    'untied, T = 12'
    """
    names = names or {}
    if decoder in names:
        base, ways = names[decoder], []
    else:
        first, *ways = decoder.split(",")
        base = names.get(first, _baseline_label(first))
    has_steps = any(way.startswith(("T=", "tau=")) for way in ways)
    if is_network(decoder) and num_steps is not None and not has_steps:
        ways = [f"T={num_steps}", *ways]
    return ", ".join([base, *(_way_label(way) for way in ways)])


def point_label(point: "Point", names: Mapping[str, str] | None = None) -> str:
    """What people call the decoder of a count: "one check type" is Z for a Z readout."""
    label = decoder_label(point.decoder, point.num_steps, names)
    reads_z = point.basis == "Z" and point.decoder.endswith("-x")
    return label.replace("(X", "(Z") if reads_z else label


def base_name(decoder: str) -> str:
    """Without the way it is asked: 'unmasq-d2922bc1' of 'unmasq-d2922bc1,views=36'."""
    return decoder.partition(",")[0]


def is_network(decoder: str) -> bool:
    """Whether a name in a result file is that of a diffusion decoder."""
    return base_name(decoder).partition("-")[0] == NETWORK


def usual_name(decoder: str, decoders: Collection[str]) -> str:
    """The name without a guess, of a network that was never asked about every shot in this way.

    Networks that begin with belief propagation are asked so by themselves, and adaptively, after
    all the attempts that they know.

    >>> usual_name("unmasq-1f,tau=4,guess", ["unmasq-1f,tau=4,guess", "bposd-x"])
    'unmasq-1f'
    >>> usual_name("unmasq-1f,T=6,guess", ["unmasq-1f", "unmasq-1f,T=6,guess"])
    'unmasq-1f,T=6'
    >>> usual_name("unmasq-1f,tau=4,guess", ["unmasq-1f", "unmasq-1f,tau=4,guess"])
    'unmasq-1f,tau=4,guess'
    >>> usual_name("unmasq-1f,tau=4,guess", ["unmasq-1f,tau=4,guess", "unmasq-1f,tau=4,guess=9"])
    'unmasq-1f,tau=4,guess'
    """
    if not is_network(decoder) or not _attempts(decoder):
        return decoder
    name = _without_guess(decoder)
    rivals = [other for other in decoders if _attempts(other) and _without_guess(other) == name]
    best = max(map(_attempts, rivals), default=0)
    return decoder if name in decoders or _attempts(decoder) < best else name


def _attempts(decoder: str) -> int:
    """Of belief propagation at a guess; 0 for a network that makes none."""
    words = [way.partition("=") for way in decoder.split(",")[1:]]
    return next((int(number or 1) for word, _, number in words if word == "guess"), 0)


def _without_guess(decoder: str) -> str:
    """Networks that begin with belief propagation are asked adaptively by themselves."""
    base, *ways = decoder.split(",")
    return ",".join([base, *(way for way in ways if not way.startswith(("guess", "tau=")))])


def problem_label(about: "DecodingProblem | Point") -> str:
    """'[[72,12,6]], circuit noise, 6 rounds, basis X': the code by its parameters."""
    from unmasq.problems.problem import DecodingProblem

    if isinstance(about, DecodingProblem):
        name, rounds = about.name, about.num_rounds
    else:
        name, rounds = about.problem, about.rounds
    parts = [code_label(about.code or name), f"{about.noise} noise"]
    if rounds:
        parts.append(f"{rounds} round{'s' if rounds > 1 else ''}")
    if about.basis:
        parts.append("bases X and Z" if about.basis == "XZ" else f"basis {about.basis}")
    return ", ".join(parts)


def code_label(name: str) -> str:
    """'[[72,12,6]]' for 'bb72'; another name as it is."""
    return get_code(name).label if name in CATALOGUE else name


def _baseline_label(name: str) -> str:
    family, _, checks = name.rpartition("-")
    if checks in ("x", "xz") and family in _BASELINES:
        return _BASELINES[family].format(checks=checks.upper())
    if family in _OTHERS and checks.startswith("s"):
        return f"{_OTHERS[family]}, scaling {checks[1:]}"
    return NETWORK if is_network(name) else _OTHERS.get(name, name)


def _way_label(way: str) -> str:
    kind, _, value = way.partition("=")
    if kind == "guess" and value:
        return f"asked where BP fails {value} times"
    return _WAYS[kind].format(value) if kind in _WAYS else way
