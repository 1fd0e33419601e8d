"""What all stub networks share: no belief propagation, so they begin with the shots themselves."""

import equinox as eqx

from unmasq.models.masked import EncodedShots


class StubNetwork(eqx.Module):
    """Subclasses have `encode` and `denoise`."""

    def begin(self, syndrome, sources=None):
        return EncodedShots(self.encode(syndrome), syndrome, None)
