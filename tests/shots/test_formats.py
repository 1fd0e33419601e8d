"""Shot files against Stim's own reader and writer."""

import numpy as np
import pytest
import stim
from hypothesis import given
from hypothesis import strategies as st

from unmasq.shots.formats import read_shot_file, write_shot_file

FORMATS = ["b8", "01", "dets", "r8", "hits"]


@st.composite
def shots(draw):
    shape = draw(st.integers(0, 9)), draw(st.sampled_from([1, 7, 8, 21, 254, 255, 256, 700]))
    density = draw(st.sampled_from([0.0, 0.004, 0.2, 1.0]))
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
        ("dets", b"shot M1\n", "line 1 must name bits D0 to D11: got 'M1'"),
        ("dets", b"shot Lx\n", "line 1 must name bits D0 to D11: got 'Lx'"),
        ("dets", b"shot D1\nshot D1", "must end with a newline: got 'shot D1'. Is the last shot"),
        ("dets", b"shot D1 D1\n", "line 1 must name each bit once: got 1 twice"),
        ("hits", b"3,3\n", "line 1 must name each bit once: got 3 twice"),
        ("hits", b"3,1", "must end with a newline"),
        ("hits", b"3,12\n", "line 1 must name bits 0 to 11: got '12'"),
        ("hits", b"3,,1\n", "line 1 must name bits 0 to 11: got ''"),
        ("r8", b"\x0c\x0c\x03", "must end each shot after 12 bits: got none in shot 2"),
        ("r8", b"\x0d", "must end each shot after 12 bits: got none in shot 0"),
        ("dets", b"000000000000\n", "line 1 must begin with 'shot'"),
        ("b9", b"", "must be one of b8, 01, dets, r8, hits: got 'b9'"),
    ],
)
def test_other_files_are_refused(tmp_path, file_format, content, message):
    with pytest.raises(ValueError, match=message):
        read_shot_file(written(tmp_path, content), file_format, 12)


def test_observables_beside_the_detectors_are_passed_over(tmp_path):
    """As `stim detect --append_observables --out_format dets` writes them."""
    circuit = stim.Circuit.generated(
        "repetition_code:memory", rounds=3, distance=3, before_round_data_depolarization=0.3
    )
    path = tmp_path / "shots"
    sampler = circuit.compile_detector_sampler(seed=1)
    sampler.sample_write(9, filepath=str(path), format="dets", append_observables=True)
    assert "L0" in path.read_text()
    both = stim.read_shot_data_file(
        path=path, format="dets", num_detectors=circuit.num_detectors, num_observables=1
    )
    width = circuit.num_detectors
    np.testing.assert_array_equal(read_shot_file(path, "dets", width), both[:, :width])
    np.testing.assert_array_equal(read_shot_file(path, "dets", 1, prefix="L"), both[:, width:])
