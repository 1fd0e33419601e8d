"""How a trained network is asked: each rule turns one batch of syndromes into logicals.

A rule is a small value, so that decoders which ask alike share one compiled function.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from jaxtyping import Array, Float32, Int32, Shaped, UInt8

from unmasq.decoding.asking import Asking
from unmasq.decoding.identity import Identity
from unmasq.decoding.noise_removal import remove_noise
from unmasq.decoding.unmasking import Unmasked, unmask, unmask_adaptively, unmask_in_order


@dataclasses.dataclass(frozen=True)
class Unmasking:
    """Reveals bit after bit. It asks only the denoiser: the shots may be encoded already."""

    function: Callable[..., Unmasked]  # of denoise, number of shots, number of logicals
    setting: int | float | None = None  # and of this: T or tau

    def __call__(self, network: Any, num_logicals: int, syndrome: UInt8[Array, "B M"]) -> Unmasked:
        memory, _, guess = network.begin(syndrome)
        return self.reveal(network, num_logicals, memory).on(guess)

    def reveal(self, network: Any, num_logicals: int, memory: Shaped[Array, "n B d"]) -> Unmasked:
        """Asks for the logicals of shots that are encoded."""
        denoise = functools.partial(network.denoise, memory)
        settings = () if self.setting is None else (self.setting,)
        return self.function(denoise, memory.shape[1], num_logicals, *settings)


@dataclasses.dataclass(frozen=True)
class FromNoise:
    """Reverse Gaussian steps: the continuous decoder. `num_steps` of the trained ones are used."""

    trained_steps: int
    num_steps: int

    def __call__(self, network: Any, num_logicals: int, syndrome: UInt8[Array, "B M"]) -> Unmasked:
        def predict(noisy: Float32[Array, "B K"], t: Int32[Array, " B"]) -> Float32[Array, "B K"]:
            return network(noisy, syndrome, t)

        return remove_noise(
            predict, syndrome.shape[0], num_logicals, self.trained_steps, self.num_steps
        )


def rule_of(identity: Identity, asking: Asking) -> Unmasking | FromNoise:
    """The rule of a settled way of asking."""
    if asking.threshold is not None:
        return Unmasking(unmask_adaptively, asking.threshold)
    if asking.num_steps is None:
        return Unmasking(unmask_in_order)
    if identity.objective == "continuous":
        return FromNoise(identity.trained_steps, asking.num_steps)
    return Unmasking(unmask, asking.num_steps)
