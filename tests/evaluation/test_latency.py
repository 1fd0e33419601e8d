"""Times from a clock of our own: what is counted, and what is left out."""

import json

import numpy as np
import pytest

from unmasq.evaluation.latency import (
    MIN_BATCHES,
    MIN_CALLS,
    WARM_UP_CALLS,
    Latency,
    measure_latency,
    measure_stream,
    measure_throughput,
    time_decoder,
)


class Clockwork:
    """A decoder whose calls take stated times on a clock that only they move."""

    name = "clockwork"
    num_detectors = 3
    num_logicals = 1

    def __init__(self, seconds_of_call):
        self.now = 0.0
        self.batches: list[int] = []
        self._seconds_of_call = seconds_of_call

    def decode_batch(self, syndromes: np.ndarray) -> np.ndarray:
        self.now += self._seconds_of_call(len(self.batches))
        self.batches.append(len(syndromes))
        assert syndromes.any(axis=1).all()  # an empty one may leave nothing to do or to compile
        return np.zeros((len(syndromes), 1), np.uint8)

    def clock(self) -> float:
        return self.now


SYNDROMES = np.ones((7, 3), np.uint8)


def test_the_first_calls_are_left_out():
    decoder = Clockwork(lambda call: 100.0 if call < WARM_UP_CALLS else 0.001)
    latency = measure_latency(decoder, SYNDROMES, 0.5, decoder.clock)
    assert latency.seconds.max() == pytest.approx(0.001)
    assert latency.seconds.sum() == pytest.approx(0.5, abs=0.002)
    assert set(decoder.batches) == {1}


def test_the_record_keeps_the_distribution():
    seconds = np.concatenate([np.full(90, 0.00105), np.full(9, 0.00205), [0.5]])
    record = Latency(seconds).record
    assert json.loads(json.dumps(record))["histogram_ms"] == [[1.047, 90], [2.042, 9], [489.8, 1]]
    many = Latency(np.random.default_rng(0).gamma(2.0, 0.001, 100_000)).record
    assert len(many["histogram_ms"]) < 500
    assert sum(calls for _, calls in many["histogram_ms"]) == 100_000
    total = np.cumsum([calls for _, calls in many["histogram_ms"]])
    median = many["histogram_ms"][int(np.searchsorted(total, 50_000))][0]
    assert median <= many["p50_ms"] <= 1.024 * median


def test_slow_decoders_are_measured_all_the_same():
    decoder = Clockwork(lambda call: 10.0)
    assert len(measure_latency(decoder, SYNDROMES, 0.5, decoder.clock).seconds) == MIN_CALLS
    decoder = Clockwork(lambda call: 10.0)
    throughput = measure_throughput(decoder, SYNDROMES, 5, 0.5, decoder.clock)
    assert throughput.shots == 5 * MIN_BATCHES


def test_throughput_counts_whole_batches_after_the_first():
    decoder = Clockwork(lambda call: 100.0 if call == 0 else 0.1)
    throughput = measure_throughput(decoder, SYNDROMES, 20, 1.0, decoder.clock)
    assert set(decoder.batches) == {20}
    assert throughput.record["shots_per_second"] == pytest.approx(200)


def test_quantiles_are_times_that_occurred():
    seconds = np.array([1.0] * 98 + [5.0, 9.0])
    record = Latency(seconds).record
    assert record["p50_ms"] == 1000
    assert record["p99_ms"] in (5000, 9000)
    assert record["max_ms"] == 9000
    assert record["mean_ms"] == pytest.approx(1120)


def test_no_shots_and_empty_batches_are_refused():
    decoder = Clockwork(lambda call: 1.0)
    with pytest.raises(ValueError, match="at least one shot"):
        time_decoder(decoder, SYNDROMES[:0], [1], 1.0, "CPU")
    with pytest.raises(ValueError, match="batch must be at least 1: got 0"):
        time_decoder(decoder, SYNDROMES, [8, 0], 1.0, "CPU")


class Frames(Clockwork):
    """Streams whose frames take 1 s, whose answers take 10 s, and whose first shots compile."""

    def stream(self):
        return self

    def frames(self, syndromes):
        return [syndromes] * 3

    def push(self, frame):
        self.batches.append(len(frame))
        self.now += 1.0 if len(self.batches) > 3 * WARM_UP_CALLS else 100.0

    def wait(self):
        pass

    def finish(self):
        self.now += 10.0


def test_a_streams_last_frame_counts_with_the_answer():
    decoder = Frames(None)
    found = measure_stream(decoder, SYNDROMES, seconds=0.0, clock=decoder.clock)
    np.testing.assert_allclose(found.push.seconds, np.ones(2 * MIN_CALLS))
    np.testing.assert_allclose(found.finish.seconds, np.full(MIN_CALLS, 11.0))
    assert found.record["finish"]["calls"] == MIN_CALLS
