"""Decoders that read syndromes and predict which logicals flipped."""

from unmasq.decoding.decoder import Decoder

__all__ = ["Decoder"]
