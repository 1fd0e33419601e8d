"""Checkpoints: whole or refused, exact, below the shard size."""

import errno
import json

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unmasq.training import checkpoint
from unmasq.training.checkpoint import (
    BrokenCheckpointError,
    delete_checkpoint,
    load_checkpoint,
    save_checkpoint,
)

SHARD = 16384

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(name) for name in ("f4", "f2", "f8", "i4", "i8", "u1", "u4", "?")]
dtypes = st.sampled_from(DTYPES)
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=40)
names = st.from_regex(r"[a-z]+(\.[a-z0-9]+){0,4}", fullmatch=True)
trees = st.dictionaries(names, st.tuples(dtypes, shapes, st.integers(0, 2**32 - 1)), max_size=6)


def filled(dtype, shape, seed):
    return np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()


@given(trees)
def test_arrays_of_any_kind_come_back_exactly(tmp_path_factory, tree):
    folder = tmp_path_factory.mktemp("checkpoint")
    arrays = {name: filled(*entry) for name, entry in tree.items()}
    manifest = save_checkpoint(folder, "x", arrays, {"step": 3, "seconds": 0.1}, SHARD)
    found, header = load_checkpoint(manifest)
    assert_equal(found, arrays)
    assert (header["step"], header["seconds"]) == (3, 0.1)
    assert all(file.stat().st_size <= SHARD for file in folder.glob("*.safetensors"))


@pytest.mark.parametrize(
    "array",
    [
        np.array(-0.0, np.float32),
        np.array(np.nan, np.float32),
        np.arange(5, dtype=BFLOAT16),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(12, dtype=np.int32).reshape(3, 4)[:, ::2],
        np.arange(3 * SHARD, dtype=np.float32).reshape(3, 128, 128),
        np.arange(SHARD, dtype=BFLOAT16).reshape(2, -1).T,
    ],
    ids=["negative zero", "nan", "bfloat16", "fortran", "strided", "large", "large transposed"],
)
def test_special_arrays_come_back_exactly(tmp_path, array):
    found, _ = load_checkpoint(save_checkpoint(tmp_path, "x", {"a": array}, {}, SHARD))
    assert_equal(found, {"a": array})


def test_files_stay_below_the_shard_size(tmp_path):
    sizes = [10, 5000, 3000, 20000, 900, 900, 2 * SHARD]
    arrays = {f"array-{i}": np.zeros(size, np.uint8) for i, size in enumerate(sizes)}
    save_checkpoint(tmp_path, "x", arrays, {}, SHARD)
    files = [file.stat().st_size for file in tmp_path.glob("x-*.safetensors")]
    assert len(files) >= sum(sizes) / SHARD
    assert max(files) <= SHARD
    with pytest.raises(ValueError, match="shard_bytes must be at least 8192: got 100"):
        save_checkpoint(tmp_path, "x", arrays, {}, 100)


@pytest.fixture
def saved(tmp_path):
    arrays = {"a": np.arange(5000.0), "b": np.array(3, np.float32), "c": np.arange(4)}
    return save_checkpoint(tmp_path, "x", arrays, {"step": 7}, SHARD)


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("harm", [cut, flip, lambda path: path.unlink()])
@pytest.mark.parametrize("file", ["x.json", "x-0.safetensors", "x-1.safetensors"])
def test_a_harmed_checkpoint_is_refused(saved, harm, file):
    load_checkpoint(saved)
    harm(saved.parent / file)
    with pytest.raises(BrokenCheckpointError, match=r"x\.json must be a whole checkpoint: "):
        load_checkpoint(saved)


def test_a_digest_of_nothing_is_refused(saved):
    manifest = json.loads(saved.read_bytes())
    saved.write_text(json.dumps({**manifest, "digest": None}))
    with pytest.raises(BrokenCheckpointError, match="the manifest was altered"):
        load_checkpoint(saved)


def test_an_altered_manifest_is_refused(saved):
    saved.write_text(saved.read_text().replace('"step": 7', '"step": 8'))
    with pytest.raises(BrokenCheckpointError, match="the manifest was altered"):
        load_checkpoint(saved)


@pytest.mark.parametrize("text", ["", "[]", "5", "{}", '{"shards": 5}', '{"shards": {"y": ""}}'])
def test_a_foreign_manifest_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(BrokenCheckpointError):
        load_checkpoint(tmp_path / "x.json")


def test_manifests_without_a_digest_are_still_read(saved):
    manifest = json.loads(saved.read_bytes())
    del manifest["digest"], manifest["cut"]["a"]  # as the first version wrote them
    saved.write_text(json.dumps(manifest))
    arrays, header = load_checkpoint(saved)
    assert header["step"] == 7
    assert arrays["c"].tolist() == [0, 1, 2, 3]


class Killed(BaseException):
    """Nothing catches it, as nothing catches SIGKILL."""


def fail_at(monkeypatch, number, error):
    """The write of file `number` fails; with `Killed` it leaves a temporary file behind."""
    write, count = checkpoint.write_whole, iter(range(10**6))

    def failing(path, content):
        if next(count) == number:
            if isinstance(error, Killed):
                (path.parent / f".{path.name}.half").write_text("half")
            raise error
        write(path, content)

    monkeypatch.setattr(checkpoint, "write_whole", failing)


@pytest.mark.parametrize("number", range(7))
def test_a_new_checkpoint_replaces_an_old_one_as_a_whole(tmp_path, monkeypatch, number):
    """Killed at any write, the folder holds the old arrays or the new ones."""
    old, new = ({"a": np.full(5000, value), "b": np.array(value)} for value in (1.0, 2.0))
    manifest = save_checkpoint(tmp_path, "slim", old, {}, SHARD, "slim-1")
    fail_at(monkeypatch, number, Killed())
    try:
        save_checkpoint(tmp_path, "slim", new, {}, SHARD, "slim-2")
    except Killed:
        expected = old
    else:
        expected = new
        assert number > len(list(tmp_path.glob("slim-2*")))  # behind all shards and the manifest
        assert not list(tmp_path.glob("slim-1*"))
    assert_equal(load_checkpoint(manifest)[0], expected)


def test_a_full_disk_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    old = {"a": np.arange(5000.0)}
    manifest = save_checkpoint(tmp_path, "step-1", old, {}, SHARD)
    fail_at(monkeypatch, 1, OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(tmp_path, "step-2", old, {}, SHARD)
    assert_equal(load_checkpoint(manifest)[0], old)
    assert not (tmp_path / "step-2.json").exists()


def test_deleting_takes_one_checkpoint_and_its_manifest_first(tmp_path, monkeypatch):
    for name in ("step-000000001", "step-000000010"):
        manifest = save_checkpoint(tmp_path, name, {"a": np.arange(5000.0)}, {}, SHARD)
    removed = []
    unlink = type(manifest).unlink
    monkeypatch.setattr(
        type(manifest), "unlink", lambda self, **kw: (removed.append(self.name), unlink(self, **kw))
    )
    delete_checkpoint(manifest)
    assert removed[0] == "step-000000010.json"
    assert {name.split("-")[1][:9] for name in removed} == {"000000010"}
    load_checkpoint(tmp_path / "step-000000001.json")
