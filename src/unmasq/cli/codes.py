"""`unmasq codes`: the catalogue."""

import json
from typing import Any

from unmasq.cli.options import JsonOutput


def codes(
    json_output: JsonOutput = False,
) -> None:
    """List the codes that unmasq knows by name."""
    from unmasq.codes import FAMILIES, code_names

    records = [_record(name) for name in code_names()]
    if json_output:
        print(json.dumps(records))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("name", "[[n,k,d]]", "l", "m", "A", "B", "checks", "logical weights"):
        table.add_column(escape(heading), no_wrap=True)
    for r in records:
        table.add_row(
            r["name"],
            escape(f"[[{r['n']},{r['k']},{r['d']}]]"),
            *(str(r[key]) for key in ("l", "m", "A", "B", "checks")),
            _counted(r["logical_weights"]),
        )
    Console().print(table)
    print("Bivariate bicycle codes, H_X = [A|B], H_Z = [Bᵀ|Aᵀ] on an l × m torus.")
    print("Any other one, with any number of terms: bb:l,m,A,B, such as bb:6,6,x3+y+y2,y3+x+x2.")
    print(f"Other families: {'; '.join(FAMILIES.values())}.")
    print("Your own: unmasq problem --checks-x HX.npy --checks-z HZ.npy, or --circuit F.stim.")


def _record(name: str) -> dict[str, Any]:
    from unmasq.codes import CATALOGUE, get_code

    entry, code = CATALOGUE[name], get_code(name)
    return {
        "name": name,
        "n": code.n,
        "k": code.k,
        "d": code.distance,
        "l": entry.l,
        "m": entry.m,
        "A": entry.a,
        "B": entry.b,
        "checks": code.num_checks,
        "logical_weights": code.logicals_x.sum(axis=1).tolist(),
    }


def _counted(weights: list[int]) -> str:
    """'12 × 6' for twelve operators of weight 6."""
    return " + ".join(f"{weights.count(weight)} × {weight}" for weight in sorted(set(weights)))
