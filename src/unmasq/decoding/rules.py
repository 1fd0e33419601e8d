"""How a trained network is asked: each rule turns one batch of syndromes into logicals.

A rule is a small value, so that decoders which ask alike share one compiled function.
"""

import abc
import dataclasses
import functools
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Array, Float, Float32, Int32, UInt8

from unmasq.decoding.asking import Asking
from unmasq.decoding.identity import Identity
from unmasq.decoding.noise_removal import remove_noise
from unmasq.decoding.unmasking import Unmasked, unmask, unmask_adaptively, unmask_in_order


@runtime_checkable
class Rule(Protocol):
    """Asks a network for the logicals of a batch."""

    def __hash__(self) -> int: ...

    def __call__(
        self, network: Any, syndrome: UInt8[Array, "B M"], num_logicals: int
    ) -> Unmasked: ...


class MemoryRule(abc.ABC):
    """Rules that ask only the denoiser: the shots may be encoded already."""

    def __call__(self, network: Any, syndrome: Array, num_logicals: int) -> Unmasked:
        memory, _, guess = network.begin(syndrome)
        return self.reveal(network, memory, num_logicals).on(guess)

    @abc.abstractmethod
    def reveal(self, network: Any, memory: Float[Array, "n B d"], num_logicals: int) -> Unmasked:
        """Asks for the logicals of shots that are encoded."""


@dataclasses.dataclass(frozen=True)
class InSteps(MemoryRule):
    """T steps, the most confident bits first."""

    num_steps: int

    def reveal(self, network: Any, memory: Array, num_logicals: int) -> Unmasked:
        denoise = functools.partial(network.denoise, memory)
        return unmask(denoise, memory.shape[1], num_logicals, self.num_steps)


@dataclasses.dataclass(frozen=True)
class Adaptively(MemoryRule):
    """Every step reveals all bits with |logit| >= threshold, and at least one."""

    threshold: float

    def reveal(self, network: Any, memory: Array, num_logicals: int) -> Unmasked:
        denoise = functools.partial(network.denoise, memory)
        return unmask_adaptively(denoise, memory.shape[1], num_logicals, self.threshold)


@dataclasses.dataclass(frozen=True)
class InOrder(MemoryRule):
    """One bit after the other: the autoregressive decoder."""

    def reveal(self, network: Any, memory: Array, num_logicals: int) -> Unmasked:
        denoise = functools.partial(network.denoise, memory)
        return unmask_in_order(denoise, memory.shape[1], num_logicals)


@dataclasses.dataclass(frozen=True)
class FromNoise:
    """Reverse Gaussian steps: the continuous decoder. `num_steps` of the trained ones are used."""

    trained_steps: int
    num_steps: int

    def __call__(self, network: Any, syndrome: Array, num_logicals: int) -> Unmasked:
        def predict(noisy: Float32[Array, "B K"], t: Int32[Array, " B"]) -> Float32[Array, "B K"]:
            return network(noisy, syndrome, t)

        return remove_noise(
            predict, syndrome.shape[0], num_logicals, self.trained_steps, self.num_steps
        )


def rule_of(identity: Identity, asking: Asking) -> Rule:
    """The rule of a settled way of asking."""
    if asking.threshold is not None:
        return Adaptively(asking.threshold)
    if asking.num_steps is None:
        return InOrder()
    if identity.objective == "continuous":
        return FromNoise(identity.trained_steps, asking.num_steps)
    return InSteps(asking.num_steps)
