"""The script that times belief propagation, without a GPU: errors alone."""

import pytest

pytest.importorskip("jax.experimental.pallas.triton", exc_type=ImportError)

from bp_kernel_speed import MOST_ERROR, compare, numbered_shots

from unmasq.codes import get_code
from unmasq.models import memory_bp
from unmasq.models.kernels import min_sum, products
from unmasq.problems.building import problem_from_code


@pytest.fixture
def measured(monkeypatch):
    monkeypatch.setattr(products, "INTERPRETED", True)
    monkeypatch.setattr(memory_bp, "serve_beliefs", memory_bp.serve_beliefs)  # the script sets it
    graph, shots = numbered_shots(problem_from_code(get_code("bb18"), "circuit", 0.006, 3), 128)
    return lambda: compare(graph, {0.006: shots}, 128, timed=False)


def test_both_ways_find_the_same(measured, capsys):
    assert measured() < MOST_ERROR
    lines = [line for line in capsys.readouterr().out.splitlines() if "solved" in line]
    assert len(lines) == 2
    assert all("otherwise than XLA 0" in line for line in lines)


def test_a_wrong_kernel_is_seen(measured, monkeypatch):
    monkeypatch.setattr(min_sum, "CLIP", 2.0)
    assert measured() > MOST_ERROR
