"""Weights to use: the average of a run as one 16-bit file, with a model card beside it."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unmasq.files.model_card import write_card
from unmasq.files.weight_file import read_weight_file
from unmasq.models import count_parameters, geometry_for, network_shapes, on_device
from unmasq.models.weights import save_weights, with_weights
from unmasq.problems.any_rounds import AnyRounds
from unmasq.problems.problem import DecodingProblem
from unmasq.problems.readouts import readouts_of
from unmasq.problems.trained_noise import TrainedNoise
from unmasq.problems.translates import translates_of
from unmasq.training.config import TrainConfig, to_json
from unmasq.training.pool import trusts_guess
from unmasq.training.streams import distinct_samples
from unmasq.training.update import training_steps


def write_final_weights(
    folder: str | Path,
    config: TrainConfig,
    problem: DecodingProblem,
    arrays: Mapping[str, np.ndarray],
    facts: Mapping[str, Any],
) -> Path:
    """Writes NAME.safetensors, NAME.json and NAME.md; returns the first.

    `facts` tell how the weights came about (samples, seconds, device, evaluation, ...).
    """
    geometry = geometry_for(config.network, problem)
    network = on_device(with_weights(network_shapes(config.network, geometry), arrays))
    path = Path(folder) / f"{config.name}.safetensors"
    about = {key: getattr(problem, key) for key in ("name", "code", "noise", "basis", "num_rounds")}
    low, high = config.noise.low * config.noise.p, config.noise.p
    spread = config.noise.spread if config.network.told_rates else 0.0
    noise = TrainedNoise.of(problem, low, high, spread).facts()
    header: dict[str, Any] = {
        "name": config.name,
        "structure_id": problem.structure_id,
        "objective": config.objective,
        "num_steps": training_steps(config, problem.num_logicals),
        "problem": about,
        "noise": noise,
    }
    if config.network.bp_iterations:
        header["trusts_guess"] = trusts_guess(config)
        header["attempts"] = [dataclasses.astuple(attempt) for attempt in config.attempts]
    if config.network.mixing == "messages":  # which knows no number of rounds
        repeated = AnyRounds.of(problem)
        if repeated is not None:
            header["rounds"] = repeated.facts()
    readouts = readouts_of(problem, config.network.mixing == "messages")
    if readouts:
        header["readouts"] = [readout.facts() for readout in readouts]
    translates = None if problem.symmetry is None else translates_of(problem)
    save_weights(path, network, config.network, geometry, header, translates=translates)
    card = {
        **header,
        "noise": {key: noise[key] for key in ("low", "high")},
        "model_hash": read_weight_file(path).model_hash,
        "parameters": count_parameters(network),
        "num_detectors": problem.num_detectors,
        "num_logicals": problem.num_logicals,
        **facts,
        "recipe": json.loads(to_json(config)),
    }
    if card.get("history"):
        card["distinct_samples"] = distinct_samples([*card["history"], card])
    write_card(path, card)
    return path
