"""Frames decoded as they come give what whole shots give, for any number of rounds."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.decoding.diffusion_decoder import DiffusionDecoder
from unmasq.decoding.identity import Identity
from unmasq.diffusion.masking import MASK
from unmasq.models import NetworkConfig, build_network, for_rounds, geometry_for
from unmasq.problems.building import problem_from_code
from unmasq.problems.rounds import with_rounds
from unmasq.problems.translates import translates_of

MESSAGES = NetworkConfig(
    width=16,
    feedforward=32,
    heads=4,
    encoder_layers=1,
    decoder_layers=1,
    ties="tied",
    mixing="messages",
    message_width=8,
    decoder="still",
)


@pytest.fixture(scope="module")
def problem():
    return problem_from_code(get_code("bb18"), "circuit", 0.01, 3)


def decoder_for(problem, config=MESSAGES):
    """Untrained, but for a bias that makes 0 and 1 about as frequent."""
    network = build_network(config, geometry_for(config, problem), key=jr.key(3))
    hidden = jnp.full((64, problem.num_logicals), MASK, jnp.int32)
    memory = eqx.filter_jit(network.begin)(jnp.asarray(shots_of(problem, 64))).memory
    logits = eqx.filter_jit(network.denoise)(memory, hidden)
    bias = network.head.bias - jnp.median(logits)
    network = eqx.tree_at(lambda tree: tree.head.bias, network, bias)
    identity = Identity(
        name="tiny",
        model_hash="0" * 64,
        structure_id=problem.structure_id,
        objective="masked",
        trained_steps=problem.num_logicals,
        num_detectors=problem.num_detectors,
        num_logicals=problem.num_logicals,
        max_views=problem.symmetry.order,
    )
    return DiffusionDecoder(network, identity, translates=translates_of(problem))


def shots_of(problem, count=9):
    return np.random.default_rng(5).integers(0, 2, (count, problem.num_detectors), np.uint8)


def streamed(stream, problem, shots):
    for frame in shots.reshape(len(shots), problem.layout.num_frames, -1).swapaxes(0, 1):
        stream.push(frame)
    stream.wait()
    return stream.finish()


def lengthened(problem, other):
    """The decoder of one problem, for another number of rounds."""
    decoder = decoder_for(problem)
    network = for_rounds(decoder._network, geometry_for(MESSAGES, other))
    identity = dataclasses.replace(decoder.identity, num_detectors=other.num_detectors)
    return DiffusionDecoder(network, identity)


@pytest.mark.parametrize("way", [None, ("with_threshold", 0.5), ("with_steps", 1)])
def test_a_stream_says_what_the_decoder_says_of_whole_shots(problem, way):
    decoder = decoder_for(problem)
    if way is not None:
        decoder = getattr(decoder, way[0])(way[1])
    shots = shots_of(problem)
    whole, found = decoder.decode_soft(shots), streamed(decoder.stream(), problem, shots)
    np.testing.assert_array_equal(found.logicals, whole.logicals)
    np.testing.assert_array_equal(found.steps, whole.steps)
    np.testing.assert_allclose(found.log_likelihood, whole.log_likelihood, rtol=1e-4)
    assert len(np.unique(found.logicals, axis=0)) > 1  # or else nothing would be compared


def test_a_stream_is_closed_once_after_the_last_frame(problem):
    config = dataclasses.replace(MESSAGES, closing_layers=2)
    plain, closing = (decoder_for(problem, each) for each in (MESSAGES, config))
    shots = shots_of(problem)
    speaking = jax.tree.map(lambda leaf: leaf + 0.3, closing._network.encoder.closing_blocks)
    network = eqx.tree_at(lambda net: net.encoder.closing_blocks, closing._network, speaking)
    decoder = DiffusionDecoder(network, closing.identity)
    whole, found = decoder.decode_soft(shots), streamed(decoder.stream(), problem, shots)
    np.testing.assert_array_equal(found.logicals, whole.logicals)
    np.testing.assert_allclose(found.log_likelihood, whole.log_likelihood, rtol=1e-4)
    others = plain.decode_soft(shots).log_likelihood
    assert not np.allclose(found.log_likelihood, others, rtol=1e-2)


def test_one_stream_takes_shots_of_any_number_of_rounds(problem):
    stream = decoder_for(problem).stream()
    for rounds in (1, 5):
        other = with_rounds(problem, rounds)
        shots = shots_of(other, 4)
        expected = lengthened(problem, other).decode_batch(shots)
        np.testing.assert_array_equal(streamed(stream, other, shots).logicals, expected)


def test_a_single_shot_may_come_as_plain_frames(problem):
    decoder = decoder_for(problem)
    stream = decoder.stream()
    (shot,) = shots_of(problem, 1)
    for frame in shot.reshape(problem.layout.num_frames, -1):
        stream.push(frame)
    assert stream.frames == 4
    np.testing.assert_array_equal(stream.finish().logicals, decoder.decode_batch(shot[None]))


def test_a_decoder_takes_shots_apart_into_frames(problem):
    layout = problem.layout
    ragged = dataclasses.replace(layout, check=layout.check[::-1].copy())
    network = build_network(MESSAGES, geometry_for(MESSAGES, problem), key=jr.key(3))
    grid = jnp.asarray(ragged.grid()).at[0, 4].set(-1)
    moved = eqx.tree_at(lambda tree: tree.encoder.grid, network, grid)
    decoder = DiffusionDecoder(moved, decoder_for(problem).identity)
    shots = shots_of(problem, 2)
    frames = decoder.frames(shots)
    assert len(frames) == 4
    expected = shots[:, 18:36][:, ::-1]
    np.testing.assert_array_equal(frames[1], expected)
    assert not frames[0][:, 4].any()


def test_frames_that_do_not_fit_are_refused(problem):
    stream = decoder_for(problem).stream()
    with pytest.raises(ValueError, match="must have the decoder's 18 columns.*got 17"):
        stream.push(np.zeros((2, 17), np.uint8))
    stream.push(np.zeros((2, 18), np.uint8))
    with pytest.raises(ValueError, match="frame must have the 2 shots of the stream: got 3"):
        stream.push(np.zeros((3, 18), np.uint8))
    with pytest.raises(ValueError, match="stream must have two or more frames.*: got 1"):
        stream.finish()


def test_what_cannot_be_streamed_is_refused(problem):
    attention = dataclasses.replace(MESSAGES, mixing="attention", decoder="joint")
    with pytest.raises(ValueError, match="'tiny' must know no number of rounds"):
        decoder_for(problem, attention).stream()
    with pytest.raises(ValueError, match="views must be 1 to decode a stream"):
        decoder_for(problem).with_views(9).stream()
