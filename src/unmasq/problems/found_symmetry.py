"""What a circuit tells of its decoding problem: symmetry and Tanner graph.

An element is kept if it moves whole checks, frame by frame. A token is a logical as a function of
the faults: basis logical k under element g is flipped by the faults that g makes of those that flip
k. That names the translates of the basis by H and L alone, up to what no fault can tell apart.
"""

import contextlib
import dataclasses
import logging
from typing import TYPE_CHECKING

import numpy as np

from unmasq.circuits.circuit_graph import circuit_graph
from unmasq.circuits.circuit_symmetry import GroupTooLargeError, circuit_symmetry
from unmasq.circuits.timelines import Timelines, timelines_of
from unmasq.codes.lookup import Words, random_words, xor_at_ones
from unmasq.codes.symmetry import Indices, Symmetry
from unmasq.problems.moved_faults import MovedFaults
from unmasq.problems.problem import DecodingProblem, Layout

if TYPE_CHECKING:
    import stim

_log = logging.getLogger("unmasq")
MAX_TOKENS = 2048  # tables of joint attention grow with their square


def with_structure(problem: DecodingProblem, circuit: "stim.Circuit") -> DecodingProblem:
    """The problem with the symmetry, the Tanner graph and the check types found in its circuit."""
    lines = timelines_of(circuit)
    problem, qubit_images = _with_symmetry(problem, lines)
    found = circuit_graph(lines, problem.layout.check, problem.layout.num_checks)
    if found is None:
        return problem
    graph, moved = found.tanner, qubit_images[:, found.data]
    if problem.symmetry is not None and np.isin(moved, found.data).all():
        data_images = np.searchsorted(found.data, moved).astype(np.int32)
        with contextlib.suppress(ValueError):  # relations by type and tick stay
            graph = graph.under(problem.symmetry.check_images, data_images)
    layout = dataclasses.replace(problem.layout, check_type=found.check_type)
    return dataclasses.replace(problem, tanner=graph, layout=layout)


def _with_symmetry(problem: DecodingProblem, lines: Timelines) -> tuple[DecodingProblem, Indices]:
    """With the symmetry, if it has one that can be listed, and what it does to the qubits."""
    try:
        found = circuit_symmetry(lines)
    except GroupTooLargeError as error:
        _log.warning("note: no symmetry is used: %s", error)
        return problem, np.zeros((0, lines.num_qubits), np.int32)
    images, elements = check_images(found.detector_images, problem.layout)
    if len(images) > 1:
        symmetry = symmetry_of_problem(problem, images)
        problem = with_symmetry(problem, symmetry, "circuit")
    return problem, found.qubit_images[elements]


def with_symmetry(
    problem: DecodingProblem, symmetry: Symmetry | None, whose: str
) -> DecodingProblem:
    """The problem with a symmetry, or as it is, with a note, where H, L or the noise lack it."""
    try:
        return dataclasses.replace(problem, symmetry=symmetry)
    except ValueError as error:  # such as of a code of distance 2: only logicals tell faults apart
        _log.warning("note: the %s's symmetry is not used: %s", whose, error)
        return problem


def check_images(detector_images: Indices, layout: Layout) -> tuple[Indices, Indices]:
    """Images of the check sites, distinct rows, and the element that each row comes from."""
    found: dict[bytes, tuple[Indices, int]] = {}
    for g, moved in enumerate(detector_images):
        images = np.full(layout.num_checks, -1, np.int32)
        images[layout.check] = layout.check[moved]
        whole = (images[layout.check] == layout.check[moved]).all()
        if whole and np.array_equal(layout.frame[moved], layout.frame):
            found.setdefault(images.tobytes(), (images, g))
    rows, elements = zip(*found.values(), strict=True)
    return np.stack(rows), np.array(elements, np.int32)


def symmetry_of_problem(problem: DecodingProblem, images: Indices) -> Symmetry | None:
    """A group of check permutations with its tokens; None where it has too many of them."""
    order = len(images)
    number = {row.tobytes(): g for g, row in enumerate(images)}
    identity = number[np.arange(images.shape[1], dtype=images.dtype).tobytes()]
    hashes = _token_hashes(problem, images)
    if hashes is None:
        return None
    token: dict[int, int] = {}
    source = []  # (element, logical) of each token
    for k in range(problem.num_logicals):
        for g in [identity, *range(order)]:
            if int(hashes[g, k]) not in token:
                token[int(hashes[g, k])] = len(token)
                source.append((g, k))
    if len(token) > MAX_TOKENS:
        return None
    token_images = np.empty((order, len(token)), np.int32)
    for h in range(order):
        products = [number[images[h][images[g]].tobytes()] for g in range(order)]
        token_images[h] = [token[int(hashes[products[g], k])] for g, k in source]
    basis = np.array([token[int(word)] for word in hashes[identity]], np.int32)
    if len(np.unique(basis)) < len(basis):
        return None
    return Symmetry(images, token_images, basis)


def _token_hashes(problem: DecodingProblem, images: Indices) -> Words | None:
    """The XOR of random words over the faults that flip logical k under element g, (G, K).

    Only of clear ones: of the others, detectors do not tell where they go.
    """
    faults = MovedFaults(problem)
    words = random_words(problem.num_faults, faults.rng)
    hashes = []
    for check_images in images:
        goals, found = faults.goals(check_images)
        if not found[faults.clear].all():
            return None
        hashes.append(xor_at_ones(faults.logical_rows, words[goals] * faults.clear))
    return np.stack(hashes)
