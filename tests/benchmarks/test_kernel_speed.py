"""The script that times kernels, without a GPU: errors alone."""

import dataclasses

import pytest

pytest.importorskip("jax.experimental.pallas.triton", exc_type=ImportError)

from kernel_speed import CONFIG, MOST_ERROR, measure

from unmasq.models.kernels import products

TINY = dataclasses.replace(CONFIG, width=64, feedforward=64, message_width=32)


def test_errors_are_measured_against_float32(monkeypatch, capsys):
    monkeypatch.setattr(products, "INTERPRETED", True)
    assert 1e-3 < measure("bb18", 16, "post", TINY, timed=False) < MOST_ERROR
    assert capsys.readouterr().out.count("bb18    16 post") == 2
