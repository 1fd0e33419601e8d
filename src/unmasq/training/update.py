"""The training state and its update: a pure, jitted function of state and update number."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float32, Int32, PRNGKeyArray, PyTree

from unmasq.diffusion.gaussian import betas
from unmasq.diffusion.masking import require_divisor
from unmasq.models import Denoiser, Geometry, MaskedDenoiser, cast_floats
from unmasq.models.beliefs import BpOutcome
from unmasq.models.views import Views
from unmasq.shots.drift import ToldRates
from unmasq.shots.endings import EndedShots, EndingSampler
from unmasq.shots.sampling import Shots, ShotSampler
from unmasq.training.config import TrainConfig
from unmasq.training.curriculum import (
    FrameRange,
    learning_rate_factor,
    numbers_of,
    rounds_at,
    with_numbers,
)
from unmasq.training.loss_draws import BY_SHOT, Draws, draw
from unmasq.training.memory import out_of_memory, require_memory
from unmasq.training.objectives import (
    autoregressive_objective,
    continuous_objective,
    masked_objective,
)
from unmasq.training.optimizer import learning_rates, make_optimizer
from unmasq.training.pool import unsolved_first
from unmasq.training.shot_error_rate import draw_p
from unmasq.training.streams import PLAIN_STREAM, training_key
from unmasq.training.translated_masks import ended_views, masked_views

CONTINUOUS_STEPS = 200


class TrainState(NamedTuple):
    """Float32 masters, their average, the optimizer's state, and how often a NaN threw it back."""

    weights: PyTree
    average: PyTree
    optimizer: PyTree
    step: Int32[Array, ""]
    rollbacks: Int32[Array, ""]


class Schedule(NamedTuple):
    """What differs from run to run of one recipe: traced, so that they share what is compiled."""

    num_updates: Float32[Array, ""]
    rate: Float32[Array, ""]  # of the current stage ...
    rate_start: Float32[Array, ""]  # ... since this update
    key: PRNGKeyArray
    noise: dict[str, Float32[Array, ""]]
    optimizer: dict[str, Float32[Array, ""]]  # of which only the learning rates are read


class Experiment(NamedTuple):
    """What an update needs of one number of rounds."""

    sampler: ShotSampler | EndingSampler
    fixed: PyTree  # of the network, beside its weights: where the detectors stand
    views: Views | None
    told: ToldRates | None = None


class Trainer:
    """Holds what an update needs; compiles one function for each stage and number of rounds.

    `experiments(rounds, intermediate)` draws shots with the logicals of all frames, or the last.
    """

    def __init__(
        self,
        config: TrainConfig,
        network: Denoiser,
        geometry: Geometry,
        experiments: Callable[[int, bool], Experiment],
        mesh: jax.sharding.Mesh,
        stream: int = PLAIN_STREAM,
    ):
        self.config = config
        self.geometry = geometry
        self.num_steps = training_steps(config, geometry.num_logicals)
        self.experiments = experiments
        weights, self._fixed = eqx.partition(network, eqx.is_inexact_array)
        self._first_weights = weights
        self.optimizer = make_optimizer(config.optimizer)
        self._mesh = mesh
        self._replicated = NamedSharding(mesh, PartitionSpec())
        self._by_shot = NamedSharding(mesh, PartitionSpec("shots"))
        self._compiled: dict[tuple[int, int, int], tuple[Experiment, Callable]] = {}
        self.stream = stream
        self._key = training_key(config, stream)

    def start(self) -> TrainState:
        state = TrainState(
            self._first_weights,
            self._first_weights,
            self.optimizer.init(self._first_weights),
            jnp.zeros((), jnp.int32),
            jnp.zeros((), jnp.int32),
        )
        return self.place(jax.tree.map(jnp.copy, state))

    def place(self, state: TrainState) -> TrainState:
        """The state, on every device."""
        return jax.device_put(state, self._replicated)

    def network(self, weights: PyTree) -> Denoiser:
        return eqx.combine(weights, self._fixed)

    def averaged(self, state: TrainState, precision: Any = np.float32) -> Denoiser:
        """The network with its averaged weights, rounded so, on this process's first device."""

        def here(leaf: Array) -> Array:
            return jnp.asarray(np.asarray(leaf).astype(precision).astype(np.float32))

        return self.network(jax.tree.map(here, state.average))

    def advance(
        self, state: TrainState, frames: FrameRange, updates: int
    ) -> tuple[TrainState, Float32[Array, " updates"]]:
        """At most `updates_per_call` updates; returns their losses too. Consumes the old state.

        Where the new state is not finite, neither are the losses.
        """
        try:
            experiment, function = self.compiled(state, frames)
            state, losses = function(state, experiment, self._schedule(frames), jnp.int32(updates))
        except (MemoryError, jax.errors.JaxRuntimeError) as error:
            refusal = out_of_memory(error, self.config)
            raise error if refusal is None else refusal from error
        return state, losses[:updates]

    def compiled(self, state: TrainState, frames: FrameRange) -> tuple[Experiment, Callable]:
        """What `advance` runs; refused where it does not fit in memory."""
        rounds = rounds_at(self.config, int(state.step), self.geometry.layout.num_frames - 1)
        key = (frames.first, frames.last, rounds)
        if key not in self._compiled:
            experiment, function = self._compile(frames, rounds)
            schedule = self._schedule(frames)
            compiled = function.lower(state, experiment, schedule, jnp.int32(1)).compile()
            require_memory(compiled, self.config)
            self._compiled[key] = experiment, compiled
        return self._compiled[key]

    def _schedule(self, frames: FrameRange) -> Schedule:
        return Schedule(
            jnp.float32(self.config.num_updates),
            jnp.float32(frames.rate),
            jnp.float32(frames.rate_start),
            self._key,
            numbers_of(self.config.noise),
            numbers_of(self.config.optimizer),
        )

    def _compile(self, frames: FrameRange, rounds: int) -> tuple[Experiment, Any]:
        intermediate = frames.first < self.geometry.layout.num_frames - 1
        size = self.config.updates_per_call

        def run(state, experiment, schedule, updates):
            def body(i, carry):
                state, losses = carry
                state, loss = self._update(state, experiment, schedule, frames)
                return state, losses.at[i].set(loss)

            # `updates` is traced: a short last call of a stage must not compile anew.
            state, losses = jax.lax.fori_loop(0, updates, body, (state, jnp.zeros((size,))))
            return state, jnp.where(_is_finite(state), losses, jnp.nan)

        function = jax.jit(run, donate_argnums=0, out_shardings=self._replicated)
        experiment = self.experiments(rounds, intermediate)
        return jax.device_put(experiment, self._replicated), function

    def _update(
        self,
        state: TrainState,
        experiment: Experiment,
        schedule: Schedule,
        frames: FrameRange,
    ) -> tuple[TrainState, Float32[Array, ""]]:
        config = self.config
        sampler, fixed, views, told = experiment
        key = jr.fold_in(jr.fold_in(schedule.key, state.step), state.rollbacks)
        p_key, shot_key, loss_key = jr.split(key, 3)
        drawn = config.batch_size * config.pool
        noise = with_numbers(config.noise, schedule.noise)
        p = draw_p(noise, state.step, schedule.num_updates, drawn, key=p_key)
        p = jax.lax.with_sharding_constraint(p, self._by_shot)
        # Child i of a split is `fold_in(key, i)`: 3 is the first number that is free.
        drift = sampler.drift(config.noise.spread, drawn, key=jr.fold_in(key, 3))
        shots = sampler(p, drift, key=shot_key)
        rates = None
        if told is not None and drift is not None:
            assert isinstance(sampler, ShotSampler)  # endings are refused beside told rates ...
            rates = told(sampler.channel_strengths(p, drift), drift.sites)
        outcome = None
        if config.pool > 1:
            assert isinstance(shots, Shots)  # ... and beside a pool
            network = eqx.combine(state.weights, fixed)
            doubted = round(config.doubted * config.batch_size)
            shots, outcome = unsolved_first(
                network, shots, config.batch_size, doubted, config.pool_iterations
            )
        draws = draw(config, self.num_steps, shots, frames, views, key=loss_key)

        def loss_of(weights, fixed, views, shots, draws, outcome, rates):
            network = eqx.combine(weights, fixed if rates is None else fixed.told(rates))
            network = cast_floats(network, jnp.dtype(config.compute_dtype))
            return self.loss(network, shots, draws, frames, views, outcome)

        loss, gradients = jax.value_and_grad(self._shared(loss_of))(
            state.weights, fixed, views, shots, draws, outcome, rates
        )
        # optax mixes dtypes and ranks, which our tests forbid.
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            directions, optimizer = self.optimizer.update(gradients, state.optimizer, state.weights)
        optimizing = with_numbers(config.optimizer, schedule.optimizer)
        factor = schedule.rate * learning_rate_factor(
            optimizing, state.step, schedule.num_updates, schedule.rate_start
        )
        weights = jax.tree.map(
            lambda weight, direction, rate: weight - rate * factor * direction,
            state.weights,
            directions,
            learning_rates(optimizing, state.weights),
        )
        # The average forgets its start quickly: decay min(ema, (1 + step) / (10 + step)).
        step = state.step.astype(jnp.float32)
        decay = jnp.minimum(config.ema, (1 + step) / (10 + step))
        average = jax.tree.map(
            lambda old, new: decay * old + (1 - decay) * new, state.average, weights
        )
        return TrainState(weights, average, optimizer, state.step + 1, state.rollbacks), loss

    def _shared(self, loss_of: Callable) -> Callable:
        """The mean of the losses of all devices, each of its part of the batch.

        Every device then runs the program of one: on arrays that are cut along the batch, which
        is no outer axis, the compiler can flatten nothing.
        """
        if self._mesh.size == 1:
            return loss_of
        whole, last = PartitionSpec(), PartitionSpec(None, None, "shots")
        first, outcome = self._by_shot.spec, None
        if self.config.pool > 1:  # else belief propagation, if any, is part of the loss
            features = PartitionSpec(None, None, None, "shots")
            outcome = BpOutcome._make((features, last, first, first, first))
        return jax.shard_map(
            lambda *parts: jax.lax.pmean(loss_of(*parts), "shots"),
            mesh=self._mesh,
            in_specs=(whole, whole, whole, first, BY_SHOT, outcome, last),
            out_specs=whole,
            check_vma=False,
        )

    def loss(
        self,
        network: Denoiser,
        shots: Shots | EndedShots,
        draws: Draws,
        frames: FrameRange,
        views: Views | None = None,
        outcome: BpOutcome | None = None,
    ) -> Float32[Array, ""]:
        """The objective: of a stage sum_{r = R1..R2} L[r], of several endings the mean."""
        if not isinstance(network, MaskedDenoiser):
            assert isinstance(shots, Shots)
            return continuous_objective(network, *shots, draws, self.num_steps)
        if isinstance(shots, EndedShots):
            memory, targets = ended_views(network, shots, draws, self.config.endings, views)
        else:
            memory, targets = masked_views(network, shots, draws, frames, views, outcome)
        if self.config.objective == "autoregressive":
            loss = autoregressive_objective(network, memory, targets, draws)
        else:
            loss = masked_objective(network, memory, targets, draws, self.num_steps)
        return loss * (frames.last - frames.first + 1)  # `targets` gave the mean over frames


def _is_finite(tree: PyTree) -> Bool[Array, ""]:
    floats = jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in floats]))


def training_steps(config: TrainConfig, num_logicals: int) -> int:
    """T of the objective, checked against the problem."""
    if config.objective == "continuous":
        num_steps = config.num_steps or CONTINUOUS_STEPS
        betas(num_steps)  # refuses a T that is too small
        return num_steps
    num_steps = config.num_steps or num_logicals
    require_divisor(num_steps, num_logicals)
    return num_steps
