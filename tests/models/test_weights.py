"""Weights by name, and in weight files: exact, refused where cut off or foreign."""

import json

import jax
import jax.numpy as jnp
import jax.random as jr
import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load, save

from tiny_runs import TINY, repetition_problem
from unmasq.files import weight_file
from unmasq.files.weight_file import BrokenWeightsError
from unmasq.models import Geometry, build_network
from unmasq.models.weights import (
    NetworkMismatchError,
    load_weights,
    named_arrays,
    restore_arrays,
    save_weights,
)


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()


# Trees of arrays


def test_trees_come_back_by_name():
    tree = {"a": [jnp.zeros(3), jnp.int32(5)], "b": (jnp.ones((2, 2)), None, "text")}
    arrays = named_arrays(tree)
    assert list(arrays) == ["a.0", "a.1", "b.0"]
    changed = {name: array + 1 for name, array in arrays.items()}
    restored = restore_arrays(tree, changed)
    assert restored["b"][2] == "text"
    assert restored["a"][1].dtype == jnp.int32
    assert_equal(named_arrays(restored), changed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays.pop("a"), "must hold a: it belongs to another network"),
        (lambda arrays: arrays.clear(), "must hold a and 1 more"),
        (lambda arrays: arrays.update(c=np.zeros(1)), "must not hold c: it belongs to another"),
        (lambda arrays: arrays.update(a=np.zeros(4)), r"a must have shape \(3,\): got \(4,\)"),
    ],
)
def test_arrays_of_another_network_are_refused(change, message):
    tree = {"a": jnp.zeros(3), "b": jnp.zeros(2)}
    arrays = named_arrays(tree)
    change(arrays)
    with pytest.raises(NetworkMismatchError, match=message):
        restore_arrays(tree, arrays)


# Weight files


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def write_weights(path, problem, *, seed=0, dtype=np.float16):
    """A random network for the problem, written to `path`."""
    geometry = Geometry.of(problem)
    network = build_network(TINY.network, geometry, key=jr.key(seed))
    header = {
        "name": path.stem,
        "structure_id": problem.structure_id,
        "objective": "masked",
        "num_steps": problem.num_logicals,
    }
    save_weights(path, network, TINY.network, geometry, header, dtype)
    return network


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_weights_come_back_rounded_to_their_dtype(tmp_path, dtype):
    network = write_weights(tmp_path / "n.safetensors", repetition_problem(), dtype=dtype)
    loaded = load_weights(tmp_path / "n.safetensors")
    assert loaded.config == TINY.network
    assert loaded.header["name"] == "n"
    pairs = zip(jax.tree.leaves(loaded.network), jax.tree.leaves(network), strict=True)
    for found, original in pairs:
        rounded = np.asarray(original).astype(dtype).astype(original.dtype)
        np.testing.assert_array_equal(found, rounded)


def test_loading_draws_no_weights(tmp_path, caplog):
    """Each shape would compile a generator of its own: seconds before the first shot."""
    write_weights(tmp_path / "n.safetensors", repetition_problem())
    jr.normal(jr.key(0), (3, 7))
    # With another precision nothing that was compiled before is taken.
    with jax.default_matmul_precision("tensorfloat32"), jax.log_compiles():
        load_weights(tmp_path / "n.safetensors")
        assert "normal" not in caplog.text
        jr.normal(jr.key(0), (3, 7))
        assert "normal" in caplog.text  # had there been something, we would know


def test_the_model_hash_is_that_of_the_weights_alone(tmp_path):
    hashes = {}
    for name, seed in [("one", 0), ("again", 0), ("other", 1)]:
        write_weights(tmp_path / name, repetition_problem(), seed=seed)
        hashes[name] = load_weights(tmp_path / name).model_hash
    assert hashes["one"] == hashes["again"] != hashes["other"]


def test_the_model_hash_never_changes():
    """Golden: result files name models by it."""
    tensors = {"b": np.array(2, np.float32), "a": np.arange(6, dtype=np.float32).reshape(2, 3)}
    found = weight_file.model_hash({"width": 8, "kind": "masked"}, tensors)
    assert found[:16] == "ff43327be16a23a9"


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (cut, "must be a weight file: it is cut off or of another kind"),
        (lambda path: path.write_bytes(b""), "must be a weight file"),
        (lambda path: path.write_bytes(b"\xff" * 100), "must be a weight file"),
    ],
)
def test_harmed_weight_files_are_refused(tmp_path, harm, message):
    path = tmp_path / "n.safetensors"
    write_weights(path, repetition_problem())
    harm(path)
    with pytest.raises(BrokenWeightsError, match=message):
        load_weights(path)


def header_of(data):
    size = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["unmasq"])


def rewritten(path, change):
    """The file as the first version wrote it, without a digest, with another header."""
    data = path.read_bytes()
    header = header_of(data)
    header.pop("digest", None)
    header["format"] = "unmasq-weights-1"
    change(header)
    path.write_bytes(save(load(data), metadata={"unmasq": json.dumps(header)}))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda h: h.update(format="other-1"), BrokenWeightsError, "got other-1"),
        (lambda h: h.pop("network"), BrokenWeightsError, "this version knows.*Update unmasq"),
        (lambda h: h["network"].update(wings=2), BrokenWeightsError, "wings.*Update unmasq"),
        (lambda h: h["network"].update(width=16), NetworkMismatchError, "must have shape"),
        # Before anything of that size is built.
        (lambda h: h["network"].update(decoder_layers=1000), BrokenWeightsError, "layers must lie"),
        (
            lambda h: h["network"].update(encoder_layers=10**8),
            BrokenWeightsError,
            "must be at most",
        ),
        (lambda h: h.update(num_frames=10**8), BrokenWeightsError, "num_frames must lie"),
        (lambda h: h.update(num_logicals=9999), BrokenWeightsError, "num_logicals must lie"),
    ],
)
def test_foreign_weight_files_are_refused(tmp_path, change, error, message):
    path = tmp_path / "n.safetensors"
    write_weights(path, repetition_problem())
    rewritten(path, change)
    with pytest.raises(error, match=message):
        load_weights(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda header, arrays: arrays["layout.frame"].__setitem__(0, 1),
        lambda header, arrays: header.update(num_steps=7),
        lambda header, arrays: header.update(structure_id="0" * 16),
    ],
)
def test_what_the_model_hash_does_not_cover_must_be_as_it_was_written(tmp_path, change):
    path = tmp_path / "n.safetensors"
    write_weights(path, repetition_problem())
    data = path.read_bytes()
    header = header_of(data)
    arrays = {name: array.copy() for name, array in load(data).items()}
    change(header, arrays)
    path.write_bytes(save(arrays, metadata={"unmasq": json.dumps(header)}))
    with pytest.raises(BrokenWeightsError, match="its content was altered"):
        load_weights(path)


def test_weight_files_of_the_first_version_carry_no_digest(tmp_path):
    path = tmp_path / "n.safetensors"
    write_weights(path, repetition_problem())
    expected = load_weights(path).model_hash
    rewritten(path, lambda header: None)
    assert load_weights(path).model_hash == expected
    rewritten(path, lambda header: header.update(digest=None))
    with pytest.raises(BrokenWeightsError, match="its content was altered"):
        load_weights(path)


def test_a_weight_file_whose_digest_was_lost_is_refused(tmp_path):
    path = tmp_path / "n.safetensors"
    write_weights(path, repetition_problem())
    path.write_bytes(path.read_bytes().replace(b"digest", b"figest"))
    with pytest.raises(BrokenWeightsError, match="its content was altered"):
        load_weights(path)


def test_a_whole_weight_file_that_makes_no_sense_is_refused(tmp_path):
    path = tmp_path / "n.safetensors"
    write_weights(path, repetition_problem())
    for change in (
        lambda header: header.update(num_logicals="2"),
        lambda header: header["network"].update(width="8"),
        lambda header: header["network"].update(heads=0),
    ):
        write_weights(path, repetition_problem())
        rewritten(path, change)
        with pytest.raises(BrokenWeightsError, match="that this version knows: .* Update unmasq"):
            load_weights(path)
