"""Diffusion decoders for quantum LDPC codes: problems, training, decoding, measurement.

The public names load on first use, so that `import unmasq` brings in neither jax nor stim.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmasq.api import evaluate, train
    from unmasq.circuits import NoiseModel, capacity_circuit, memory_circuit
    from unmasq.codes import CSSCode, bicycle_code, code_names, css_code, get_code
    from unmasq.decoding.diffusion_decoder import DiffusionDecoder, load
    from unmasq.decoding.sinter_adapter import sinter_decoders
    from unmasq.problems.building import (
        problem_from_circuit,
        problem_from_code,
        problem_from_dem,
        problem_from_matrices,
    )
    from unmasq.problems.problem import DecodingProblem
    from unmasq.problems.problem_file import load_problem, save_problem

__version__ = "0.1.0"

__all__ = [
    "CSSCode",
    "DecodingProblem",
    "DiffusionDecoder",
    "NoiseModel",
    "bicycle_code",
    "capacity_circuit",
    "code_names",
    "css_code",
    "evaluate",
    "get_code",
    "load",
    "load_problem",
    "memory_circuit",
    "problem_from_circuit",
    "problem_from_code",
    "problem_from_dem",
    "problem_from_matrices",
    "save_problem",
    "sinter_decoders",
    "train",
]

_HOME = {
    "CSSCode": "unmasq.codes",
    "DecodingProblem": "unmasq.problems.problem",
    "DiffusionDecoder": "unmasq.decoding.diffusion_decoder",
    "NoiseModel": "unmasq.circuits",
    "bicycle_code": "unmasq.codes",
    "capacity_circuit": "unmasq.circuits",
    "code_names": "unmasq.codes",
    "css_code": "unmasq.codes",
    "evaluate": "unmasq.api",
    "get_code": "unmasq.codes",
    "load": "unmasq.decoding.diffusion_decoder",
    "load_problem": "unmasq.problems.problem_file",
    "memory_circuit": "unmasq.circuits",
    "problem_from_circuit": "unmasq.problems.building",
    "problem_from_code": "unmasq.problems.building",
    "problem_from_dem": "unmasq.problems.building",
    "problem_from_matrices": "unmasq.problems.building",
    "save_problem": "unmasq.problems.problem_file",
    "sinter_decoders": "unmasq.decoding.sinter_adapter",
    "train": "unmasq.api",
}


def __getattr__(name: str) -> Any:
    """Imports the module that a public name lives in, and keeps the name."""
    if name not in _HOME:
        from unmasq.suggest import nearest

        raise AttributeError(f"module 'unmasq' has no name '{name}'.{nearest(name, _HOME)}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
