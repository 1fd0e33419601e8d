"""Which random numbers runs draw: a chain never the same twice, a resumed run the same again."""

import dataclasses
import json
from pathlib import Path

import jax.random as jr
import numpy as np
import pytest

from tiny_runs import TINY, repetition_problem
from unmasq.training.checkpoint import load_checkpoint
from unmasq.training.config import NoiseSchedule, to_json
from unmasq.training.curriculum import frame_ranges
from unmasq.training.loop import RunTimes, train
from unmasq.training.make_trainer import make_trainer
from unmasq.training.run_folder import RunFolder
from unmasq.training.streams import PLAIN_STREAM, distinct_samples, stream_of, training_key

WEIGHTS = Path(__file__).parents[2] / "src" / "unmasq" / "weights"


def key_bits(config, stream):
    return jr.key_data(training_key(config, stream)).tobytes()


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    run = RunFolder(tmp_path_factory.mktemp("chain") / "first")
    train(TINY, repetition_problem(), run)
    return run


def test_a_run_from_scratch_draws_what_its_seed_says():
    assert stream_of(TINY, None) == PLAIN_STREAM
    expected = jr.key_data(jr.key(TINY.seed, impl="rbg")).tobytes()
    assert key_bits(TINY, PLAIN_STREAM) == expected


def test_a_run_from_weights_draws_other_shots_than_the_run_before(tmp_path, first):
    second = RunFolder(tmp_path / "second")
    train(TINY, repetition_problem(), second, init=first.path)
    assert first.stream() == PLAIN_STREAM != second.stream()
    assert second.manifest()["seeds"]["stream"] == second.stream()
    assert key_bits(TINY, first.stream()) != key_bits(TINY, second.stream())
    config, problem = second.open()
    losses = []
    for stream in (first.stream(), second.stream()):
        trainer = make_trainer(config, problem, init=first.path, stream=stream)
        frames = frame_ranges(config, problem.layout.num_frames)[0]
        losses.append(np.asarray(trainer.advance(trainer.start(), frames, 4)[1]))
    assert (losses[0] != losses[1]).all()


def test_a_run_from_weights_resumes_bit_for_bit(tmp_path, first):
    whole, halved = RunFolder(tmp_path / "whole"), RunFolder(tmp_path / "halved")
    train(TINY, repetition_problem(), whole, init=first.path)
    train(TINY, repetition_problem(), halved, init=first.path, times=RunTimes(minutes=0.0))
    train(*halved.open(), halved, resume=True)
    assert halved.stream() == whole.stream()
    states = [load_checkpoint(run.checkpoints()[0])[0] for run in (whole, halved)]
    assert all(states[0][name].tobytes() == states[1][name].tobytes() for name in states[0])


def test_a_run_begun_before_there_were_streams_goes_on_as_it_began(tmp_path, first):
    run = RunFolder(tmp_path / "old")
    train(TINY, repetition_problem(), run, init=first.path, times=RunTimes(minutes=0.0))
    manifest = run.manifest()
    del manifest["seeds"]["stream"]
    (run.path / "manifest.json").write_text(json.dumps(manifest))
    assert run.stream() == PLAIN_STREAM


def test_updates_do_not_draw_with_the_keys_of_the_initial_weights():
    """With threefry split(key)[0] is fold_in(key, 0), the key of the first update."""
    config = dataclasses.replace(TINY, generator="threefry2x32")
    key = training_key(config, stream_of(config, None))
    updates = {jr.key_data(jr.fold_in(key, step)).tobytes() for step in range(8)}
    initial = {jr.key_data(k).tobytes() for k in jr.split(jr.key(config.seed), 8)}
    assert not updates & initial
    assert jr.key_data(jr.split(jr.key(0))[0]).tobytes() in initial  # what it guards against


def run_record(updates=40, stream=0, **settings):
    config = dataclasses.replace(TINY, num_updates=updates, **settings)
    return {"updates": updates, "stream": stream, "recipe": json.loads(to_json(config))}


def test_distinct_samples_are_counted_once():
    assert distinct_samples([run_record(), run_record(), run_record(20)]) == 640
    assert distinct_samples([run_record(), run_record(stream=5)]) == 1280
    assert distinct_samples([run_record(), run_record(seed=1)]) == 1280
    assert distinct_samples([run_record(), run_record(batch_size=32)]) == 640 + 1280
    assert distinct_samples([run_record(), run_record(rounds=(2, 3))]) == 1280
    ended = run_record()
    ended["recipe"]["endings"] = [2, 3]
    assert distinct_samples([run_record(), ended]) == 1280
    assert distinct_samples([{"model_hash": None, "source": "step-000000040.json"}]) == 0


def test_shots_at_another_p_are_other_shots():
    flat, ramp = NoiseSchedule(0.006), NoiseSchedule(0.006, ramp=0.25)  # 10 of 40 updates
    runs = [run_record(noise=ramp), run_record(20, noise=flat)]
    assert distinct_samples(runs) == (40 + 10) * 16


def test_the_shipped_cards_say_how_many_samples_are_distinct():
    cards = [json.loads(path.read_bytes()) for path in WEIGHTS.glob("*.json")]
    chained = {card["name"]: card for card in cards if card.get("history")}
    for card in chained.values():
        assert card["distinct_samples"] == distinct_samples([*card["history"], card])
    # Three runs of seed 0: 10,677 updates, then 1,602 at other p; the third drew nothing new.
    assert chained["bb72-circuit"]["distinct_samples"] == (10_677 + 1_602) * 4096
