"""Weights to start a run from: those of the same problem as they are, those of another lifted.

Networks of messages may have more layers than the weights: see `models.growing`.
"""

from collections.abc import Callable
from pathlib import Path

import equinox as eqx

from unmasq.decoding.model_store import find_model
from unmasq.files.array_file import Arrays
from unmasq.files.weight_file import glance_at
from unmasq.models import Denoiser, geometry_for
from unmasq.models.growing import grown
from unmasq.models.lifting import BELIEFS, RATES, Side, fate_table, lifted
from unmasq.models.tie_names import Origin
from unmasq.models.weights import load_weights, named_arrays, with_weights
from unmasq.problems.problem import DecodingProblem
from unmasq.training.config import TrainConfig
from unmasq.training.run_folder import RunFolder, load_average


def init_path(init: str | Path) -> Path:
    """A weight file, checkpoint or run, or the weight file of a known model's name."""
    path = Path(init)
    return path if path.exists() else find_model(init).path


def started(
    network: Denoiser,
    init: Path,
    config: TrainConfig,
    problem: DecodingProblem,
    say: Callable[[str], None],
) -> tuple[Denoiser, Arrays]:
    """The network with weights from `init`, and those weights as they were."""
    start = load_average(init)
    network, arrays, added, words = grown(network, start)
    fresh = named_arrays(eqx.filter(network, eqx.is_inexact_array))
    source = _source(init) if config.network.mixing == "messages" else None
    if source is None or source[1] == problem.structure_id:
        untold = {name: fresh[name] for name in (RATES, BELIEFS) if name in fresh}  # 0 at first
        for line in words:
            say(line)
        return with_weights(network, {**untold, **added, **arrays}), start
    new = Side(config.network, geometry_for(config.network, problem), _origin(problem))
    found, shares = lifted(source[0], arrays, new, fresh)
    say(f"lifting {_named(source[0])} to {_named(new)}")
    for line in [*words, *fate_table(shares)]:
        say(line)
    return with_weights(network, found), start


def _source(init: Path) -> tuple[Side, str] | None:
    """The network that the weights belong to, and its problem; None where nothing tells."""
    if (init / "problem.safetensors").exists():
        config, problem = RunFolder(init).open()
        geometry = geometry_for(config.network, problem)
        return Side(config.network, geometry, _origin(problem)), problem.structure_id
    files = sorted(init.glob("*.safetensors")) if init.is_dir() else [init]
    files = [file for file in files if file.suffix == ".safetensors" and glance_at(file)]
    if not files:  # a checkpoint, or a slim copy of a run that has no end yet
        return None
    weights = load_weights(files[0])
    origin = Origin.of(weights.header.get("problem", {}))
    return Side(weights.config, weights.geometry, origin), weights.header["structure_id"]


def _origin(problem: DecodingProblem) -> Origin:
    return Origin(problem.code, problem.basis)


def _named(side: Side) -> str:
    frames = side.geometry.layout.num_frames
    rounds = f", {frames - 1} round{'s' * (frames > 2)}" if frames > 1 else ""
    return f"{side.origin.code or 'a problem of its own'}{rounds}, basis {side.origin.basis}"
