"""The training loop on a tiny problem: resuming, rolling back, evaluating, exporting."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tiny_runs import TINY, repetition_problem
from unmasq.decoding.diffusion_decoder import load
from unmasq.files.model_card import history_of
from unmasq.models.weights import load_weights
from unmasq.problems.trained_noise import TrainedNoise
from unmasq.shots.sampling import EvaluationShots
from unmasq.training import NoiseSchedule, loop, override
from unmasq.training.checkpoint import load_checkpoint
from unmasq.training.config import to_json
from unmasq.training.curriculum import frame_ranges
from unmasq.training.loop import (
    MAX_ROLLBACKS,
    RunTimes,
    TrainingDivergedError,
    train,
)
from unmasq.training.make_trainer import make_trainer
from unmasq.training.measure import error_counts
from unmasq.training.run_folder import RunFolder
from unmasq.training.update import Trainer


@pytest.fixture(scope="module")
def problem():
    return repetition_problem()


CONFIG = dataclasses.replace(TINY, evaluate_every=10)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory, problem):
    """A finished run, with what it said and showed."""
    folder = RunFolder(tmp_path_factory.mktemp("runs") / "whole")
    said, shown = [], []
    slim = folder.path.parent / "slim"
    record = train(CONFIG, problem, folder, mirror=slim, report=shown.append, say=said.append)
    return folder, record, said, shown


def final_state(folder):
    return load_checkpoint(folder.checkpoints()[0])[0]


def assert_same_run(one, other):
    """Equal weights, averages and optimizer state, bit for bit, and equal metrics."""
    first, second = final_state(one), final_state(other)
    assert first.keys() == second.keys()
    for name in first:
        assert first[name].tobytes() == second[name].tobytes(), name
    times = ("seconds", "samples_per_second")
    kept = [
        [{k: v for k, v in r.items() if k not in times} for r in run.metrics() if "loss" in r]
        for run in (one, other)
    ]
    assert kept[0] == kept[1]


def test_every_update_is_in_the_metrics_once(uninterrupted):
    folder, record, _, shown = uninterrupted
    steps = [r["step"] for r in folder.metrics() if "loss" in r]
    assert steps == list(range(4, 41, 4)) == [p.step for p in shown]
    assert [r["samples"] for r in folder.metrics() if "loss" in r] == [16 * s for s in steps]
    assert folder.metrics()[-1] == record
    assert (record["step"], record["samples"], record["finished"]) == (40, 640, True)


def test_a_problem_with_one_known_rate_trains_at_it(uninterrupted):
    folder, _, said, shown = uninterrupted
    assert said == ["tiny: compiling, then on from update 0 of 40"]
    assert folder.open()[0] == CONFIG
    assert {round(p.p, 6) for p in shown} == {0.2}


def test_a_problem_with_one_known_rate_trains_at_scaled_ones_and_is_evaluated_at_its_own(
    tmp_path, problem
):
    config = dataclasses.replace(
        CONFIG, num_updates=12, noise=NoiseSchedule(0.1, low=0.5), evaluate_p=(0.05, 0.1)
    )
    run, said, shown = RunFolder(tmp_path / "run"), [], []
    record = train(config, problem, run, say=said.append, report=shown.append)
    assert said[0] == "the priors of 'repetition' are known at p = 0.2 alone: evaluating at it"
    assert {round(p.p, 6) for p in shown} == {0.1}
    assert shown[-1].failures.endswith("/1024 fail at p 0.2")
    assert [row["p"] for row in record["evaluation"]] == [0.2]
    noise = load_weights(run.path / "tiny.safetensors").header["noise"]
    assert (noise["low"], noise["high"]) == (0.05, 0.1)
    np.testing.assert_allclose(noise["priors"], (1 - np.sqrt(1 - 2 * 0.2)) / 2, rtol=1e-5)


def test_progress_shows_time_left_and_the_last_error_rate(uninterrupted):
    folder, _, _, shown = uninterrupted
    assert [bool(p.failures) for p in shown] == [False, False, *[True] * 8]
    evaluated = [r["step"] for r in folder.metrics() if "loss" in r and "evaluation" in r]
    assert evaluated == [12, 20, 32, 40]
    row = folder.metrics()[2]["evaluation"][0]
    assert shown[2].failures == f"{row['failures']}/1024 fail at p 0.2"
    assert shown[0].seconds_left > 0 == shown[-1].seconds_left
    assert all(p.num_updates == 40 and p.samples_per_second > 0 for p in shown)


def test_evaluating_on_the_way_changes_nothing(tmp_path, uninterrupted, problem):
    silent = RunFolder(tmp_path / "run")
    train(TINY, problem, silent)
    first, second = final_state(uninterrupted[0]), final_state(silent)
    assert all(first[name].tobytes() == second[name].tobytes() for name in first)


def test_a_run_stopped_by_the_clock_goes_on_exactly(tmp_path, uninterrupted, problem):
    run = RunFolder(tmp_path / "run")
    record = train(CONFIG, problem, run, times=RunTimes(minutes=0.0))
    assert (record["step"], record["finished"]) == (4, False)
    while not record["finished"]:
        config, found = run.open()
        times = RunTimes(minutes=0.0 if record["step"] < 12 else None, save_seconds=0.0)
        record = train(config, found, run, resume=True, times=times)
    assert_same_run(run, uninterrupted[0])
    stops = [r["step"] for r in run.metrics() if "finished" in r]
    assert stops == [4, 8, 12, 40]


def test_a_finished_run_finishes_again_the_same(tmp_path, uninterrupted, problem):
    folder = uninterrupted[0]
    weights = (folder.path / "tiny.safetensors").read_bytes()
    before = [{**r, "seconds": 0} for r in folder.metrics()]
    (folder.path / "tiny.safetensors").unlink()  # as if killed before the export
    train(*folder.open(), folder, resume=True)
    assert (folder.path / "tiny.safetensors").read_bytes() == weights
    assert [{**r, "seconds": 0} for r in folder.metrics()] == before


def test_a_resumed_run_keeps_its_first_weights(tmp_path, uninterrupted, problem):
    """--init is not asked for again: the checkpoint at update 0 holds it."""
    run = RunFolder(tmp_path / "run")
    config = uninterrupted[0].open()[0]
    trainer = make_trainer(config, problem, init=uninterrupted[0].path)
    run.create(config, problem, trainer.start())  # and killed
    state, _, _ = run.restore(make_trainer(config, problem).start())
    average = load_checkpoint(uninterrupted[0].checkpoints()[0])[0]["average.token_embedding"]
    np.testing.assert_array_equal(state.weights.token_embedding, average)


def test_init_takes_a_run_a_slim_copy_or_a_weight_file(uninterrupted, problem):
    config, _ = uninterrupted[0].open()
    folder = uninterrupted[0].path
    expected = load_checkpoint(uninterrupted[0].checkpoints()[0])[0]["average.token_embedding"]
    for init in (folder, folder.parent / "slim", folder / "tiny.safetensors"):
        found = make_trainer(config, problem, init=init).start().weights.token_embedding
        np.testing.assert_allclose(found, expected, rtol=1e-3)
    other = override(config, ["network.width=16"])
    with pytest.raises(ValueError, match="another network"):
        make_trainer(other, problem, init=folder)


def test_a_card_tells_of_the_runs_before(tmp_path, uninterrupted, problem):
    first = uninterrupted[0].path
    init = first / "tiny.safetensors"
    for name in ("second", "third"):
        run = RunFolder(tmp_path / name)
        train(TINY, problem, run, init=init)
        init = run.path / "tiny.safetensors"
    card = json.loads(init.with_suffix(".json").read_text())
    assert [entry["samples"] for entry in card["history"]] == [640, 640]
    hashes = [entry["model_hash"] for entry in card["history"]]
    assert hashes[0] == load_weights(first / "tiny.safetensors").model_hash
    assert len({*hashes, card["model_hash"]}) == 3
    assert card["history"][0]["recipe"] == json.loads(to_json(uninterrupted[0].open()[0]))
    text = init.with_suffix(".md").read_text()
    assert "| all 3 runs together | 1,920 samples, 1,920 of them distinct, " in text
    assert card["distinct_samples"] == 1920
    assert len({entry["stream"] for entry in [*card["history"], card]}) == 3
    assert history_of(first) == card["history"][:1]
    assert history_of(first.parent / "slim")[0]["model_hash"] == hashes[0]
    assert history_of(uninterrupted[0].checkpoints()[0])[0]["model_hash"] is None
    init.with_suffix(".json").write_text('{"cut')
    with pytest.raises(ValueError, match=r"tiny.json must be a model card: .* Take it away"):
        train(TINY, problem, RunFolder(tmp_path / "fourth"), init=init)
    assert not (tmp_path / "fourth").exists()


# Exports


def test_the_export_decodes_as_the_average_of_the_run(uninterrupted, problem):
    folder, record, _, _ = uninterrupted
    decoder = load(folder.path / "tiny.safetensors")
    chunk = EvaluationShots(problem, 1).chunk(0)
    wrong = decoder.decode_batch(np.asarray(chunk.syndrome)) != np.asarray(chunk.logicals)
    (row,) = record["evaluation"]
    assert row == {"p": 0.2, "shots": 1024, "failures": row["failures"]} | {
        "failures_T1": row["failures"]
    }
    # 16-bit weights may tip a close decision.
    assert abs(int(wrong.any(axis=1).sum()) - row["failures"]) <= 20


def test_counted_are_the_weights_of_the_file(tmp_path, problem, monkeypatch):
    counted = []

    def watched(network, *arguments):
        counted.append(network)
        return error_counts(network, *arguments)

    monkeypatch.setattr(loop, "error_counts", watched)
    run = RunFolder(tmp_path / "run")
    train(TINY, problem, run)
    stored = load_weights(run.path / "tiny.safetensors").network.token_embedding
    masters = final_state(run)["average.token_embedding"]
    np.testing.assert_array_equal(counted[-1].token_embedding, stored)
    assert (masters != np.asarray(stored)).any()
    card = json.loads((run.path / "tiny.json").read_text())
    assert card["evaluated"] == {"weights": "float16", "dtype": TINY.compute_dtype}
    assert "of the weights in this file:" in (run.path / "tiny.md").read_text()


def test_the_export_is_16_bit_with_a_card_and_a_stable_hash(uninterrupted, problem):
    folder, record, _, _ = uninterrupted
    path = folder.path / "tiny.safetensors"
    weights = load_weights(path)
    card = json.loads(path.with_suffix(".json").read_text())
    assert card["model_hash"] == weights.model_hash
    assert card["structure_id"] == problem.structure_id
    assert card["evaluation"] == record["evaluation"]
    assert (card["samples"], card["updates"], card["num_steps"]) == (640, 40, 1)
    assert card["recipe"]["name"] == "tiny"
    noise = TrainedNoise.read(weights.header["noise"])
    assert card["noise"] == {"low": noise.low, "high": noise.high} == {"low": 0.2, "high": 0.2}
    np.testing.assert_allclose(noise.priors, problem.priors[noise.faults], rtol=1e-5)
    text = path.with_suffix(".md").read_text()
    assert weights.model_hash[:16] in text
    assert f"{record['evaluation'][0]['failures']} / 1024" in text
    header = path.read_bytes()[8:]
    assert b'"F16"' in header
    assert b'"F32"' not in header
    slim = folder.path.parent / "slim"
    assert (slim / "tiny.safetensors").read_bytes() == path.read_bytes()


# Losses that turn NaN


@pytest.fixture
def poison(monkeypatch):
    """poison(step, times): a call that ends after update `step` gives NaN, so many times."""

    def arrange(step, times):
        advance = Trainer.advance

        def poisoned(self, state, frames, updates):
            state, losses = advance(self, state, frames, updates)
            if int(state.step) >= step and int(state.rollbacks) < times:
                return state, losses * jnp.nan
            return state, losses

        monkeypatch.setattr(Trainer, "advance", poisoned)

    return arrange


def test_nan_goes_back_to_the_last_good_state_and_on(tmp_path, uninterrupted, problem, poison):
    poison(step=24, times=2)
    run = RunFolder(tmp_path / "run")
    said = []
    record = train(CONFIG, problem, run, times=RunTimes(save_seconds=0.0), say=said.append)
    assert record["finished"]
    assert said[1:] == [
        "loss is not finite after update 20: back to update 20, on with other random numbers "
        f"(no. {count} of at most {MAX_ROLLBACKS})"
        for count in (1, 2)
    ]
    losses = {r["step"]: r["loss"] for r in run.metrics() if "loss" in r}
    before = {r["step"]: r["loss"] for r in uninterrupted[0].metrics() if "loss" in r}
    assert losses.keys() == before.keys()
    same = [losses[step] == before[step] for step in sorted(losses)]
    assert same == [True] * 5 + [False] * 5
    assert final_state(run)["rollbacks"] == 2


def test_nan_before_any_later_checkpoint_begins_again(tmp_path, problem, poison):
    poison(step=12, times=1)
    run = RunFolder(tmp_path / "run")
    said = []
    record = train(CONFIG, problem, run, say=said.append)
    assert "back to update 0" in said[1]
    assert record["finished"]
    assert [r["step"] for r in run.metrics() if "loss" in r] == list(range(4, 41, 4))


def test_nan_again_and_again_ends_the_run(tmp_path, problem):
    absurd = override(CONFIG, ["optimizer.learning_rate=1e30"])
    run = RunFolder(tmp_path / "run")
    said = []
    with pytest.raises(TrainingDivergedError, match="turned NaN 6 times, .*Lower the learning"):
        train(absurd, problem, run, times=RunTimes(save_seconds=0.0), say=said.append)
    assert len(said) == 1 + MAX_ROLLBACKS
    assert all(np.isfinite(array).all() for array in final_state(run).values())


def test_a_state_that_is_not_finite_shows_in_the_losses(problem):
    """Else weights that turned NaN behind a finite loss would be saved."""
    trainer = make_trainer(CONFIG, problem)
    (frames,) = frame_ranges(CONFIG, 1)
    state, losses = trainer.advance(trainer.start(), frames, 4)
    assert np.isfinite(losses).all()
    average = jax.tree.map(lambda leaf: leaf * jnp.inf, state.average)
    _, losses = trainer.advance(trainer.place(state._replace(average=average)), frames, 4)
    assert losses.shape == (4,)
    assert np.isnan(losses).all()
