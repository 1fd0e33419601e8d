"""What all stub networks share: no belief propagation, so they begin with the shots themselves."""

import equinox as eqx

from unmasq.models.masked import Beginning


class StubNetwork(eqx.Module):
    """Subclasses have `encode` and `denoise`."""

    def begin(self, syndrome, sources=None):
        return Beginning(self.encode(syndrome), syndrome, None)
