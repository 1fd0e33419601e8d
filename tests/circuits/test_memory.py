"""The memory circuit against the schedule's table, gate by gate, and against the stabilisers."""

import collections

import numpy as np
import pytest
import stim

from small_codes import product, random_product, ring, toric
from unmasq.circuits import NoiseModel, memory_circuit
from unmasq.codes import css_code, get_code
from unmasq.codes.schedule import Schedule

NOISE = NoiseModel(two_qubit=0.01, idle=0.02, preparation=0.03, measurement=0.04)

# (control block, target block, polynomial's term) of every CNOT, and who idles, tick by tick.
TABLE = [
    (["R>Z A1"], "L"),
    (["X>L A2", "R>Z A3"], ""),
    (["X>R B2", "L>Z B1"], ""),
    (["X>R B1", "L>Z B2"], ""),
    (["X>R B3", "L>Z B3"], ""),
    (["X>L A1", "R>Z A2"], ""),
    (["X>L A3"], "R"),
    ([], "LR"),
]


def expected_round(code):
    """Per tick: CNOT pairs, idle qubits, measured qubits; from the table and the polynomials."""
    shape = code.bicycle
    block = {name: i * shape.sites for i, name in enumerate("LRXZ")}
    for tick, (gates, idle) in enumerate(TABLE):
        pairs = set()
        for gate in gates:
            ends, term = gate.split()
            control, target = ends.split(">")
            du, dv = (shape.a if term[0] == "A" else shape.b)[int(term[1]) - 1]
            for u, v in np.ndindex(shape.l, shape.m):
                check = u * shape.m + v
                sign = 1 if control == "X" else -1  # Z checks use the transposed polynomials
                data = (u + sign * du) % shape.l * shape.m + (v + sign * dv) % shape.m
                ends = (check, data) if control == "X" else (data, check)
                pairs.add((block[control] + ends[0], block[target] + ends[1]))
        idle_qubits = {block[name] + i for name in idle for i in range(shape.sites)}
        measured = {6: "Z", 7: "X"}.get(tick, "")
        yield pairs, idle_qubits, {block[name] + i for name in measured for i in range(shape.sites)}


def ticks_of(circuit):
    """The ticks of all rounds as {name: [(targets, arguments)]}; the data's preparation is cut."""
    return list(_ticks(circuit))[1:]


def _ticks(circuit):
    tick = collections.defaultdict(list)
    for instruction in circuit.flattened():
        if instruction.name == "TICK":
            yield tick
            tick = collections.defaultdict(list)
        else:
            targets = [target.value for target in instruction.targets_copy()]
            tick[instruction.name].append((targets, instruction.gate_args_copy()))


def targets(tick, name):
    return [target for found, _ in tick[name] for target in found]


def pairs(tick, name):
    flat = targets(tick, name)
    return list(zip(flat[::2], flat[1::2], strict=True))


@pytest.mark.parametrize("name", ["bb18", "bb72"])
def test_a_noisy_round_follows_the_table(name):
    code = get_code(name)
    sites = code.n // 2
    x_ancillas, z_ancillas = list(range(2 * sites, 3 * sites)), list(range(3 * sites, 4 * sites))
    noisy_round = ticks_of(memory_circuit(code, NOISE, rounds=1, basis="X"))[8:16]
    for number, (tick, (cnots, idle, measured)) in enumerate(
        zip(noisy_round, expected_round(code), strict=True)
    ):
        assert len(pairs(tick, "CX")) == len(cnots)
        assert set(pairs(tick, "CX")) == cnots
        assert sorted(pairs(tick, "DEPOLARIZE2")) == sorted(cnots)
        assert sorted(targets(tick, "DEPOLARIZE1")) == sorted(idle)
        assert sorted(targets(tick, "M") + targets(tick, "MX")) == sorted(measured)
        # Preparation shares its tick with the first CNOTs; nothing else meets on a qubit.
        busy = targets(tick, "CX") + targets(tick, "M") + targets(tick, "MX") + sorted(idle)
        assert len(busy) == len(set(busy))
        assert targets(tick, "R") == targets(tick, "X_ERROR") == (z_ancillas if number == 0 else [])
        assert (
            targets(tick, "RX") == targets(tick, "Z_ERROR") == (x_ancillas if number == 0 else [])
        )


def test_each_rate_stands_at_its_own_instructions():
    rates = collections.defaultdict(set)
    for tick in ticks_of(memory_circuit(get_code("bb18"), NOISE, rounds=2, basis="X"))[8:24]:
        for name, instructions in tick.items():
            rates[name] |= {tuple(arguments) for _, arguments in instructions}
    assert rates["DEPOLARIZE2"] == {(0.01,)}
    assert rates["DEPOLARIZE1"] == {(0.02,)}
    assert rates["X_ERROR"] == rates["Z_ERROR"] == {(0.03,)}
    assert rates["M"] == rates["MX"] == {(0.04,)}


def test_a_rate_of_zero_leaves_its_noise_out():
    noise = NoiseModel(0.01, 0.0, 0.0, 0.0)
    circuit = memory_circuit(get_code("bb18"), noise, rounds=1, basis="Z")
    with_arguments = {i.name for i in circuit.flattened() if i.gate_args_copy()}
    assert with_arguments == {"DEPOLARIZE2", "DETECTOR", "OBSERVABLE_INCLUDE", "QUBIT_COORDS"}


@pytest.mark.parametrize("basis", ["X", "Z"])
def test_the_first_and_last_rounds_and_the_readout_are_noiseless(basis):
    ticks = ticks_of(memory_circuit(get_code("bb18"), NOISE, rounds=3, basis=basis))
    assert len(ticks) == 8 * 5
    for number, tick in enumerate(ticks):
        has_noise = bool({"DEPOLARIZE1", "DEPOLARIZE2", "X_ERROR"} & tick.keys())
        assert has_noise <= (8 <= number < 32)
        if not 8 <= number < 32:
            assert all(arguments == [] for name in ("M", "MX") for _, arguments in tick[name])


@pytest.mark.parametrize("name", ["bb18", "bb36", "bb72"])
def test_a_round_measures_every_check_and_keeps_every_logical(name):
    """By stabiliser flows of one noiseless round, taken from the circuit's own first ticks."""
    code = get_code(name)
    sites = code.n // 2
    circuit = memory_circuit(code, NOISE, rounds=1, basis="X")
    one_round = stim.Circuit()
    for instruction in circuit[circuit_start(circuit) :]:
        one_round.append(instruction)
        if one_round.num_measurements == 2 * sites:
            break
    flows = []
    for letter, checks, first in (("Z", code.checks_z, 0), ("X", code.checks_x, sites)):
        for i, check in enumerate(checks):
            flows.append(stim.Flow(f"{operator(letter, check)} -> rec[{first + i}]"))
    for letter, logicals in (("X", code.logicals_x), ("Z", code.logicals_z)):
        for row in logicals:
            flows.append(stim.Flow(f"{operator(letter, row)} -> {operator(letter, row)}"))
    assert one_round.has_all_flows(flows, unsigned=False)


def circuit_start(circuit):
    """The first instruction behind the preparation of the data."""
    return [instruction.name for instruction in circuit].index("TICK") + 1


def operator(letter, row):
    return "*".join(f"{letter}{q}" for q in np.flatnonzero(row))


@pytest.mark.parametrize("basis", ["X", "Z"])
def test_detectors_are_frame_major_with_x_checks_first(basis):
    code = get_code("bb36")
    circuit = memory_circuit(code, NOISE, rounds=2, basis=basis)
    sites = code.n // 2
    assert circuit.num_detectors == 3 * code.n
    assert circuit.num_observables == code.k
    for detector, place in circuit.get_detector_coordinates().items():
        frame, check = divmod(detector, 2 * sites)
        kind, site = divmod(check, sites)
        assert place == [*divmod(site, 6), kind, frame]


def test_a_detector_compares_its_check_in_consecutive_rounds():
    """A round measures the Z checks, then the X checks."""
    circuit, sites = memory_circuit(get_code("bb18"), NOISE, rounds=3, basis="X"), 9
    measured, compared = 0, []
    for instruction in circuit.flattened():
        if instruction.name in ("M", "MX"):
            measured += len(instruction.targets_copy())
        elif instruction.name == "DETECTOR":
            compared.append(sorted(measured + t.value for t in instruction.targets_copy()))
    for detector, records in enumerate(compared):
        frame, check = divmod(detector, 2 * sites)
        place = (check + sites) % (2 * sites)
        assert records == [2 * sites * frame + place, 2 * sites * (frame + 1) + place]
    assert len(compared) == 4 * 2 * sites


@pytest.mark.parametrize("basis", ["X", "Z"])
def test_detectors_and_observables_are_deterministic(basis):
    circuit = memory_circuit(get_code("bb18"), NOISE, rounds=2, basis=basis).without_noise()
    detectors, observables = circuit.compile_detector_sampler(seed=1).sample(
        64, separate_observables=True
    )
    assert not detectors.any()
    assert not observables.any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rounds": 0}, "rounds must be at least 1: got 0"),
        ({"basis": "Y"}, "basis must be X or Z (XZ for a problem of both): got 'Y'"),
        (
            {"code": css_code([[1, 1, 1, 1], [0, 0, 0, 0]], [[1, 1, 1, 1]])},
            "every X check must touch a qubit: got none in row 1. Drop the row.",
        ),
        ({"schedule": get_code("bb36").schedule}, "the shape of the X checks, (9, 18): got (18"),
    ],
)
def test_what_has_no_memory_circuit_is_refused(arguments, message):
    good = {"code": get_code("bb18"), "noise": NOISE, "rounds": 2, "basis": "X"}
    with pytest.raises(ValueError) as error:
        memory_circuit(**{**good, **arguments})
    assert message in str(error.value)


@pytest.mark.parametrize("basis", ["X", "Z"])
@pytest.mark.parametrize(
    "matrices",
    [toric(3, 4), random_product(), product(ring(3)[:2], ring(3)[:2]), ([[1] * 4], [[1] * 4])],
)
def test_any_code_has_a_circuit_whose_detectors_are_deterministic(matrices, basis):
    code = css_code(*matrices)
    circuit = memory_circuit(code, NOISE, rounds=2, basis=basis)
    assert circuit.num_detectors == 3 * code.num_checks
    assert circuit.num_observables == code.k
    circuit.detector_error_model()  # refuses what is not deterministic
    per_round = code.schedule.depth + 1
    ticks = ticks_of(circuit)
    assert len(ticks) == 4 * per_round
    for tick in ticks[per_round : 2 * per_round]:  # every data qubit has one gate or idles
        gates = [q for q in targets(tick, "CX") if q < code.n]
        assert sorted(gates + targets(tick, "DEPOLARIZE1")) == list(range(code.n))


def test_a_schedule_of_ones_own_is_followed():
    """X checks of the toric code first, then the Z checks: twice as many ticks."""
    code = css_code(*toric(3, 3))
    own = Schedule(code.schedule.x, np.where(code.schedule.z, code.schedule.z + 4, 0))
    circuit = memory_circuit(code, NOISE, rounds=1, basis="Z", schedule=own)
    noisy_round = ticks_of(circuit)[9:18]
    assert [len(pairs(tick, "CX")) for tick in noisy_round] == [9] * 8 + [0]
    for tick, found in enumerate(noisy_round, start=1):
        checks, qubits = np.nonzero(own.x == tick)
        expected = {(code.n + c, q) for c, q in zip(checks, qubits, strict=True)}
        checks, qubits = np.nonzero(own.z == tick)
        expected |= {(q, code.n + 9 + c) for c, q in zip(checks, qubits, strict=True)}
        assert set(pairs(found, "CX")) == expected
    assert [bool(tick["MX"]) for tick in noisy_round] == [False] * 4 + [True] + [False] * 4
    circuit.detector_error_model()
