"""The script that times kernels, without a GPU: errors alone."""

import pytest

pytest.importorskip("jax.experimental.pallas.triton", exc_type=ImportError)

from kernel_speed import MOST_ERROR, measure

from unmasq.models.kernels import products


def test_errors_are_measured_against_float32(monkeypatch, capsys):
    monkeypatch.setattr(products, "INTERPRETED", True)
    assert 1e-3 < measure("bb18", 128, "post", timed=False) < MOST_ERROR
    assert capsys.readouterr().out.count("bb18   128 post") == 2


def test_a_wrong_kernel_is_seen(monkeypatch):
    monkeypatch.setattr(products, "INTERPRETED", True)
    monkeypatch.setattr(products, "gelu", lambda x: x)
    assert measure("bb18", 128, "pre", timed=False) > MOST_ERROR
