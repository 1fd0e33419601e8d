"""Networks: syndromes (and partly hidden logicals) in, log-odds out."""

from unmasq.models.build import Denoiser, build_network, network_shapes, on_device
from unmasq.models.config import NetworkConfig
from unmasq.models.continuous import ContinuousDenoiser
from unmasq.models.geometry import Geometry, geometry_for, initial_code_weights
from unmasq.models.layers import cast_floats, count_parameters
from unmasq.models.masked import MaskedDenoiser
from unmasq.models.rounds import for_rounds

__all__ = [
    "ContinuousDenoiser",
    "Denoiser",
    "Geometry",
    "MaskedDenoiser",
    "NetworkConfig",
    "build_network",
    "cast_floats",
    "count_parameters",
    "for_rounds",
    "geometry_for",
    "initial_code_weights",
    "network_shapes",
    "on_device",
]
