"""What is kept of compiled functions from run to run."""

import os

import quick_compilation


def test_new_files_are_kept_and_the_oldest_go(tmp_path, monkeypatch):
    monkeypatch.setattr(quick_compilation, "_MAX_KEPT", 25)
    own, kept = tmp_path / "own", tmp_path / "kept"
    for folder in (own, kept):
        folder.mkdir()
    for age, name in enumerate(("new-cache", "old-cache", "older-cache")):
        (kept / name).write_bytes(bytes(10))
        os.utime(kept / name, (1000 - age, 1000 - age))
    (own / "new-cache").symlink_to(kept / "new-cache")
    (own / "newest-cache").write_bytes(bytes(8))
    quick_compilation._keep(own, kept)
    assert {path.name: path.stat().st_size for path in kept.iterdir()} == {
        "newest-cache": 8,
        "new-cache": 10,
    }
    assert (kept / "new-cache").stat().st_mtime == 1000  # it was there: not written again
    assert not any(path.is_symlink() for path in kept.iterdir())
