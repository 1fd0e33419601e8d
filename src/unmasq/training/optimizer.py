"""Directions and rates of the updates: AdamW, or Muon for the matrices of the blocks."""

import functools

import jax
import optax
from jaxtyping import Array, Float32, PyTree

from unmasq.training.config import OptimizerConfig


def make_optimizer(config: OptimizerConfig) -> optax.GradientTransformation:
    """Directions of AdamW, or of Muon for the matrices of the blocks and AdamW for the rest."""
    decay = optax.add_decayed_weights(config.weight_decay)
    rule = adamw = optax.chain(optax.scale_by_adam(config.b1, config.b2), decay)
    if config.kind == "muon":
        orthogonal = optax.contrib.scale_by_muon(
            beta=config.muon_momentum,
            # Every array it is given is a plain matrix; without this it fails on trees.
            weight_dimension_numbers=lambda tree: jax.tree.map(
                lambda _: optax.contrib.MuonDimensionNumbers(), tree
            ),
        )
        muon = optax.chain(orthogonal, decay)
        rule = optax.partition({"muon": muon, "adamw": adamw}, functools.partial(_rules, config))
    clip = [] if config.clip is None else [optax.clip_by_global_norm(config.clip)]
    return optax.chain(*clip, rule)


def learning_rates(config: OptimizerConfig, weights: PyTree) -> PyTree:
    """Each array's rate; Muon's grows with sqrt(fan_out / fan_in) for matrices that widen."""

    def rate(rule: str, leaf: Array) -> float | Float32[Array, ""]:
        if rule == "adamw":
            return config.learning_rate
        fan_in, fan_out = leaf.shape
        return config.muon_learning_rate * max(1.0, fan_out / fan_in) ** 0.5

    return jax.tree.map(rate, _rules(config, weights), weights)


def _rules(config: OptimizerConfig, weights: PyTree) -> PyTree:
    def rule(path: tuple, leaf: Array) -> str:
        names = [getattr(key, "name", "") for key in path]
        in_block = not {"blocks", "closing_blocks"}.isdisjoint(names)
        matrix = leaf.ndim == 2 and names[-1] == "weight" and in_block
        return "muon" if config.kind == "muon" and matrix else "adamw"

    return jax.tree_util.tree_map_with_path(rule, weights)
