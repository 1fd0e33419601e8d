"""What the duality of a bicycle code makes of a network's names: X and Z exchange their roles.

H_X = [A | B] and H_Z = [B^T | A^T] change places when qubit L i goes to R -i, R i to L -i, X check
i to Z check -i and Z check i to X check -i. That leaves the Tanner graph as it is, so a network of
messages for the logicals of one basis, under its dual names, is one for those of the other. The
schedule of the CNOTs is not symmetric: other faults are likely then, so this is a start, no more.
"""

import dataclasses
from collections.abc import Hashable, Mapping

import numpy as np

from unmasq.codes import get_code
from unmasq.codes.bicycle import BicycleShape
from unmasq.codes.css import CSSCode
from unmasq.codes.symmetry import Indices, Symmetry
from unmasq.codes.tanner_graph import TannerGraph
from unmasq.models.geometry import Geometry
from unmasq.models.tie_names import Origin, joint_names, numbered_pairs, readout_names

OTHER = {"X": "Z", "Z": "X"}


def dual_relations(geometry: Geometry, origin: Origin) -> dict[str, str] | None:
    """The relation that the duality takes each one to, such as X2 to Z6.

    None for other codes than bicycle codes, and where a relation's edges go to several ones.
    """
    code, graph = None if origin.code is None else get_code(origin.code), geometry.tanner
    if code is None or code.bicycle is None or graph is None or origin.basis not in OTHER:
        return None
    if not _alike(geometry.symmetry, code.symmetries[origin.basis]):
        return None  # its checks or logicals are other ones than the code's
    return _exchanged(graph, code.bicycle)


def dual_names(
    geometry: Geometry, origin: Origin, relations: Mapping[str, str], still: bool
) -> dict[Hashable, Hashable]:
    """Of check types and tied attention values, for which there are `dual_relations`.

    The name of a value is that of the dual pair, in a network of the same code's other basis.
    """
    assert origin.code is not None
    code = get_code(origin.code)
    dual = Origin(origin.code, OTHER[origin.basis])
    own, theirs = (code.symmetries[basis] for basis in (origin.basis, dual.basis))
    images = _dual_images(code, origin.basis)
    values, dual_values = numbered_pairs(own, still), numbered_pairs(theirs, still)
    moved = dual_values[np.ix_(images[: len(values)], images)]
    named = readout_names if still else joint_names
    names = named(dataclasses.replace(geometry, symmetry=own), origin)
    partners = named(dataclasses.replace(geometry, symmetry=theirs), dual)
    pairs = np.unique(np.stack([values.ravel(), moved.ravel()]), axis=1)
    assert pairs.shape[1] == len(names), "The duality takes orbits to orbits."
    ties = {names[value]: partners[partner] for value, partner in pairs.T}
    return {**OTHER, **relations, **ties}


def _alike(symmetry: Symmetry | None, other: Symmetry) -> bool:
    return symmetry is not None and all(
        np.array_equal(getattr(symmetry, images), getattr(other, images))
        for images in ("check_images", "token_images")
    )


def _exchanged(graph: TannerGraph, shape: BicycleShape) -> dict[str, str] | None:
    images = shape.dual_qubits()  # of the checks as well: X check i is numbered as qubit L i
    if not len(images) == graph.num_checks == graph.num_qubits:
        return None
    relation_of = np.full((graph.num_checks, graph.num_qubits), -1)
    relation_of[graph.check, graph.qubit] = graph.relation
    found = relation_of[images[graph.check], images[graph.qubit]]
    pairs = np.unique(np.stack([graph.relation, found]), axis=1)
    if (found < 0).any() or pairs.shape[1] != graph.num_relations:
        return None
    return {graph.names[relation]: graph.names[partner] for relation, partner in pairs.T}


def _dual_images(code: CSSCode, basis: str) -> Indices:
    """Where the duality takes the logical tokens of a basis, then the checks, in the other's."""
    assert code.bicycle is not None
    both, checks = code.symmetries["XZ"], code.bicycle.dual_qubits()
    (element,) = np.flatnonzero((both.check_images == checks).all(axis=1))
    x, z = np.split(both.token_images[element], [code.symmetries["X"].num_tokens])
    tokens = x - len(x) if basis == "X" else z
    return np.concatenate([tokens, len(tokens) + checks]).astype(np.int32)
