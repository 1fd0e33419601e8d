"""Runs that start from weights: of the same problem as they are, of another one lifted."""

import dataclasses

import equinox as eqx
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.models import NetworkConfig, build_network, geometry_for
from unmasq.models.lifting import NotLiftableError
from unmasq.models.weights import named_arrays, save_weights
from unmasq.problems.building import problem_from_code
from unmasq.training import OptimizerConfig, TrainConfig
from unmasq.training.curriculum import frame_ranges
from unmasq.training.loop import train
from unmasq.training.make_trainer import make_trainer
from unmasq.training.run_folder import RunFolder
from unmasq.training.start import init_path

MESSAGES = TrainConfig(
    name="small",
    num_updates=2,
    batch_size=4,
    network=NetworkConfig(
        width=8,
        feedforward=8,
        heads=2,
        encoder_layers=1,
        decoder_layers=1,
        ties="tied",
        mixing="messages",
        message_width=4,
        decoder="still",
    ),
    masks_per_shot=2,
    translate_masks=True,
    updates_per_call=2,
    evaluate_shots=0,
)


@pytest.fixture(scope="module")
def problems():
    code = get_code("bb18")
    return {
        (rounds, basis): problem_from_code(code, "circuit", 0.006, rounds, basis)
        for rounds, basis in ((1, "X"), (2, "Z"))
    }


def write(path, config, problem):
    """A weight file for the problem; returns its weights."""
    geometry = geometry_for(config.network, problem)
    network = build_network(config.network, geometry, key=jr.key(5))
    facts = {key: getattr(problem, key) for key in ("name", "code", "noise", "basis", "num_rounds")}
    header = {
        "name": path.stem,
        "structure_id": problem.structure_id,
        "objective": "masked",
        "num_steps": 4,
        "problem": facts,
    }
    save_weights(path, network, config.network, geometry, header, np.float32)
    return named_arrays(eqx.filter(network, eqx.is_inexact_array))


def first_weights(config, problem, init):
    said = []
    state = make_trainer(config, problem, init, say=said.append).start()
    return named_arrays(state.weights), said


def all_numbers(arrays, names):
    """In order: the duality moves numbers within an array and between those of two groups."""
    return np.sort(np.concatenate([arrays[name].ravel() for name in names]))


def test_weights_of_the_same_problem_are_taken_as_they_are(tmp_path, problems):
    weights = write(tmp_path / "small.safetensors", MESSAGES, problems[1, "X"])
    found, said = first_weights(MESSAGES, problems[1, "X"], tmp_path / "small.safetensors")
    assert said == []
    for name, array in weights.items():
        np.testing.assert_array_equal(found[name], array)


def test_weights_of_another_basis_and_number_of_rounds_are_lifted(tmp_path, problems, monkeypatch):
    weights = write(tmp_path / "small.safetensors", MESSAGES, problems[1, "X"])
    monkeypatch.setenv("UNMASQ_MODELS", str(tmp_path))
    found, said = first_weights(MESSAGES, problems[2, "Z"], "small")  # a known model's name
    assert said[0] == "lifting bb18, 1 round, basis X to bb18, 2 rounds, basis Z"
    assert [line.split("  ")[0] for line in said[2:]] == [
        "encoder",
        "decoder",
        "attention of logicals",
    ]
    assert said[1].split() == ["numbers", "carried", "over", "by", "duality", "new"]
    assert [line.split()[-1] for line in said[2:]] == ["0", "0", "0"]
    np.testing.assert_array_equal(*(all_numbers(arrays, weights) for arrays in (found, weights)))
    table = "encoder.embedding.table"
    np.testing.assert_array_equal(found[table], weights[table][::-1])


def test_a_run_can_be_lifted_and_the_lifted_network_trains(tmp_path, problems):
    train(MESSAGES, problems[1, "X"], RunFolder(tmp_path / "first"))
    said = []
    record = train(
        MESSAGES,
        problems[2, "Z"],
        RunFolder(tmp_path / "second"),
        init=tmp_path / "first",
        say=said.append,
    )
    assert record["finished"]
    assert any(line.startswith("lifting bb18, 1 round, basis X") for line in said)


DEEPER = dataclasses.replace(
    MESSAGES, network=dataclasses.replace(MESSAGES.network, encoder_layers=2, closing_layers=1)
)


def test_layers_are_added_to_weights_of_the_same_problem(tmp_path, problems):
    weights = write(tmp_path / "small.safetensors", MESSAGES, problems[1, "X"])
    found, said = first_weights(DEEPER, problems[1, "X"], tmp_path / "small.safetensors")
    assert said == [
        "encoder_layers: 1 carried over, 1 added as the identity",
        "closing_layers: 0 carried over, 1 added as the identity",
    ]
    for name, array in weights.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
    added = found.keys() - weights.keys()
    assert {name.partition(".mixing")[0] for name in added if "reduce" in name} == {
        "encoder.blocks.1",
        "encoder.closing_blocks.0",
    }
    assert not any(found[name].any() for name in added if "to_checks" in name or "down" in name)


@pytest.mark.slow
def test_layers_are_added_to_weights_that_are_lifted_and_then_train(tmp_path, problems):
    weights = write(tmp_path / "small.safetensors", MESSAGES, problems[1, "X"])
    found, said = first_weights(DEEPER, problems[2, "Z"], tmp_path / "small.safetensors")
    assert [line.partition(" ")[0] for line in said[:3]] == [
        "lifting",
        "encoder_layers:",
        "closing_layers:",
    ]
    np.testing.assert_array_equal(*(all_numbers(arrays, weights) for arrays in (found, weights)))
    assert not found["encoder.blocks.1.mixing.to_checks.0.weight"].any()
    config = dataclasses.replace(DEEPER, optimizer=OptimizerConfig("muon"))
    trainer = make_trainer(config, problems[2, "Z"], tmp_path / "small.safetensors")
    (frames,) = frame_ranges(DEEPER, problems[2, "Z"].layout.num_frames)
    after = named_arrays(trainer.advance(trainer.start(), frames, 2)[0].weights)
    for name in found.keys() - weights.keys():
        assert np.isfinite(after[name]).all(), name
        assert not np.array_equal(after[name], found[name]), name


def test_fewer_layers_are_refused_for_the_same_problem_and_for_another(tmp_path, problems):
    write(tmp_path / "deep.safetensors", DEEPER, problems[1, "X"])
    for problem in problems.values():
        with pytest.raises(NotLiftableError, match="encoder_layers must be at least .* 2: got 1"):
            first_weights(MESSAGES, problem, tmp_path / "deep.safetensors")


def test_an_unknown_name_to_start_from_is_refused():
    with pytest.raises(ValueError, match="model must be a weight file or a known name"):
        init_path("no-such-model")


def test_attention_cannot_start_messages_of_another_problem(tmp_path, problems):
    attention = dataclasses.replace(
        MESSAGES, network=dataclasses.replace(MESSAGES.network, mixing="attention")
    )
    write(tmp_path / "small.safetensors", attention, problems[1, "X"])
    with pytest.raises(NotLiftableError, match="must be a network of messages") as refused:
        first_weights(MESSAGES, problems[2, "Z"], tmp_path / "small.safetensors")
    assert "\n" not in str(refused.value)
