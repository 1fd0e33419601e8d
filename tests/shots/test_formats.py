"""Shot files against Stim's own reader and writer."""

import numpy as np
import pytest
import stim
from hypothesis import given
from hypothesis import strategies as st

from unmasq.shots.formats import read_shot_file, write_shot_file

FORMATS = ["b8", "01", "dets"]


@st.composite
def shots(draw):
    shape = draw(st.integers(0, 9)), draw(st.integers(1, 21))
    density = draw(st.sampled_from([0.0, 0.2, 1.0]))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return (generator.random(shape) < density).astype(np.uint8)


@pytest.mark.parametrize("file_format", FORMATS)
@given(bits=shots())
def test_reads_what_stim_writes(tmp_path_factory, file_format, bits):
    path = tmp_path_factory.mktemp("shots") / "file"
    stim.write_shot_data_file(
        data=bits.astype(bool), path=path, format=file_format, num_detectors=bits.shape[1]
    )
    read = read_shot_file(path, file_format, bits.shape[1])
    assert read.dtype == np.uint8
    np.testing.assert_array_equal(read, bits)


@pytest.mark.parametrize("file_format", FORMATS)
@given(bits=shots())
def test_writes_what_stim_writes(tmp_path_factory, file_format, bits):
    folder = tmp_path_factory.mktemp("shots")
    stim.write_shot_data_file(
        data=bits.astype(bool),
        path=folder / "stim",
        format=file_format,
        num_observables=bits.shape[1],
    )
    write_shot_file(folder / "ours", file_format, bits)
    assert (folder / "ours").read_bytes() == (folder / "stim").read_bytes()


def written(tmp_path, content: bytes):
    path = tmp_path / "shots"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("file_format", "content", "message"),
    [
        ("b8", b"\0\0\0", "2 bytes for each shot of 12 bits: got 3 bytes, 1 left over"),
        ("b8", b"\0\0\0\x10", "0 in the 4 unused bits .* got 1 in shot 1"),
        ("01", b"000000000000\n01\n", "line 2 must have 12 characters 0 or 1: got 2 characters"),
        ("01", b"00000000000x\n", "line 1 must have 12 characters 0 or 1: got 'x'"),
        ("01", b"\xff\xfe\n", "must be text to be of format 01: got byte 0xff"),
        ("dets", b"shot D1\nD2\n", "line 2 must begin with 'shot'"),
        ("dets", b"shot D12\n", "line 1 must name bits D0 to D11: got 'D12'"),
        ("dets", b"shot L1\n", "line 1 must name bits D0 to D11: got 'L1'"),
        ("dets", b"000000000000\n", "line 1 must begin with 'shot'"),
        ("b9", b"", "must be one of b8, 01, dets: got 'b9'"),
    ],
)
def test_other_files_are_refused(tmp_path, file_format, content, message):
    with pytest.raises(ValueError, match=message):
        read_shot_file(written(tmp_path, content), file_format, 12)
