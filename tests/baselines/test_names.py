"""Baselines by name: the list, wrong names, missing packages, and what importing them costs."""

import subprocess
import sys

import pytest

from baselines.small_problems import repetition_problem
from unmasq.baselines import MissingExtraError, baseline_names, is_baseline, make_baseline


def test_the_names_are_those_of_the_result_files():
    assert " ".join(baseline_names()) == (
        "bposd-x bposd-xz bplsd-x bplsd-xz relay-x relay-xz relay5-x relay5-xz "
        "tesseract-x tesseract-xz pymatching bp4-osd0 bp4-osd10 bp4-osd10-s0.875 coset8"
    )


def test_a_scaling_has_one_spelling():
    assert all(is_baseline(f"bp4-osd{end}") for end in ("10-s0.625", "10-s1", "0-s0.8", "10"))
    wrong = ("10-s0.5", "10-s0.750", "10-s1.0", "10-s1.5", "10-s0", "10-s", "10-s-1", "5-s0.75")
    assert not any(is_baseline(f"bp4-osd{end}") for end in wrong)


def test_an_unknown_name_brings_the_nearest():
    with pytest.raises(ValueError, match=r"got 'bpsod-xz'\. Did you mean bposd-xz\?"):
        make_baseline("bpsod-xz", repetition_problem([0.1, 0.1]))


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [
        ("relay-xz", "relay_bp", "relay-bp"),
        ("tesseract-xz", "tesseract_decoder", "tesseract-decoder"),
        ("pymatching", "pymatching", "pymatching"),
    ],
)
def test_a_missing_package_is_one_line_that_names_the_extra(monkeypatch, name, module, package):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError) as caught:
        make_baseline(name, repetition_problem([0.1, 0.1]))
    message = str(caught.value)
    assert package in message
    assert message.endswith("pip install 'unmasq[baselines]'.")
    assert "\n" not in message
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value, ValueError)


def test_importing_the_names_loads_no_decoder():
    code = (
        "import sys, unmasq.baselines; "
        "print([m for m in ('jax', 'ldpc', 'stim', 'relay_bp', 'tesseract_decoder') "
        "if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_an_unknown_basis_leaves_only_the_decoders_that_read_everything():
    """On a circuit of one's own '-x' would be '-xz' by another name."""
    problem = repetition_problem([0.1, 0.1])
    assert problem.basis == "?"
    assert make_baseline("bposd-xz", problem).num_detectors == 1
    with pytest.raises(ValueError, match=r"the basis of 'matrices' is not known. Use the '-xz'"):
        make_baseline("bposd-x", problem)
