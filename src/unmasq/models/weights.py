"""A network's weights by name, and networks to and from weight files."""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from unmasq.files.array_file import Arrays, Header
from unmasq.files.weight_file import (
    WEIGHTS,
    WeightFile,
    read_weight_file,
    write_weight_file,
)
from unmasq.models import Denoiser, Geometry, NetworkConfig, network_shapes, on_device
from unmasq.problems.fault_graph import FaultGraph
from unmasq.problems.pauli_channel import Qubits
from unmasq.problems.problem_file import MAX_ROWS
from unmasq.problems.rates import NominalRates
from unmasq.problems.site_arrays import Sites, read_sites, write_sites
from unmasq.problems.translates import Translates

STORED_DTYPE = np.float16  # of weights in a file


class NetworkMismatchError(ValueError):
    """Weights that are whole, but of another network."""


def named_arrays(tree: PyTree) -> Arrays:
    """Array leaves by their path, such as 'encoder.blocks.0.mixing.value.weight'."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(eqx.filter(tree, eqx.is_array))
    return {_name(path): np.asarray(leaf) for path, leaf in leaves}


def restore_arrays(tree: PyTree, arrays: Mapping[str, np.ndarray]) -> PyTree:
    """The tree with its arrays, or their shapes, replaced by name; names and shapes must agree."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(eqx.filter(tree, _has_shape))
    names = [_name(path) for path, _ in leaves]
    for what, found in (
        ("hold", [name for name in names if name not in arrays]),
        ("not hold", [name for name in arrays if name not in set(names)]),
    ):
        if found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            raise NetworkMismatchError(
                f"checkpoint must {what} {found[0]}{more}: it belongs to another network."
            )
    new = []
    for path, leaf in leaves:
        array = arrays[_name(path)]
        if array.shape != leaf.shape:
            raise NetworkMismatchError(
                f"{_name(path)} must have shape {leaf.shape}: got {array.shape}. "
                "The checkpoint belongs to another network."
            )
        new.append(jnp.asarray(array, leaf.dtype))
    return eqx.combine(jax.tree_util.tree_unflatten(structure, new), tree)


def with_weights(network: Denoiser, arrays: Mapping[str, np.ndarray]) -> Denoiser:
    """The network with its weights, or their shapes, replaced by name."""
    trained, fixed = eqx.partition(network, _is_weight)
    return eqx.combine(restore_arrays(trained, arrays), fixed)


def _has_shape(leaf: Any) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)


def _is_weight(leaf: Any) -> bool:
    return _has_shape(leaf) and bool(jnp.issubdtype(leaf.dtype, jnp.inexact))


@dataclasses.dataclass(frozen=True, eq=False)
class Weights:
    """A network with what it was trained for."""

    network: Denoiser
    config: NetworkConfig
    geometry: Geometry
    header: dict[str, Any]  # name, structure_id, objective, num_steps, recipe, counts, ...
    model_hash: str  # of config and tensors
    translates: Translates | None = None  # of a problem with symmetry


def save_weights(
    path: str | Path,
    network: Denoiser,
    config: NetworkConfig,
    geometry: Geometry,
    header: Mapping[str, Any],
    dtype: Any = STORED_DTYPE,
    translates: Translates | None = None,
) -> None:
    """One file with 16-bit weights. `header` needs name, structure_id, objective, num_steps."""
    weights = {
        name: array.astype(dtype)
        for name, array in named_arrays(eqx.filter(network, eqx.is_inexact_array)).items()
    }
    facts, arrays = write_sites(Sites(geometry.layout, geometry.symmetry, geometry.tanner))
    if geometry.qubits is not None:
        arrays |= {f"qubits.{name}": getattr(geometry.qubits, name) for name in _QUBITS}
    if geometry.faults is not None:
        arrays |= {f"faults.{name}": getattr(geometry.faults, name) for name in _FAULTS}
    if geometry.rates is not None:
        arrays["rates.nominal"] = geometry.rates.sums
    if translates is not None:
        arrays["translates.logical_maps"] = translates.logical_maps
        arrays["translates.flip_maps"] = translates.flip_maps
    whole = {
        **header,
        "network": dataclasses.asdict(config),
        "num_logicals": geometry.num_logicals,
        **facts,
    }
    write_weight_file(path, WeightFile(whole, weights, arrays))


def load_weights(path: str | Path) -> Weights:
    """Reads a weight file; a cut-off or foreign one is refused."""
    file = read_weight_file(path)
    with WEIGHTS.understanding(path):
        config = NetworkConfig(**file.header["network"])
        _require_sizes(file, config)
        geometry = _geometry_from(file.arrays, file.header)
        translates = _translates_from(file.arrays, geometry)
        shapes = network_shapes(config, geometry)
    network = on_device(with_weights(shapes, file.weights))
    return Weights(network, config, geometry, file.header, file.model_hash, translates)


def _require_sizes(file: WeightFile, config: NetworkConfig) -> None:
    """Sizes that the file has room for: a wrong one would take all time or memory before that."""
    numbers = sum(array.size for array in file.weights.values())
    logicals = numbers
    if "symmetry.basis_tokens" in file.arrays:
        logicals = len(file.arrays["symmetry.basis_tokens"])
    elif config.kind == "masked":
        logicals = math.isqrt(numbers)  # attention among them has weights of its own
    layers = config.encoder_layers + config.closing_layers + config.decoder_layers
    for name, size, most in (
        ("layers", layers, len(file.weights)),
        ("num_frames", file.header["num_frames"], MAX_ROWS),
        ("num_logicals", file.header["num_logicals"], logicals),
    ):
        if type(size) is not int or not 0 <= size <= most:
            raise ValueError(f"{name} must lie in 0..{most}: got {str(size)[:20]}")


_QUBITS = ("of_checks", "logicals_of_x", "logicals_of_z")
_FAULTS = ("sites", "around", "signatures", "logicals", "odds")


def _geometry_from(arrays: Arrays, header: Header) -> Geometry:
    layout, symmetry, tanner = read_sites(header, arrays)
    qubits = None
    if "qubits.of_checks" in arrays:
        qubits = Qubits(*(arrays[f"qubits.{name}"] for name in _QUBITS))
    faults = None
    if "faults.around" in arrays:
        faults = FaultGraph(*(arrays[f"faults.{name}"] for name in _FAULTS))
    rates = None
    if header["network"].get("told_rates"):
        rates = NominalRates(layout, arrays["rates.nominal"])
    return Geometry(layout, header["num_logicals"], symmetry, qubits, faults, tanner, rates)


def _translates_from(arrays: Mapping[str, np.ndarray], geometry: Geometry) -> Translates | None:
    if geometry.symmetry is None or "translates.flip_maps" not in arrays:
        return None
    maps = (arrays["translates.logical_maps"], arrays["translates.flip_maps"])
    return Translates.under(geometry.symmetry, geometry.layout, *maps)


_STORED = {"bp_embedding": "told"}  # names that files and hashes keep


def _name(path: tuple) -> str:
    parts = [
        str(getattr(key, "name", getattr(key, "key", getattr(key, "idx", key)))) for key in path
    ]
    return ".".join(_STORED.get(part, part) for part in parts)
