"""Imports of unmasq point one way, and the rules that say so can fail."""

from pathlib import Path

import pytest

from import_rules import MAX_LINES, violations

SOURCE = Path(__file__).parents[1] / "src" / "unmasq"


def test_unmasq_keeps_the_rules():
    assert SOURCE.is_dir()
    assert violations(SOURCE) == []


@pytest.fixture
def broken_rules(tmp_path):
    """Writes a made-up package from {path: text} and returns its broken rules."""

    def write(files: dict[str, str]) -> list[str]:
        for name, text in {"__init__.py": "", **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return violations(tmp_path)

    return write


def test_imports_that_point_up_are_fine(broken_rules):
    files = {
        "suggest.py": "import numpy",
        "codes/__init__.py": "from unmasq.codes.css import CSSCode",
        "codes/css.py": "from unmasq.codes.gf2 import rank\nfrom . import logicals",
        "codes/logicals.py": "from ..suggest import nearest",
        "circuits/memory.py": "import stim\nfrom unmasq.codes import CSSCode",
        "cli/main.py": "import unmasq\nfrom unmasq import training",
    }
    assert broken_rules(files) == []


@pytest.mark.parametrize(
    "statement",
    [
        "import unmasq.codes.css",
        "from unmasq.codes.css import CSSCode",
        "from unmasq.codes import css",
        "from unmasq import codes",
        "from .codes import css",
        "from . import codes",
        "def f():\n    from unmasq.codes import css",
        "if TYPE_CHECKING:\n    from unmasq.codes import css",
        "try:\n    pass\nexcept ImportError:\n    from unmasq.codes import css",
        "class A:\n    def f(self):\n        with x:\n            import unmasq.codes",
    ],
)
def test_an_import_that_points_down_is_found_in_every_form(broken_rules, statement):
    files = {"suggest.py": statement, "codes/__init__.py": "", "codes/css.py": ""}
    (found,) = broken_rules(files)
    assert found.startswith("suggest.py:")
    assert found.endswith("'suggest' must not import 'codes', which comes after it")


def test_a_stage_must_not_go_through_the_root(broken_rules):
    (found,) = broken_rules({"suggest.py": "from unmasq import get_code"})
    assert found == "suggest.py:1: 'suggest' must import the module itself, not through unmasq"


@pytest.mark.parametrize("stage", ["report"])
def test_training_stays_out_of_what_comes_after_it(broken_rules, stage):
    files = {
        "training/config.py": "",
        f"{stage}/a.py": "def f():\n    from unmasq.training.config import TrainConfig",
    }
    assert broken_rules(files) == [f"{stage}/a.py:2: '{stage}' must never import training"]


@pytest.mark.parametrize("path", ["models/a.py", "training/a.py", "shots/a.py"])
@pytest.mark.parametrize("package", ["stim", "sinter", "ldpc"])
def test_training_needs_no_stim_even_inside_a_function(broken_rules, path, package):
    (found,) = broken_rules({path: f"def f():\n    import {package}"})
    assert found.startswith(f"{path}:2: ")
    assert found.endswith(f"must run without {package}")


@pytest.mark.parametrize("path", ["files/a.py", "problems/a.py"])
def test_files_and_problems_need_no_jax(broken_rules, path):
    (found,) = broken_rules({path: "def f():\n    import jax.numpy as jnp"})
    assert found.endswith("must run without jax.numpy")


def test_training_needs_no_stim_through_another_module(broken_rules):
    files = {
        "circuits/__init__.py": "from unmasq.circuits.memory import f",
        "circuits/memory.py": "import stim",
        "circuits/noise.py": "",
        "problems/problem.py": "from unmasq.circuits.noise import NoiseModel",
        "shots/sampling.py": "from unmasq.problems.problem import DecodingProblem",
    }
    assert broken_rules(files) == [
        "shots/sampling.py: loads unmasq.circuits.memory, which loads stim"
    ]


@pytest.mark.parametrize(
    "lazily", ["def f():\n    import stim", "if TYPE_CHECKING:\n    import stim"]
)
def test_a_late_import_of_stim_elsewhere_is_fine(broken_rules, lazily):
    files = {
        "problems/problem.py": lazily,
        "shots/sampling.py": "from unmasq.problems.problem import DecodingProblem",
    }
    assert broken_rules(files) == []


def test_long_files_are_refused(broken_rules):
    assert broken_rules({"suggest.py": "x = 1\n" * MAX_LINES}) == []
    (found,) = broken_rules({"suggest.py": "x = 1\n" * (MAX_LINES + 1)})
    assert "split the file" in found


@pytest.mark.parametrize("path", ["codes/utils.py", "codes/common.py", "codes/helpers/a.py"])
def test_names_that_say_nothing_are_refused(broken_rules, path):
    (found,) = broken_rules({path: ""})
    assert "name the thing" in found


def test_a_module_without_a_place_in_the_order_is_refused(broken_rules):
    assert broken_rules({"surprise.py": ""}) == [
        "surprise.py: 'surprise' has no place in ORDER: give it one"
    ]
