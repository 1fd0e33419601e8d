"""A trainer for a recipe and a problem: network, shots and devices."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import jax
import jax.random as jr
import numpy as np

from unmasq.models import (
    MaskedDenoiser,
    build_network,
    for_rounds,
    geometry_for,
    initial_code_weights,
)
from unmasq.models.views import Views
from unmasq.problems.problem import DecodingProblem
from unmasq.problems.rounds import with_rounds
from unmasq.problems.translates import translates_of
from unmasq.shots.drift import ToldRates
from unmasq.shots.endings import EndingSampler
from unmasq.shots.sampling import ShotSampler
from unmasq.training.config import TrainConfig
from unmasq.training.curriculum import frame_ranges
from unmasq.training.start import init_path, started
from unmasq.training.streams import stream_of
from unmasq.training.update import Experiment, Trainer


def make_trainer(
    config: TrainConfig,
    problem: DecodingProblem,
    init: str | Path | None = None,
    stream: int | None = None,
    say: Callable[[str], None] = lambda message: None,
) -> Trainer:
    """Network, sampler and device mesh for a recipe; `init` names weights to start from.

    `stream` is that of the run to go on with; else a new run's.
    """
    devices = jax.device_count()
    if config.batch_size % devices:
        raise ValueError(
            f"batch_size must divide over {devices} devices: got {config.batch_size}. "
            f"Try --set batch_size={config.batch_size // devices * devices or devices}."
        )
    ranges = frame_ranges(config, problem.layout.num_frames)  # refuses stages that do not fit
    if config.objective == "continuous" and ranges[0].first < problem.layout.num_frames - 1:
        raise ValueError("stages must be empty for a continuous network: it has no frames.")
    if config.network.bp_iterations and ranges[0].first < problem.layout.num_frames - 1:
        raise ValueError(
            "stages must be empty for a network that begins with belief propagation, which sees "
            f"all frames at once: got {len(config.stages)} stages. Set stages=[]."
        )
    geometry = geometry_for(config.network, problem)
    weights = initial_code_weights(problem) if config.network.has_code_weights else None
    network = build_network(config.network, geometry, weights, key=jr.key(config.seed))
    start = None
    if init is not None:
        network, start = started(network, init_path(init), config, problem, say)
    if config.rounds and not (isinstance(network, MaskedDenoiser) and network.knows_no_rounds):
        raise ValueError(
            "rounds must be empty for a network that has weights of its own for each frame: got "
            f"{list(config.rounds)}. Set network.mixing=messages."
        )
    mesh = jax.make_mesh((devices,), ("shots",), axis_types=(jax.sharding.AxisType.Auto,))

    fixed = eqx.partition(network, eqx.is_inexact_array)[1]
    translates = translates_of(problem) if config.translate_masks else None

    tells = config.network.told_rates

    def sampled(
        source: DecodingProblem, intermediate: bool
    ) -> tuple[ShotSampler, ToldRates | None]:
        drifts = tells or config.noise.spread > 0
        sampler = ShotSampler(source, intermediate=intermediate, drifts=drifts)
        return sampler, ToldRates(source, np.asarray(sampler.exponents)) if tells else None

    def experiment(rounds: int, intermediate: bool) -> Experiment:
        views = None if translates is None else Views(translates)
        if config.endings:
            drifts = config.noise.spread > 0
            return Experiment(EndingSampler(problem, config.endings, drifts=drifts), fixed, views)
        if rounds == problem.num_rounds:
            sampler, told = sampled(problem, intermediate)
            return Experiment(sampler, fixed, views, told)
        other = with_rounds(problem, rounds)
        if translates is not None:
            views = Views(dataclasses.replace(translates, check=other.layout.check))
        moved = for_rounds(fixed, geometry.on(other, other.layout))
        sampler, told = sampled(other, False)
        return Experiment(sampler, moved, views, told)

    if stream is None:
        stream = stream_of(config, start)
    return Trainer(config, network, geometry, experiment, mesh, stream)
