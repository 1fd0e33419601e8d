"""Decoders have names that people use, and one look each in all figures."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from unmasq.baselines import baseline_names
from unmasq.codes import get_code
from unmasq.evaluation.counts import Point
from unmasq.problems.building import problem_from_code
from unmasq.report.names import decoder_label, is_network, point_label, problem_label
from unmasq.report.styles import decoder_styles, series_styles

WAYS = ["unmasq-01", "unmasq-01,views=36", "unmasq-01,tau=4", "unmasq-01,tau=4,guess"]


def look(style) -> tuple:
    return style["color"], style["marker"], style["linestyle"]


def test_every_baseline_has_a_name_of_its_own():
    labels = [decoder_label(name) for name in baseline_names()]
    assert len({*labels, *baseline_names()}) == 2 * len(labels)


@pytest.mark.parametrize(
    ("decoder", "num_steps", "label"),
    [
        ("bposd-x", None, "BP-OSD (X)"),
        ("relay5-xz", None, "Relay-BP (XZ, S = 5)"),
        ("unmasq-d2922bc1", 12, "unmasq, T = 12"),
        ("unmasq-d2922bc1,T=3", 3, "unmasq, T = 3"),
        ("unmasq-d2922bc1,tau=4,guess", None, "unmasq, τ = 4, asked where BP fails"),
        ("unmasq-d2922bc1,discard=0.9", 12, "unmasq, T = 12, confidence from 0.9"),
        ("pymatching", None, "PyMatching"),
        ("foreign", None, "foreign"),
        ("unmasq-d2922bc1,new=1", None, "unmasq, new=1"),
    ],
)
def test_labels_say_how_the_network_was_asked(decoder, num_steps, label):
    assert decoder_label(decoder, num_steps) == label


@pytest.mark.parametrize(
    ("decoder", "basis", "label"),
    [
        ("bposd-x", "X", "BP-OSD (X)"),
        ("bposd-x", "Z", "BP-OSD (Z)"),
        ("relay5-x", "Z", "Relay-BP (Z, S = 5)"),
        ("relay-xz", "Z", "Relay-BP (XZ, S = 1)"),
    ],
)
def test_one_check_type_is_that_of_the_readout(decoder, basis, label):
    point = Point(decoder, "bb18", 0.01, 4, 4, basis, "circuit", "5eed", "f00d")
    assert point_label(point) == label


@pytest.mark.parametrize(
    ("code", "name", "noise", "rounds", "basis", "label"),
    [
        ("bb72", "bb72", "circuit", 6, "X", "[[72,12,6]], circuit noise, 6 rounds, basis X"),
        (
            "bb18",
            "mine",
            "code-capacity",
            0,
            "XZ",
            "[[18,4,4]], code-capacity noise, bases X and Z",
        ),
        (None, "mine", "circuit", 1, "Z", "mine, circuit noise, 1 round, basis Z"),
    ],
)
def test_problems_have_their_codes_parameters_or_their_own_name(
    code, name, noise, rounds, basis, label
):
    point = Point("bposd-x", name, 0.01, 4, rounds, basis, noise, "5eed", "f00d", code=code)
    assert problem_label(point) == label


def test_a_problem_and_its_points_have_one_label():
    problem = problem_from_code(get_code("bb18"), "code-capacity", 0.05)
    assert problem_label(problem) == problem_label(Point.of("bposd-x", problem))


def test_baselines_are_no_networks():
    assert not is_network("pymatching")


def test_a_decoder_looks_alike_in_every_figure():
    everything = decoder_styles([*baseline_names(), *WAYS])
    for name in everything:
        assert look(decoder_styles(["unmasq-01", name])[name]) == look(everything[name])
    shown = decoder_styles(["bposd-x", "unmasq-77,T=3"])  # as in the demo
    assert look(shown["unmasq-77,T=3"]) == look(everything["unmasq-01"])


def test_no_two_decoders_look_alike_even_in_grey():
    styles = decoder_styles([*baseline_names(), *WAYS, "unmasq-02", "unmasq-01,T=3"])
    assert len({look(style) for style in styles.values()}) == len(styles)
    assert len({look(style)[1:] for style in styles.values()}) > len(styles) - 3
    beside = ["unmasq-01", "unmasq-01,views=36", "bposd-x", "relay-xz", "bp4-osd10"]
    grey = sorted(np.dot(to_rgb(styles[name]["color"]), [0.299, 0.587, 0.114]) for name in beside)
    assert min(b - a for a, b in itertools.pairwise(grey)) > 0.02


def test_named_networks_take_their_looks_from_the_order_of_their_names():
    names = {"unmasq-0a": "tied", "unmasq-0b": "untied"}
    both = decoder_styles(["unmasq-0a", "unmasq-0b", "unmasq-0b,T=1"], names)
    assert look(decoder_styles(["unmasq-0b"], names)["unmasq-0b"]) == look(both["unmasq-0b"])
    assert len({look(style) for style in both.values()}) == 3
    assert both["unmasq-0b"]["color"] == both["unmasq-0b,T=1"]["color"]


def test_lines_of_one_network_begin_with_its_look():
    first, second, *_ = itertools.islice(series_styles(), 9)
    assert look(first) == look(decoder_styles(["unmasq-01"])["unmasq-01"])
    assert look(second) != look(first)
