"""A network from its config and geometry."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from unmasq.models.config import NetworkConfig
from unmasq.models.continuous import ContinuousDenoiser
from unmasq.models.geometry import Geometry
from unmasq.models.masked import MaskedDenoiser

Denoiser = MaskedDenoiser | ContinuousDenoiser


def build_network(
    config: NetworkConfig,
    geometry: Geometry,
    code_weights: np.ndarray | None = None,
    *,
    key: PRNGKeyArray,
) -> Denoiser:
    """Random weights; `code_weights` start K (see `initial_code_weights`), else K starts at 1."""
    return on_device(_construct(config, geometry, code_weights, key=key))


def network_shapes(config: NetworkConfig, geometry: Geometry) -> Denoiser:
    """The network with shapes in place of weights: nothing is drawn, so nothing is compiled.

    Drawing the weights of [[72,12,6]], only to replace them, would take a decoder seconds.
    """
    indices: list[Denoiser] = []

    def draw() -> Denoiser:
        network = _construct(config, geometry, key=jr.key(0))
        weights, rest = eqx.partition(network, eqx.is_inexact_array)
        indices.append(rest)  # numpy arrays still
        return weights

    return eqx.combine(jax.eval_shape(draw), indices[0])


def on_device(network: Denoiser) -> Denoiser:
    """Index arrays moved from the host, where constructors leave them."""
    return jax.tree.map(
        lambda leaf: jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf, network
    )


def _construct(
    config: NetworkConfig,
    geometry: Geometry,
    code_weights: np.ndarray | None = None,
    *,
    key: PRNGKeyArray,
) -> Denoiser:
    if config.kind == "continuous":
        return ContinuousDenoiser(config, geometry, key=key)
    return MaskedDenoiser(config, geometry, code_weights, key=key)
