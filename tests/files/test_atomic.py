import os
import stat

import pytest

from unmasq.files.atomic import write_whole


@pytest.mark.parametrize("content", [b"\x00\xff", "text, ü\n"])
def test_it_writes_bytes_and_text_and_makes_the_folder(tmp_path, content):
    path = tmp_path / "new" / "folder" / "file"
    write_whole(path, content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "file"
    write_whole(path, "old")

    def disk_is_full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, disk_is_full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_is_on_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    steps = []
    monkeypatch.setattr(os, "fsync", lambda _: steps.append("fsync"))
    rename = os.replace
    monkeypatch.setattr(os, "replace", lambda *paths: (steps.append("replace"), rename(*paths)))
    write_whole(tmp_path / "file", "new")
    assert steps == ["fsync", "replace"]
