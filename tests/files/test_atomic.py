import os
import stat
import threading

import pytest

from unmasq.files.atomic import read_input, require_distinct, write_whole


@pytest.mark.parametrize("content", [b"\x00\xff", "text, ü\n"])
def test_it_writes_bytes_and_text_and_makes_the_folder(tmp_path, content):
    path = tmp_path / "new" / "folder" / "file"
    write_whole(path, content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)


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


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_umask_decides_on_a_new_file_and_an_old_one_keeps_its_mode(tmp_path):
    old = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "1")
    finally:
        os.umask(old)
    assert mode(tmp_path / "new") == 0o640
    (tmp_path / "new").chmod(0o600)
    write_whole(tmp_path / "new", "2")
    assert mode(tmp_path / "new") == 0o600


def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)  # tests may run as root
    with pytest.raises(PermissionError) as error:
        write_whole(path, "new")
    assert error.value.filename == str(path)
    assert path.read_text() == "old"


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_leads_to_its_target(tmp_path, exists):
    target, link = tmp_path / "deep" / "target", tmp_path / "link"
    target.parent.mkdir()
    if exists:
        target.write_text("old")
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"new")
    reader.join(10)
    assert found == [b"new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_stays_a_device():
    write_whole(os.devnull, "gone")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_stdout_is_written_to_at_its_place(name, capfd):
    print("before")
    write_whole(name, "new")
    print("after")
    assert capfd.readouterr().out == "before\nnewafter\n"


def test_errors_name_the_user_s_file(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError) as error:
        write_whole(tmp_path / "file" / "inner", "new")
    assert error.value.filename == str(tmp_path / "file" / "inner")

    def disk_is_full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", disk_is_full)
    with pytest.raises(OSError, match="No space left") as error:
        write_whole(tmp_path / "full", "new")
    assert error.value.filename == str(tmp_path / "full")


def test_long_names_and_folders(tmp_path):
    write_whole(tmp_path / ("n" * 250), "new")
    assert (tmp_path / ("n" * 250)).read_text() == "new"
    with pytest.raises(OSError, match="Is a directory"):
        write_whole(tmp_path, "new")
    assert len(list(tmp_path.iterdir())) == 1


def test_outputs_must_be_distinct(tmp_path):
    path, link = tmp_path / "a", tmp_path / "link"
    path.write_text("")
    os.link(path, link)
    require_distinct({"--in": path}, {"--out": tmp_path / "b", "--more": None})
    require_distinct({"--in": "-"}, {"--out": "-"})  # stdin and stdout
    require_distinct({}, {"--out": os.devnull, "--more": os.devnull})
    for inputs, outputs in [
        ({"--in": path}, {"--out": link}),
        ({"--in": path}, {"--out": tmp_path / "." / "a"}),
        ({}, {"--out": "-", "--more": "/dev/stdout"}),
    ]:
        with pytest.raises(ValueError, match="must not be the file of"):
            require_distinct(inputs, outputs)
    assert read_input(path) == b""


def test_what_a_killed_writer_left_goes_with_the_next_write(tmp_path):
    old, young, other = (
        tmp_path / name for name in (".file.0123456789ab", ".file.ba9876543210", ".files.x")
    )
    for path in (old, young, other):
        path.write_text("half")
        os.utime(path, (0, 0))
    os.utime(young)
    write_whole(tmp_path / "file", "new")
    assert sorted(tmp_path.iterdir()) == sorted([young, other, tmp_path / "file"])
