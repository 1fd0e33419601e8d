"""Codes: check matrices, logical operators and their translations. No noise, no Stim."""

from unmasq.codes.bicycle import BicycleShape, parse_polynomial
from unmasq.codes.catalogue import CATALOGUE, bicycle_code, code_names, get_code
from unmasq.codes.css import CSSCode, css_code
from unmasq.codes.families import FAMILIES, hypergraph_product

__all__ = [
    "CATALOGUE",
    "FAMILIES",
    "BicycleShape",
    "CSSCode",
    "bicycle_code",
    "code_names",
    "css_code",
    "get_code",
    "hypergraph_product",
    "parse_polynomial",
]
