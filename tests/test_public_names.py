"""What `import unmasq` offers: each name loads, has an example, and is listed."""

import inspect

import pytest

import unmasq


@pytest.mark.parametrize("name", unmasq.__all__)
def test_public_name_loads(name):
    assert getattr(unmasq, name).__name__ == name


@pytest.mark.parametrize("name", unmasq.__all__)
def test_public_name_has_an_example(name):
    """Which runs as a doctest."""
    assert ">>> " in inspect.getdoc(getattr(unmasq, name))


def test_every_lazy_name_is_listed():
    assert set(unmasq._HOME) == set(unmasq.__all__) <= set(dir(unmasq))


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(AttributeError, match="no name 'get_cod'. Did you mean get_code?"):
        unmasq.get_cod  # noqa: B018
