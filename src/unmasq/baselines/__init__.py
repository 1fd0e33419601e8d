"""Other people's decoders behind the `Decoder` protocol, by the name the result files use.

| name | decoder |
| --- | --- |
| bposd-x, bposd-xz | min-sum BP + OSD (combination sweep of order 3) |
| bplsd-x, bplsd-xz | the same with localised statistics |
| relay-x, relay-xz | Relay-BP that stops at the first solution (S = 1) |
| relay5-x, relay5-xz | Relay-BP that takes the best of five (S = 5) |
| tesseract-x, tesseract-xz | Tesseract, short beam |
| pymatching | minimum-weight perfect matching, where faults are made of edges |
| bp4-osd0, bp4-osd10 | quaternary min-sum BP + OSD of order 0 or 10, code capacity only |
| bp4-osd10-s0.875 | the same with min-sum scaling 0.875 (or another in (0, 1]) instead of 0.5 |
| coset8 | most likely coset by errors of weight up to 8, small codes and code capacity only |

A name ending in -x reads one check type, the one that sees what flips the logicals; -xz reads both.
Nothing heavy is imported before a decoder is made.
"""

import re
from collections.abc import Callable

from unmasq.baselines.adapter import MissingExtraError
from unmasq.decoding.decoder import Decoder
from unmasq.problems.problem import DecodingProblem
from unmasq.suggest import nearest

__all__ = ["MissingExtraError", "baseline_names", "is_baseline", "make_baseline"]


def baseline_names() -> tuple[str, ...]:
    """All names that `make_baseline` knows, whether or not their package is installed.

    >>> "bposd-x" in baseline_names()
    True
    """
    return tuple(_MAKERS)


def is_baseline(name: str) -> bool:
    """Whether `make_baseline` knows the name: it also knows other scalings than those listed.

    >>> [is_baseline(f"bp4-osd10-s{scaling}") for scaling in ("0.9", "0.90", "0.5")]
    [True, False, False]
    """
    return name in _MAKERS or _SCALED.fullmatch(name) is not None


def make_baseline(name: str, problem: DecodingProblem) -> Decoder:
    """The baseline of that name, set up for the problem.

    Raises `MissingExtraError`, which is a ValueError too, where its package is not installed,
    and ValueError for an unknown name or a problem it cannot decode.
    """
    if not is_baseline(name):
        raise ValueError(
            f"name must be one of {', '.join(_MAKERS)}: got {name!r}.{nearest(name, list(_MAKERS))}"
        )
    return _MAKERS.get(name, _bp4)(name, problem)


def _bposd(name: str, problem: DecodingProblem) -> Decoder:
    from unmasq.baselines.bposd import BpOsd

    return BpOsd(problem, name, _detectors(name), localised=name.startswith("bplsd"))


def _relay(name: str, problem: DecodingProblem) -> Decoder:
    from unmasq.baselines.relay import Relay

    num_solutions = 5 if name.startswith("relay5") else 1
    return Relay(problem, name, _detectors(name), num_solutions)


def _tesseract(name: str, problem: DecodingProblem) -> Decoder:
    from unmasq.baselines.tesseract import Tesseract

    return Tesseract(problem, name, _detectors(name))


def _matching(name: str, problem: DecodingProblem) -> Decoder:
    from unmasq.baselines.matching import Matching

    return Matching(problem, name)


def _bp4(name: str, problem: DecodingProblem) -> Decoder:
    from unmasq.baselines.bp4 import QuaternaryBpOsd

    order, _, scaling = name.removeprefix("bp4-osd").partition("-s")
    if not scaling:
        return QuaternaryBpOsd(problem, name, osd_order=int(order))
    return QuaternaryBpOsd(problem, name, osd_order=int(order), scaling=float(scaling))


def _coset(name: str, problem: DecodingProblem) -> Decoder:
    from unmasq.baselines.cosets import LikeliestCoset

    return LikeliestCoset(problem, name, max_weight=int(name.removeprefix("coset")))


# One name for one decoder, since counts are found by it: no zeros at the end, and 0.5 goes without.
_SCALED = re.compile(r"bp4-osd(?:0|10)-s(?!0\.5$)(?:1|0\.\d*[1-9])")


def _detectors(name: str) -> str:
    return name.rpartition("-")[2]


_MAKERS: dict[str, Callable[[str, DecodingProblem], Decoder]] = {
    "bposd-x": _bposd,
    "bposd-xz": _bposd,
    "bplsd-x": _bposd,
    "bplsd-xz": _bposd,
    "relay-x": _relay,
    "relay-xz": _relay,
    "relay5-x": _relay,
    "relay5-xz": _relay,
    "tesseract-x": _tesseract,
    "tesseract-xz": _tesseract,
    "pymatching": _matching,
    "bp4-osd0": _bp4,
    "bp4-osd10": _bp4,
    "bp4-osd10-s0.875": _bp4,
    "coset8": _coset,
}
