"""Decoders that read syndromes and predict which logicals flipped."""

from unmasq.decoding.decoder import Decoder, check_syndromes

__all__ = ["Decoder", "check_syndromes"]
