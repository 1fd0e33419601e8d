"""Check sites in files: layout, symmetry and Tanner graph, which problems and weights both keep."""

from typing import NamedTuple

from unmasq.codes.symmetry import Symmetry
from unmasq.codes.tanner_graph import TannerGraph
from unmasq.files.array_file import Arrays, Header
from unmasq.problems.problem import Layout

_LAYOUT = ("frame", "check", "check_type")
_SYMMETRY = ("check_images", "token_images", "basis_tokens")


class Sites(NamedTuple):
    """Where the detectors stand, and what is known of their checks."""

    layout: Layout
    symmetry: Symmetry | None
    tanner: TannerGraph | None


def write_sites(sites: Sites) -> tuple[Header, Arrays]:
    """What `read_sites` reads."""
    header: Header = {"num_frames": sites.layout.num_frames}
    arrays = {f"layout.{name}": getattr(sites.layout, name) for name in _LAYOUT}
    if sites.symmetry is not None:
        arrays |= {f"symmetry.{name}": getattr(sites.symmetry, name) for name in _SYMMETRY}
    if sites.tanner is not None:
        arrays |= sites.tanner.arrays()
        header["tanner"] = sites.tanner.facts()
    return header, arrays


def read_sites(header: Header, arrays: Arrays) -> Sites:
    """From a file's header and arrays."""
    symmetry = tanner = None
    if "symmetry.check_images" in arrays:
        symmetry = Symmetry(*(arrays[f"symmetry.{name}"] for name in _SYMMETRY))
    if "tanner" in header:
        tanner = TannerGraph.read(arrays, header["tanner"])
    frame, check, check_type = (arrays[f"layout.{name}"] for name in _LAYOUT)
    return Sites(Layout(frame, check, check_type, header["num_frames"]), symmetry, tanner)
