import pytest

from unmasq.suggest import nearest

NAMES = ["bb18", "bb72", "bb144", "bposd-x", "relay-xz"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("bb27", "bb72"), ("BB144", "bb144"), ("bpsod-x", "bposd-x"), ("relayxz", "relay-xz")],
)
def test_a_slip_finds_its_name(name, meant):
    assert nearest(name, NAMES) == f" Did you mean {meant}?"


def test_the_suggestion_keeps_its_own_spelling():
    assert nearest("bicyclecode", ["BicycleCode"]) == " Did you mean BicycleCode?"


@pytest.mark.parametrize("name", ["", "surface", "steane"])
def test_nothing_close_suggests_nothing(name):
    assert nearest(name, NAMES) == ""


def test_no_names_suggest_nothing():
    assert nearest("bb72", []) == ""


def test_any_iterable_of_names_will_do():
    assert nearest("bb27", (name for name in NAMES)) == " Did you mean bb72?"
