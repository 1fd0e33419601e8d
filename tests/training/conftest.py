import pytest

from quick_compilation import quickly_compiled


@pytest.fixture(scope="package", autouse=True)
def quick_compilation(tmp_path_factory):
    """The environment of processes that compile quickly too."""
    with quickly_compiled(tmp_path_factory.mktemp("compiled")) as environment:
        yield environment
