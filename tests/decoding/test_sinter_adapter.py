"""Our networks as sinter decoders: found by structure, packed, discarding, pickled."""

import os
import pickle
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
import sinter
import stim

from sinter_stub import StubModel
from statistical import assert_rate
from stub_network import StubNetwork
from tiny_network import write_tiny_network
from unmasq.codes import get_code
from unmasq.decoding import model_store
from unmasq.decoding.asking import Asking
from unmasq.decoding.diffusion_decoder import DiffusionDecoder, load
from unmasq.decoding.identity import Identity
from unmasq.decoding.model_store import read_model
from unmasq.decoding.problem_match import problem_to_decode
from unmasq.decoding.sinter_adapter import CompiledNetwork, SinterDecoder, sinter_decoders
from unmasq.problems.building import circuit_from_code, problem_from_circuit, problem_from_code
from unmasq.problems.problem import ProblemMismatchError

CODE = get_code("bb18")
CIRCUIT = circuit_from_code(CODE, "code-capacity", 0.05)
DEM = CIRCUIT.detector_error_model()
PROBLEM = problem_from_code(CODE, "code-capacity", 0.05)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "tiny.safetensors"
    write_tiny_network(path, PROBLEM)
    return path


@pytest.fixture(autouse=True)
def _only_own_models(monkeypatch, path, tmp_path):
    monkeypatch.setenv("UNMASQ_MODELS", str(path))
    monkeypatch.setattr(model_store, "SHIPPED", tmp_path / "shipped")


@pytest.fixture(scope="module")
def name(path) -> str:
    return read_model(path).decoder_name


@pytest.fixture(scope="module")
def shots() -> tuple[np.ndarray, np.ndarray]:
    """Packed detection events and observables."""
    return CIRCUIT.compile_detector_sampler(seed=1).sample(
        200, separate_observables=True, bit_packed=True
    )


def test_the_registry_names_models_by_hash(name):
    kinds = ["", "-discard", "-sampler", "-discard-sampler"]
    assert list(sinter_decoders()) == [base + kind for base in ("unmasq", name) for kind in kinds]
    more = sinter_decoders(steps=[1], thresholds=[2.5], discard_below=0.5)
    assert {f"{name},T=1", f"{name},tau=2.5-sampler", f"{name}-discard0.5"} <= set(more)


@pytest.mark.parametrize("by_hash", [False, True], ids=["alias", "hash"])
def test_predictions_are_those_of_the_loaded_decoder(path, name, shots, by_hash):
    found = sinter_decoders()[name if by_hash else "unmasq"]
    compiled = found.compile_decoder_for_dem(dem=DEM)
    packed = compiled.decode_shots_bit_packed(bit_packed_detection_event_data=shots[0])
    syndromes = np.unpackbits(shots[0], axis=1, count=18, bitorder="little")
    expected = load(path).decode_batch(syndromes)
    assert expected.any()
    assert packed.dtype == np.uint8
    assert packed.shape == (200, 1)
    np.testing.assert_array_equal(np.unpackbits(packed, axis=1, bitorder="little"), expected)


class CopiesDetectors(StubNetwork):
    """Logical k flips where detector k does: the syndrome is the answer."""

    def encode(self, syndrome):
        return syndrome.astype(jnp.float32)[None]

    def denoise(self, memory, tokens):
        return 2 * memory[0, :, : tokens.shape[1]] - 1


def test_bits_keep_their_places_in_packed_data():
    def find(structure):
        identity = Identity("copy", "c" * 64, structure.structure_id, "masked", 11, 19, 11)
        return DiffusionDecoder(CopiesDetectors(), identity)

    dem = stim.DetectorErrorModel("error(0.1) D18 L10")
    dets = np.random.default_rng(0).integers(0, 2, (40, 19), np.uint8)
    packed = (
        SinterDecoder(find)
        .compile_decoder_for_dem(dem=dem)
        .decode_shots_bit_packed(
            bit_packed_detection_event_data=np.packbits(dets, axis=1, bitorder="little")
        )
    )
    expected = np.packbits(dets[:, :11], axis=1, bitorder="little")
    np.testing.assert_array_equal(packed, expected)


def test_another_p_and_decomposed_faults_are_the_same_structure():
    other = circuit_from_code(CODE, "code-capacity", 0.001).detector_error_model()
    assert problem_to_decode(other).structure_id == PROBLEM.structure_id
    surface = stim.Circuit.generated(
        "surface_code:rotated_memory_x", distance=3, rounds=3, after_clifford_depolarization=0.01
    )
    decomposed = surface.detector_error_model(decompose_errors=True)
    assert "^" in str(decomposed)
    expected = problem_from_circuit(surface).structure_id
    assert problem_to_decode(decomposed).structure_id == expected
    assert problem_to_decode(surface.detector_error_model()).structure_id == expected


def test_priors_above_one_half_do_not_matter():
    text = "error({}) D0 L0\nerror(0.1) D0 D1\nerror(0.1) D1"
    likely, rare = (stim.DetectorErrorModel(text.format(p)) for p in (0.9, 0.1))
    assert problem_to_decode(likely).structure_id == problem_to_decode(rare).structure_id


def test_a_foreign_error_model_is_refused_with_what_differs(name):
    foreign = circuit_from_code(CODE, "circuit", 0.01, rounds=2).detector_error_model()
    for decoder in ("unmasq", name):
        with pytest.raises(ProblemMismatchError) as error:
            sinter_decoders()[decoder].compile_decoder_for_dem(dem=foreign)
        message = str(error.value)
        assert problem_to_decode(foreign).structure_id in message
        assert "54 detectors, 4 logicals" in message
        assert "Model 'tiny' (code bb18, noise code-capacity, basis XZ" in message
        assert "with 18 detectors and 8 logicals" in message
        assert "unmasq train" in message


def test_equal_sizes_with_other_faults_are_told_apart():
    lines = str(DEM).splitlines()
    assert lines[0].startswith("error")
    foreign = stim.DetectorErrorModel("\n".join(lines[1:]))
    assert (foreign.num_detectors, foreign.num_observables) == (18, 8)
    with pytest.raises(ProblemMismatchError, match="as many detectors.*other faults"):
        sinter_decoders()["unmasq"].compile_decoder_for_dem(dem=foreign)


def test_without_models_the_error_says_how_to_train(monkeypatch):
    monkeypatch.delenv("UNMASQ_MODELS")
    with pytest.raises(ProblemMismatchError, match="no model is installed.*unmasq train"):
        sinter_decoders()["unmasq"].compile_decoder_for_dem(dem=DEM)


def test_weights_that_changed_since_the_start_are_refused(name, monkeypatch, tmp_path):
    path = tmp_path / "tiny.safetensors"
    write_tiny_network(path, PROBLEM)
    monkeypatch.setenv("UNMASQ_MODELS", str(path))
    decoders = sinter_decoders()
    write_tiny_network(path, PROBLEM, seed=1)
    with pytest.raises(ValueError, match=f"weights {name[-8:]} that the run started with"):
        decoders[name].compile_decoder_for_dem(dem=DEM)


def test_two_own_models_of_one_problem_are_not_chosen_between(monkeypatch, path, tmp_path):
    other = tmp_path / "other.safetensors"
    write_tiny_network(other, PROBLEM, seed=1)
    monkeypatch.setenv("UNMASQ_MODELS", os.pathsep.join([str(path), str(other)]))
    decoders = sinter_decoders()
    with pytest.raises(ValueError, match=r"unique: got unmasq-\w+ .*, unmasq-\w+"):
        decoders["unmasq"].compile_decoder_for_dem(dem=DEM)
    decoders[read_model(other).decoder_name].compile_decoder_for_dem(dem=DEM)


def test_the_pickle_holds_path_and_hash_alone(name, shots):
    for decoder in sinter_decoders().values():
        assert len(pickle.dumps(decoder)) < 600
    copy = pickle.loads(pickle.dumps(sinter_decoders()[name]))
    packed = copy.compile_decoder_for_dem(dem=DEM).decode_shots_bit_packed(
        bit_packed_detection_event_data=shots[0][:3]
    )
    assert packed.shape == (3, 1)


def test_listing_the_decoders_imports_no_jax(name):
    program = (
        "import pickle, sys, unmasq; found = unmasq.sinter_decoders(); "
        "pickle.loads(pickle.dumps(found)); print(*found, 'jax' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert name in result.stdout
    assert result.stdout.split()[-1] == "False"


def test_one_more_column_flags_discards(path, name, shots):
    soft = load(path).decode_soft(shots[0], bit_packed_shots=True)
    levels = np.unique(soft.confidence)
    middle = len(levels) // 2
    below = float(levels[middle - 1 : middle + 1].mean())
    discarding = sinter_decoders(discard_below=below)[f"{name}-discard{below:g}"]
    packed = discarding.compile_decoder_for_dem(dem=DEM).decode_shots_bit_packed(
        bit_packed_detection_event_data=shots[0]
    )
    assert packed.shape == (200, 2)
    np.testing.assert_array_equal(packed[:, 1], soft.confidence < below)
    assert 0 < packed[:, 1].sum() < 200


def test_steps_and_thresholds_reach_the_network(path, name, shots):
    decoders = sinter_decoders(steps=[1], thresholds=[1.0])
    for suffix, change in (
        (",T=1", lambda d: d.with_steps(1)),
        (",tau=1", lambda d: d.with_threshold(1.0)),
    ):
        compiled = decoders[name + suffix].compile_decoder_for_dem(dem=DEM)
        np.testing.assert_array_equal(
            compiled.decode_shots_bit_packed(bit_packed_detection_event_data=shots[0]),
            change(load(path)).decode_batch(
                shots[0], bit_packed_shots=True, bit_packed_predictions=True
            ),
        )


def test_unpacked_events_are_refused(name):
    compiled = sinter_decoders()[name].compile_decoder_for_dem(dem=DEM)
    with pytest.raises(ValueError, match="packed syndromes must have shape"):
        compiled.decode_shots_bit_packed(
            bit_packed_detection_event_data=np.zeros((2, 18), np.uint8)
        )


def test_predict_observables_works_too(path, name, shots):
    dets = np.unpackbits(shots[0], axis=1, count=18, bitorder="little").astype(bool)
    predicted = sinter.predict_observables(
        dem=DEM, dets=dets, decoder=name, custom_decoders=sinter_decoders()
    )
    np.testing.assert_array_equal(predicted, load(path).decode_batch(dets))


def sampled(kind: str, task: sinter.Task, shots: int, **asking) -> sinter.AnonTaskStats:
    """Counts by our sampler, or by sinter's own loop around our decoder."""
    from sinter._decoding._stim_then_decode_sampler import StimThenDecodeSampler

    from unmasq.decoding.sinter_sampler import SinterSampler

    if kind == "ours":
        sampler = SinterSampler(StubModel(), Asking(**asking))
    else:
        sampler = StimThenDecodeSampler(
            decoder=SinterDecoder(StubModel(), Asking(**asking)),
            count_observable_error_combos=False,
            count_detection_events=False,
            tmp_dir=None,
        )
    compiled = sampler.compiled_sampler_for_task(task)
    total = sinter.AnonTaskStats()
    while total.shots < shots:
        some = compiled.sample(min(512, shots - total.shots))
        assert some.shots >= 1  # sinter insists
        total += some
    assert total.shots == shots
    return total


TWO_FLIPS = stim.Circuit(
    """
    X_ERROR(0.3) 0
    X_ERROR(0.2) 1
    X_ERROR(0.1) 2
    M 0 1 2
    DETECTOR rec[-3]
    OBSERVABLE_INCLUDE(0) rec[-2]
    OBSERVABLE_INCLUDE(1) rec[-1]
    """
)


@pytest.mark.parametrize(
    ("masks", "asking", "errors", "discards"),
    [
        ({}, {}, 1 - 0.8 * 0.9, 0.0),
        ({"postselection_mask": [1]}, {}, 0.7 * 0.28, 0.3),
        ({"postselected_observables_mask": [1]}, {}, 0.8 * 0.1, 0.2),
        # The stub is surer of a shot whose detector fired.
        ({}, {"discard_below": 0.7}, 0.3 * 0.28, 0.7),
    ],
    ids=["plain", "detector", "observable", "confidence"],
)
def test_our_sampler_counts_as_sinters_loop_does(masks, asking, errors, discards):
    task = sinter.Task(
        circuit=TWO_FLIPS,
        detector_error_model=TWO_FLIPS.detector_error_model(),
        **{key: np.array(mask, np.uint8) for key, mask in masks.items()},
    )
    for kind in ("ours", "sinter's"):
        total = sampled(kind, task, 4000, **asking)
        assert_rate(total.errors, total.shots, errors)
        if discards:
            assert_rate(total.discards, total.shots, discards)
        else:
            assert total.discards == 0


def test_our_sampler_handles_its_own_throttling():
    from unmasq.decoding.sinter_sampler import SinterSampler

    task = sinter.Task(circuit=TWO_FLIPS)
    compiled = SinterSampler(StubModel()).compiled_sampler_for_task(task)
    assert compiled.handles_throttling()
    first = compiled.sample(10**9).shots
    sizes = [compiled.sample(10**9).shots for _ in range(5)]
    assert first < sizes[-1]  # fast calls grow
    assert compiled.sample(7).shots == 7
    slow = sinter.AnonTaskStats()
    compiled._adapt(seconds=10.0)
    slow += compiled.sample(10**9)
    assert slow.shots <= sizes[-1]
    assert slow.seconds > 0


def test_our_sampler_compiles_one_size(monkeypatch):
    from unmasq.decoding import compiled as compiled_module
    from unmasq.decoding.sinter_sampler import SinterSampler

    compiled_module.compiled.cache_clear()
    compiled = SinterSampler(StubModel()).compiled_sampler_for_task(sinter.Task(circuit=TWO_FLIPS))
    for shots in (1000, 3, 77, 1):
        compiled.sample(shots)
    decoder = compiled._decoder
    function = decoder._passes.flat.compiled(decoder._passes.rule, 2).func
    assert function._cache_size() == 1


@pytest.mark.parametrize(("on_cpu", "compiled_sizes"), [(False, 1), (True, 5)])
def test_small_batches_of_sinter_share_a_compiled_size_but_on_a_cpu(on_cpu, compiled_sizes):
    from unmasq.decoding import compiled as compiled_module

    compiled_module.compiled.cache_clear()
    dem = TWO_FLIPS.detector_error_model()
    decoder = SinterDecoder(StubModel()).compile_decoder_for_dem(dem=dem)._decoder
    decoder.on_cpu = on_cpu
    network = CompiledNetwork(decoder)
    shots = TWO_FLIPS.compile_detector_sampler(seed=1).sample(32, bit_packed=True)
    together = network.decode_shots_bit_packed(bit_packed_detection_event_data=shots)
    for size in (0, 1, 2, 5, 16, 31):
        found = network.decode_shots_bit_packed(bit_packed_detection_event_data=shots[:size])
        np.testing.assert_array_equal(found, together[:size])
    function = decoder._passes.flat.compiled(decoder._passes.rule, 2).func
    assert function._cache_size() == compiled_sizes  # 1, 2, 8, 16 and 32 on a CPU


def test_nothing_to_predict_is_no_reason_to_fail():
    from unmasq.decoding.sinter_sampler import SinterSampler

    task = sinter.Task(circuit=stim.Circuit("X_ERROR(0.1) 0\nM 0\nDETECTOR rec[-1]"))
    total = SinterSampler(StubModel()).compiled_sampler_for_task(task).sample(50)
    assert (total.shots, total.errors, total.discards) == (50, 0, 0)
