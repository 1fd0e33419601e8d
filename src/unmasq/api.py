"""Training and measuring from Python: what the command line does, with its defaults and files."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unmasq.problems.problem import DecodingProblem

if TYPE_CHECKING:
    from unmasq.decoding.diffusion_decoder import DiffusionDecoder
    from unmasq.evaluation.counts import Counts

_log = logging.getLogger("unmasq")
DEFAULT_MINUTES = 10.0
DEFAULT_MAX_SHOTS = 10_000


def train(
    problem: DecodingProblem,
    *,
    out: str | Path,
    minutes: float = DEFAULT_MINUTES,
    init: str | Path | None = None,
    settings: Sequence[str] = (),
) -> "DiffusionDecoder":
    """Trains a decoder for any problem, as `unmasq train own` does; returns it.

    The network, the batch and the learning rate are chosen by the problem's size and the device;
    `settings` change them ("network.width=128"). `out` becomes a run folder, which `unmasq
    evaluate --model`, `unmasq.load` and sinter take. It takes `minutes`, compilation included, and
    some seconds more to measure; `init` starts from the weights of a file or a run.

    >>> from unmasq.codes import get_code
    >>> from unmasq.problems.building import problem_from_code
    >>> problem = problem_from_code(get_code("toric:3"), "circuit", 0.004)
    >>> decoder = train(problem, out="runs/torus", minutes=10)  # doctest: +SKIP
    """
    import jax

    from unmasq.decoding.diffusion_decoder import load
    from unmasq.recipes.chosen import chosen_recipe, chosen_words
    from unmasq.training import override
    from unmasq.training.loop import RunTimes
    from unmasq.training.loop import train as run_training
    from unmasq.training.run_folder import RunFolder

    accelerator = jax.default_backend() != "cpu"
    config = override(chosen_recipe(problem, accelerator=accelerator), settings)
    _log.info("%s", chosen_words(problem, config))
    fixed = any(setting.startswith("num_updates=") for setting in settings)
    times = RunTimes(minutes if fixed else None, None if fixed else minutes)
    run_training(config, problem, RunFolder(out), init=init, times=times, say=_log.info)
    return load(out)


def evaluate(
    decoders: "Sequence[str | Path | DiffusionDecoder]",
    problem: DecodingProblem,
    *,
    p: Sequence[float] = (),
    max_shots: int = DEFAULT_MAX_SHOTS,
    max_errors: int | None = None,
    minutes: float | None = None,
    save: str | Path | None = None,
    seed: int = 0,
    workers: int | None = None,
) -> "list[Counts]":
    """Counts of decoders on the same numbered shots, as `unmasq evaluate` does.

    A decoder is a network (loaded, a weight file, a run folder or a known model's name) or the name
    of a baseline. Error rates default to the problem's own; `save` names a CSV that sinter reads
    and that a later call goes on with. A script that uses several processes for its baselines
    (`workers`, all cores by default) needs the usual `if __name__ == "__main__":`.

    >>> from unmasq.codes import get_code
    >>> from unmasq.problems.building import problem_from_code
    >>> problem = problem_from_code(get_code("toric:2"), "circuit", 0.004, rounds=1)
    >>> counts = evaluate(["bposd-xz"], problem, max_shots=64, workers=1)
    >>> counts[0].point.decoder, counts[0].shots
    ('bposd-xz', 64)
    """
    from unmasq.baselines import is_baseline
    from unmasq.evaluation.collect import collect
    from unmasq.evaluation.contenders import baseline, network
    from unmasq.evaluation.limits import Limits

    return collect(
        [baseline(str(each)) if is_baseline(str(each)) else network(each) for each in decoders],
        problem,
        list(p) or [problem.p],
        Limits(max_shots, max_errors),
        minutes=minutes,
        save=save,
        seed=seed,
        workers=workers,
    )


def rivals(problem: DecodingProblem) -> list[str]:
    """The baselines that a decoder of this problem should be compared with."""
    from unmasq.baselines.matching import is_matchable

    return ["bposd-xz", *(["pymatching"] if is_matchable(problem) else [])]
