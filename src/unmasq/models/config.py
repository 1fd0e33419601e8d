"""The shape of a network, as saved beside its weights."""

import dataclasses

MAX_LAYERS = 1000


@dataclasses.dataclass(frozen=True)
class NetworkConfig:
    """Masked or continuous denoiser. Without encoder layers the checks are embedded directly."""

    kind: str = "masked"
    width: int = 256  # d_m
    feedforward: int = 512  # d_f
    heads: int = 8  # n_h
    encoder_layers: int = 3  # N_EL, run once for each frame
    decoder_layers: int = 3  # N_DL
    ties: str = "free"
    norm: str = "post"
    biases: bool = True  # of linear maps and norms; their gradients cost passes over memory
    bp_iterations: int = 0  # of belief propagation, before all else
    bp_scaling: float = 0.5  # of its min-sum messages
    bp_use: str = "start"  # decode what it leaves; a "hint" of odds; or "filter" what it solves
    bp_memory: float = 0.0  # gamma: how much a fault's prior is what was believed before; circuits
    place_weights: bool = False  # a trainable W beside each decoder A (A * W, W = 1 at first)
    time_width: int = 128  # d_t of the continuous denoiser
    mixing: str = "attention"  # of the encoder, or "messages" along the Tanner graph
    message_width: int = 128  # b, of each message
    decoder: str = "joint"  # or "still": only the logicals move, the checks stay as encoded
    told_rates: bool = False  # of the faults around each check, beside its bit
    closing_layers: int = 0  # of messages, run once after the last frame; the identity at first

    @property
    def has_code_weights(self) -> bool:
        """Whether the encoder has K[r], which starts from the problem."""
        return self.mixing == "attention" and self.encoder_layers > 0

    def __post_init__(self) -> None:
        sizes = ("width", "feedforward", "heads", "decoder_layers", "time_width", "message_width")
        for name in sizes:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1: got {getattr(self, name)}.")
        for name in ("encoder_layers", "closing_layers", "bp_iterations"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0: got {getattr(self, name)}.")
        for name in ("encoder_layers", "closing_layers", "decoder_layers"):
            if getattr(self, name) > MAX_LAYERS:  # built one by one, until memory ends
                raise ValueError(f"{name} must be at most {MAX_LAYERS}: got {getattr(self, name)}.")
        if not 0 < self.bp_scaling <= 1:
            raise ValueError(f"bp_scaling must lie in (0, 1]: got {self.bp_scaling}.")
        if not 0 <= self.bp_memory < 1:
            raise ValueError(f"bp_memory must lie in [0, 1): got {self.bp_memory}.")
        if self.kind == "continuous" and self.bp_iterations:
            raise ValueError(
                f"bp_iterations must be 0 for a continuous network: got {self.bp_iterations}."
            )
        if self.width % self.heads:
            raise ValueError(
                f"heads must divide width: got {self.heads} heads for width {self.width}."
            )
        for name, choices in (
            ("kind", ("masked", "continuous")),
            ("ties", ("free", "tied")),
            ("norm", ("post", "pre")),
            ("mixing", ("attention", "messages")),
            ("decoder", ("joint", "still")),
            ("bp_use", ("start", "hint", "filter")),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} must be one of {', '.join(choices)}: got '{getattr(self, name)}'."
                )
        if self.closing_layers and self.mixing != "messages":
            raise ValueError(
                "closing_layers must be 0 for a network without messages: got "
                f"{self.closing_layers}. Set network.mixing=messages."
            )
        if self.told_rates and (self.kind == "continuous" or self.encoder_layers == 0):
            raise ValueError(
                "told_rates must be false for a network without encoder layers, or a continuous "
                "one: got true. Set network.encoder_layers=2."
            )
        if self.told_rates and self.bp_iterations:
            raise ValueError(
                "told_rates must be false for a network that begins with belief propagation: got "
                "true. Set network.bp_iterations=0."
            )
        if self.kind == "continuous" and (self.mixing, self.decoder) != ("attention", "joint"):
            raise ValueError(
                "mixing and decoder must be left alone for a continuous network: got "
                f"'{self.mixing}' and '{self.decoder}'."
            )
