"""Where detectors stand: frames from a number of rounds, from coordinates, or one for all."""

import numpy as np

from unmasq.problems.problem import Layout


def choose_layout(
    num_detectors: int,
    coordinates: dict[int, list[float]],
    rounds: int | None,
    single_frame: bool,
) -> Layout:
    """R + 1 equal frames, or by the coordinates' last entry; else one frame for all."""
    if rounds is not None:
        if single_frame:
            raise ValueError("rounds and a single frame must not be asked for together: got both.")
        if rounds < 1:
            raise ValueError(f"rounds must be at least 1: got {rounds}.")
        return equal_frames(num_detectors, rounds + 1)
    placed = all(len(coordinates.get(d, [])) >= 2 for d in range(num_detectors))
    if single_frame or not placed or not num_detectors:
        return equal_frames(num_detectors, 1)
    return _layout_from_coordinates([coordinates[d] for d in range(num_detectors)])


def equal_frames(num_detectors: int, frames: int) -> Layout:
    """Frames of as many detectors each, one after the other; check types are unknown."""
    if frames < 1 or num_detectors % frames:
        raise ValueError(
            f"frames (rounds + 1) must divide the {num_detectors} detectors: got {frames}. "
            "Give detectors coordinates whose last entry is the round, or use one single frame."
        )
    checks = num_detectors // frames
    frame, check = np.divmod(np.arange(num_detectors, dtype=np.int32), np.int32(max(checks, 1)))
    return Layout(frame, check, np.zeros(checks, np.int32), frames)


def _layout_from_coordinates(coordinates: list[list[float]]) -> Layout:
    """Time is the last coordinate; the others name the site, numbered as they first occur."""
    times = sorted({time for *_, time in coordinates})
    sites = list(dict.fromkeys(tuple(place) for *place, _ in coordinates))
    frame_of = {time: r for r, time in enumerate(times)}
    check_of = {place: i for i, place in enumerate(sites)}
    places = [(frame_of[time], check_of[tuple(place)]) for *place, time in coordinates]
    if len(set(places)) != len(places):
        raise ValueError(
            "detector coordinates must differ: got two detectors at one place and time. "
            "Give the number of rounds instead, or use one single frame."
        )
    frame, check = np.array(places, np.int32).T
    return Layout(frame, check, np.zeros(len(sites), np.int32), len(times))
