"""How belief propagation goes through a batch: each way, on the CPU that runs the tests."""

import jax
import pytest


@pytest.fixture
def as_on_an_accelerator(monkeypatch):
    """What is traced from here on is traced as for a GPU."""
    monkeypatch.setattr(
        jax.lax, "platform_dependent", lambda *arrays, cpu, default: default(*arrays)
    )


@pytest.fixture(params=["cpu", "accelerator"])
def way(request):
    if request.param == "accelerator":
        request.getfixturevalue("as_on_an_accelerator")
    return request.param
