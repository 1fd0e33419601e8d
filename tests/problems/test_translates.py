"""The logicals of translated shots, against the columns of H and L and a tied encoder."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from unmasq.codes import get_code
from unmasq.models import NetworkConfig, build_network, geometry_for
from unmasq.models.views import Views
from unmasq.models.views import moved as moved_memory
from unmasq.problems.building import problem_from_code
from unmasq.problems.translates import translates_of
from unmasq.shots.sampling import ShotSampler


def make(name, basis):
    code = get_code(name)
    if basis == "XZ":
        return problem_from_code(code, "code-capacity", 0.01)
    return problem_from_code(code, "circuit", 0.006, 2, basis)


def moved_syndrome(problem, syndrome, sources):
    frames = np.asarray(syndrome).reshape(len(syndrome), problem.layout.num_frames, -1)
    return frames[:, :, sources].reshape(len(syndrome), -1)


@pytest.mark.parametrize("basis", ["X", "Z", "XZ"])
@pytest.mark.parametrize("name", ["bb18", "bb36", "bb72"])
def test_every_fault_moves_to_a_fault_with_its_prior_and_its_logicals(name, basis):
    problem = make(name, basis)
    translates = translates_of(problem)
    layout = problem.layout
    h, lo = problem.check_matrix.toarray().T, problem.logical_matrix.toarray().T.astype(int)
    flips = h.reshape(len(h), layout.num_frames, -1).sum(axis=1)
    fault = {row.tobytes(): j for j, row in enumerate(np.packbits(np.hstack([h, lo]), axis=1))}
    assert len(translates.sources) == problem.symmetry.order > 1
    for sources, m, chi in zip(
        translates.sources, translates.logical_maps, translates.flip_maps, strict=True
    ):
        moved = np.hstack([moved_syndrome(problem, h, sources), (lo @ m.T + flips @ chi.T) % 2])
        places = [fault[row.tobytes()] for row in np.packbits(moved.astype(np.uint8), axis=1)]
        assert len(set(places)) == len(h)
        np.testing.assert_allclose(problem.priors[places], problem.priors, rtol=1e-12)


@pytest.mark.parametrize(("basis", "bp_iterations"), [("X", 0), ("XZ", 0), ("XZ", 9)])
def test_a_view_is_what_the_encoder_makes_of_the_translated_shot(basis, bp_iterations):
    problem = make("bb18", basis)
    config = NetworkConfig(
        width=16,
        feedforward=16,
        heads=4,
        encoder_layers=basis == "X",
        ties="tied",
        bp_iterations=bp_iterations,
    )
    network = build_network(config, geometry_for(config, problem), key=jr.key(0))
    shots = ShotSampler(problem)(jnp.full((6,), problem.p), key=jr.key(1))
    translates = translates_of(problem)
    views = Views(translates)
    elements = jnp.array([0, 5, views.order - 1], jnp.int32)
    memory = eqx.filter_jit(network.encode)(shots.syndrome)
    seen = eqx.filter_jit(moved_memory)(memory, views.sources[elements])
    logicals = eqx.filter_jit(views)(shots.logicals, views.flips(shots.syndrome), elements)
    by_shot = seen.reshape(memory.shape[0], 6, 3, -1)
    for number, element in enumerate(elements.tolist()):
        sources = translates.sources[element]
        moved = jnp.asarray(moved_syndrome(problem, shots.syndrome, sources))
        expected = eqx.filter_jit(network.encode)(moved)
        np.testing.assert_allclose(by_shot[:, :, number], expected, atol=2e-5)
    np.testing.assert_array_equal(logicals.reshape(6, 3, -1)[:, 0], shots.logicals)
    assert (np.asarray(logicals.reshape(6, 3, -1))[:, 1:] != shots.logicals[:, None]).any()


@pytest.mark.parametrize("basis", ["X", "XZ"])
def test_the_inverse_maps_lead_back(basis):
    translates = translates_of(make("bb36", basis))
    products = translates.inverse_maps().astype(int) @ translates.logical_maps % 2
    np.testing.assert_array_equal(
        products, np.broadcast_to(np.eye(products.shape[1]), products.shape)
    )


@pytest.mark.parametrize("count", [1, 2, 5, 7, 18])
def test_spread_elements_are_distinct_and_begin_with_the_identity(count):
    translates = translates_of(make("bb36", "X"))
    chosen = translates.spread(count)
    assert len({row.tobytes() for row in chosen.sources}) == chosen.order == count
    np.testing.assert_array_equal(chosen.sources[0], np.arange(chosen.sources.shape[1]))


def test_a_problem_without_symmetry_is_refused():
    problem = dataclasses.replace(make("bb18", "X"), symmetry=None)
    with pytest.raises(ValueError, match="problem 'bb18' must have a known symmetry: got none."):
        translates_of(problem)
