import json

import pytest

from command_line import run
from unmasq.codes import get_code


def test_the_table_holds_every_code(capsys):
    code, out, _ = run(capsys, "codes")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert ["bb72", "[[72,12,6]]", "6", "6", "x3+y+y2", "y3+x+x2", "72", "12", "×", "6"] in lines
    assert ["bb108", "[[108,8,10]]", "9", "6"] in [line[:4] for line in lines]
    assert "4 × 10 + 4 × 12" in out
    assert "…" not in out  # nothing is cut off in 80 columns


def test_records(capsys):
    code, out, _ = run(capsys, "codes", "--json")
    assert code == 0
    records = {record["name"]: record for record in json.loads(out)}
    assert list(records) == ["bb18", "bb36", "bb72", "bb90", "bb108", "bb144", "bb288"]
    assert records["bb144"] == {
        "name": "bb144",
        "n": 144,
        "k": 12,
        "d": 12,
        "l": 12,
        "m": 6,
        "A": "x3+y+y2",
        "B": "y3+x+x2",
        "checks": 144,
        "logical_weights": [12] * 12,
    }


@pytest.mark.parametrize("name", ["bb18", "bb90"])
def test_a_record_builds_its_code(capsys, name):
    record = next(r for r in json.loads(run(capsys, "codes", "--json")[1]) if r["name"] == name)
    again = get_code("bb:{l},{m},{A},{B}".format(**record))
    assert (again.n, again.k) == (record["n"], record["k"])
