"""A trained network on another number of rounds than it was trained for."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from unmasq.models.circuit_beliefs import CircuitBeliefs
from unmasq.models.geometry import Geometry
from unmasq.models.masked import MaskedDenoiser


def for_rounds(network: MaskedDenoiser, geometry: Geometry) -> MaskedDenoiser:
    """The same weights for `geometry`, which differs only in its number of rounds R'.

    Frame r < R' takes the trained K[min(r, R - 1)]; the last, noiseless frame takes K[R]. Nothing
    else in the network knows the frame, and messages have no K.
    """
    trained = network.encoder.code_weights
    frames = geometry.layout.num_frames
    if not network.encoder.blocks or min(len(network.encoder.grid), frames) < 2:
        raise ValueError("rounds must be at least 1, in the problem and in the network's training.")
    sizes = (network.encoder.grid.shape[1], network.num_logicals)
    wanted = (geometry.layout.num_checks, geometry.num_logicals)
    if sizes != wanted:
        raise ValueError(
            f"geometry must have the network's {sizes[0]} check sites and {sizes[1]} logicals: "
            f"got {wanted[0]} and {wanted[1]}."
        )
    grid = jnp.asarray(geometry.layout.grid())
    if geometry.faults is not None and network.encoder.beliefs is not None:
        beliefs = network.encoder.beliefs
        assert isinstance(beliefs, CircuitBeliefs)  # with faults
        network = eqx.tree_at(lambda net: net.encoder.beliefs, network, beliefs.on(geometry.faults))
    if trained is None:
        return eqx.tree_at(lambda net: net.encoder.grid, network, grid)
    last = len(trained) - 1
    kept = np.minimum(np.arange(frames), last - 1)
    kept[-1] = last
    return eqx.tree_at(
        lambda net: (net.encoder.code_weights, net.encoder.grid),
        network,
        (trained[kept], grid),
    )
