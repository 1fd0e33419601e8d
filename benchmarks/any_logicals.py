"""The problem of a code whose logicals are those that elimination finds, light or not.

    python benchmarks/any_logicals.py bb36 --rounds 4 --p 0.006 --out bb36-any

Writes the problem file of the code's memory experiment with them, and one with the catalogue's,
which are of least weight; both without the symmetry, which the former do not have. Prints how heavy
the two bases are. Networks trained on either say what the choice of logicals is worth.
"""

import argparse
import dataclasses
import sys
from pathlib import Path

from unmasq import problem_from_code
from unmasq.codes import get_code
from unmasq.codes.css import CSSCode
from unmasq.codes.logicals import independent_logicals
from unmasq.problems.problem_file import save_problem


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("code")
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--p", type=float, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, code in codes(get_code(arguments.code)).items():
        problem = problem_from_code(code, "circuit", arguments.p, arguments.rounds, "X")
        save_problem(problem, arguments.out / f"{name}.safetensors")
        print(f"{name}: weights {sorted(code.logicals_x.sum(axis=1).tolist())}")


def codes(light: CSSCode) -> dict[str, CSSCode]:
    """The code with either basis of X logicals, and no symmetry."""
    light = dataclasses.replace(light, symmetries={})
    found = independent_logicals(light.checks_x, light.checks_z)
    return {"light": light, "any": dataclasses.replace(light, logicals_x=found)}


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
