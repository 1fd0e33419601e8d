"""A network from its config and geometry."""

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
    if config.kind == "continuous":
        return ContinuousDenoiser(config, geometry, key=key)
    return MaskedDenoiser(config, geometry, code_weights, key=key)
