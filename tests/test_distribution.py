"""The wheel and the sdist are fit to publish: complete, described, and enough to decode with."""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata

import unmasq

ROOT = Path(__file__).parents[1]
DECODE = """
import unmasq
from unmasq.shots.reader import ShotReader

problem = unmasq.problem_from_code(unmasq.get_code("bb72"), "code-capacity", p=0.01)
syndromes, logicals = ShotReader(problem, 0).read(0, 64)
decoder = unmasq.load("bb72-capacity").with_steps(1)
print(unmasq.__file__, (decoder.decode_batch(syndromes) != logicals).any(axis=1).sum())
"""


def built(folder: Path, source: Path, *kinds: str) -> None:
    """Builds with what is installed: nothing is downloaded."""
    words = [word for kind in kinds for word in ("-t", kind)]
    result = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder), *words],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> Path:
    """A folder with the wheel and the sdist of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    built(folder, ROOT, "wheel", "sdist")
    return folder


@pytest.fixture(scope="module")
def wheel(dist) -> Path:
    (path,) = dist.glob("*.whl")
    return path


def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_holds_every_file_of_the_package(wheel):
    files = (path for path in (ROOT / "src" / "unmasq").rglob("*") if path.is_file())
    there = {path.relative_to(ROOT / "src").as_posix() for path in files}
    there = {name for name in there if "__pycache__" not in name}
    assert "unmasq/weights/bb72-circuit.safetensors" in there
    packed = {name for name in names(wheel) if not name.split("/")[0].endswith(".dist-info")}
    assert packed == there


def test_the_metadata_is_complete(wheel):
    archive = zipfile.ZipFile(wheel)
    (path,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = Metadata.from_email(archive.read(path), validate=True)
    assert (metadata.name, str(metadata.version)) == ("unmasq", unmasq.__version__)
    assert metadata.description_content_type == "text/markdown"
    assert metadata.description == (ROOT / "README.md").read_text(encoding="utf-8")
    assert metadata.license_expression == "Apache-2.0"
    for field in (metadata.summary, metadata.keywords, metadata.classifiers, metadata.project_urls):
        assert field
    assert {"cuda", "baselines", "cluster", "dev"} <= set(metadata.provides_extra)
    entries = archive.read(path.replace("METADATA", "entry_points.txt")).decode()
    assert "unmasq = unmasq.cli:main" in entries


def test_the_sdist_builds_the_same_wheel(dist, wheel, tmp_path):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    for needed in ("LICENSE", "CHANGELOG.md", "Makefile", "tests", "results", "docs", "tools"):
        assert (source / needed).exists()
    built(tmp_path / "again", source, "wheel")
    assert names(tmp_path / "again" / wheel.name) == names(wheel)


@pytest.mark.slow
def test_the_installed_wheel_decodes_with_the_shipped_weights(wheel, tmp_path):
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(site), str(wheel)], check=True)
    environment = {"PYTHONPATH": str(site), "PATH": "", "JAX_PLATFORMS": "cpu"}
    # Everything but unmasq is the test environment's own; in an empty folder, so nothing else is.
    result = subprocess.run(
        [sys.executable, "-c", DECODE],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    where, failures = result.stdout.split()
    assert Path(where).is_relative_to(site)
    assert int(failures) <= 3  # of 64, at a rate of 1e-4
    script = subprocess.run(
        [sys.executable, site / "bin" / "unmasq", "--version"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert script.stdout == f"unmasq {unmasq.__version__}\n"


def test_changelog_and_citation_name_the_version():
    newest = re.search(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert newest[1] == cited[1] == unmasq.__version__
