"""Valid inputs made wrong: by bytes, by tokens, by the structure of JSON and of array files."""

import copy
import json
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from safetensors.numpy import load, save

NUMBERS = ("0", "-1", "1", "1e308", "-0.0", "nan", "inf", "9" * 30, "0x10", "1.5", "1e-300", "")
WORDS = (
    "",
    " ",
    "x",
    "\x00",
    "\u00fc",
    "D0",
    "L0",
    "shot",
    "{",
    "}",
    "[",
    "-",
    "=",
    ",",
    "#",
    "\n",
)
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 10**30, 1.5, 1e308, math.nan, math.inf, "", "x", "0", [], [1], {},
    {"x": 1}, "\u00fc" * 50, [[[]]], -(10**20),
)  # fmt: skip


def mutate_bytes(rng: random.Random, data: bytes) -> bytes:
    """One to three changes anywhere."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(_BYTES)(rng, data)
    return data


def _flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 4, 16)) if data else 0):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _place(rng: random.Random, data: bytes) -> tuple[int, int]:
    first = rng.randrange(len(data) + 1)
    return first, min(len(data), first + rng.choice((1, 2, 8, 100, len(data))))


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _drop(rng: random.Random, data: bytes) -> bytes:
    first, stop = _place(rng, data)
    return data[:first] + data[stop:]


def _double(rng: random.Random, data: bytes) -> bytes:
    first, stop = _place(rng, data)
    return data[:stop] + data[first:stop][:10_000] + data[stop:]


def _insert(rng: random.Random, data: bytes) -> bytes:
    first, _ = _place(rng, data)
    return data[:first] + rng.randbytes(rng.choice((1, 2, 8, 64))) + data[first:]


def _overwrite(rng: random.Random, data: bytes) -> bytes:
    first, stop = _place(rng, data)
    return data[:first] + rng.choice((b"\x00", b"\xff", b"9", b" ")) * (stop - first) + data[stop:]


def _set_length(rng: random.Random, data: bytes) -> bytes:
    """Another size in the first eight bytes, where safetensors keeps that of its header."""
    size = rng.choice((0, 1, 7, 2**31, 2**40, 2**63, 2**64 - 1, len(data), rng.randrange(4096)))
    return size.to_bytes(8, "little") + data[8:]


_BYTES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _flip, _flip, _flip, _cut, _drop, _double, _insert, _overwrite, _set_length,
)  # fmt: skip


def mutate_text(rng: random.Random, text: str, words: tuple[str, ...] = WORDS) -> str:
    """Tokens and lines replaced, dropped, doubled or exchanged."""
    lines = text.split("\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not lines:
            break
        i = rng.randrange(len(lines))
        change = rng.randrange(6)
        if change == 0:
            lines.pop(i)
        elif change == 1:
            lines.insert(i, rng.choice(lines))
        elif change == 2:
            j = rng.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
        else:
            lines[i] = _mutate_line(rng, lines[i], words)
    return "\n".join(lines)


def _mutate_line(rng: random.Random, line: str, words: tuple[str, ...]) -> str:
    separator = "," if "," in line and rng.random() < 0.7 else " "
    tokens = line.split(separator)
    i = rng.randrange(len(tokens))
    change = rng.randrange(4)
    if change == 0:
        tokens.pop(i)
    elif change == 1:
        tokens.insert(i, rng.choice((*tokens, *words)))
    elif change == 2:
        tokens[i] = rng.choice((*words, *NUMBERS))
    else:
        tokens[i] = _change_characters(rng, tokens[i])
    return separator.join(tokens)


def _change_characters(rng: random.Random, word: str) -> str:
    i = rng.randrange(len(word) + 1)
    new = rng.choice((*"0123456789.-+eE(){}[]=:\"' \t\x00", *WORDS))
    return rng.choice((word[:i] + new + word[i:], word[:i] + new + word[i + 1 :], word[:i]))


def mutate_json(rng: random.Random, value: Any) -> Any:
    """A copy with one to three nodes replaced, dropped, doubled or renamed."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2, 3))):
        value = _mutate_node(rng, value)
    return value


def _mutate_node(rng: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        change = rng.randrange(8)
        if change == 0:
            del value[key]
        elif change == 1:
            value[rng.choice(("x", "", key + "_", key.upper()))] = value.pop(key)
        else:
            value[key] = _mutate_node(rng, value[key])
        return value
    if isinstance(value, list) and value and rng.random() < 0.8:
        i = rng.randrange(len(value))
        change = rng.randrange(5)
        if change == 0:
            value.pop(i)
        elif change == 1:
            value.insert(i, copy.deepcopy(value[i]))
        else:
            value[i] = _mutate_node(rng, value[i])
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.4:
        return rng.choice((value + 1, -value, value * 2, value - 1, float(value), str(value)))
    return copy.deepcopy(rng.choice(VALUES))


def json_text(rng: random.Random, value: Any) -> str:
    """As JSON; now and then nested so deeply that readers run out of stack."""
    text = json.dumps(value)
    return "[" * 100_000 + text if rng.random() < 0.005 else text


def array_file(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of one of our files."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["unmasq"])
    return header, dict(load(data))


def mutate_array_file(
    rng: random.Random, data: bytes
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header or arrays changed in a way that their own format allows."""
    header, arrays = array_file(data)
    header.pop("digest", None)
    for _ in range(rng.choice((1, 1, 2))):
        if rng.random() < 0.4:
            changed = mutate_json(rng, header)
            header = changed if isinstance(changed, dict) else header
            continue
        if not arrays:
            continue
        name = rng.choice(sorted(arrays))
        change = rng.randrange(4)
        if change == 0:
            del arrays[name]
        elif change == 1:
            arrays[rng.choice(("x", name + "x", rng.choice(sorted(arrays))))] = arrays.pop(name)
        else:
            arrays[name] = mutate_array(rng, arrays[name])
    return header, arrays


def mutate_array(rng: random.Random, array: np.ndarray) -> np.ndarray:
    """Another dtype, another shape or other values."""
    change = rng.randrange(5)
    if change == 0:
        with np.errstate(all="ignore"):
            return array.astype(rng.choice(("u1", "i8", "f4", "f8", "?", "i4")))
    if change == 1:
        return array.reshape(-1)[: rng.randrange(array.size + 1)]
    if change == 2:
        return rng.choice((array[None], array.reshape(-1), np.concatenate([array, array])
                           if array.ndim else array))  # fmt: skip
    changed = array.copy().reshape(-1)
    for _ in range(rng.choice((1, 1, 5)) if changed.size else 0):
        i = rng.randrange(changed.size)
        choices: tuple[Any, ...] = (0, 1, changed[rng.randrange(changed.size)])
        if changed.dtype.kind == "f":
            choices += (math.nan, math.inf, -1.0, 2.0)
        elif changed.dtype.kind in "iu":
            limits = np.iinfo(changed.dtype)
            choices += (limits.min, limits.max, max(limits.min, -1))
        changed[i] = rng.choice(choices)
    return changed.reshape(array.shape)


def saved(header: Any, arrays: dict[str, np.ndarray]) -> bytes:
    """Without a digest, whatever the header says."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save(contiguous, metadata={"unmasq": json.dumps(header)})
