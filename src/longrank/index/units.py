# ruff: noqa: PLR0917 - compiled code takes plain arrays, by position
"""Compiled loops that cut texts into units: ASCII words, and stretches between blanks that are not ASCII.

The rule for ASCII words is the pattern of `longrank.text.words`. Whatever that pattern does not settle, a character
beyond ASCII or a word of more than 127 characters, makes the whole stretch between two blanks a unit, which an analyzer
reads: no word contains a blank, and no word depends on what lies beyond a blank. Units are numbered in a hash table.

Arrays are plain arguments: numba counts the references to arrays in tuples, which took ten times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Array
from longrank.index.compiling import compiled

LONGEST = 127  # characters of a word that is a unit
_U = np.uint64
_SEED, _PRIME, _EVEN = _U(14695981039346656037), _U(1099511628211), _U(2**64 - 2)  # of the hash function FNV-1a
_LETTER, _DIGIT, _LINE, _BLANK, _HIGH, _COLON, _COMMA, _STOP = range(1, 9)
"""Classes of bytes; the last three join letters, digits, or both. 0: other bytes."""


def _classes() -> NDArray[np.uint8]:
    classes = np.zeros(256, np.uint8)
    classes[128:] = _HIGH
    for kind, some in ((_BLANK, b" \t\n\r\f\v"), (_LINE, b"_"), (_COLON, b":"), (_COMMA, b",;"), (_STOP, b".'")):
        classes[list(some)] = kind
    classes[ord("0") : ord("9") + 1] = _DIGIT
    classes[ord("A") : ord("Z") + 1] = classes[ord("a") : ord("z") + 1] = _LETTER
    return classes


CLASSES = _classes()


@compiled
def scan(  # noqa: C901, PLR0912 - calls would cost more than the loop
    raw: Array, bounds: Array, analyzers: Array, classes: Array, state: Array, spans: Array, keys: Array, ends: Array
) -> Any:
    """Find the units of texts, until there is no room for more.

    Args:
        raw: uint8, the UTF-8 bytes of all texts, one after another.
        bounds: int64[D + 1], bounds of the texts.
        analyzers: uint8[D], the number of each text's analyzer.
        classes: `CLASSES`.
        state: int64[2], a text and a byte to go on with; changed.
        spans: int64[n, 3], the bytes of each unit, and its kind: twice the analyzer, plus 1 for a stretch; changed.
        keys: uint64[n], the hash of each unit; units of equal bytes and other kinds have other hashes; changed.
        ends: int64[D + 1], to which the units of each text are added; changed.

    Returns:
        The number of units.
    """
    n = 0
    while state[0] < len(bounds) - 1:
        text, before = state[0], n
        at, stop, own = max(state[1], bounds[text]), bounds[text + 1], 2 * np.int64(analyzers[text])
        stretch, first = at, n  # begin of the stretch between blanks, and its first unit
        while at < stop:
            kind = classes[raw[at]]
            if kind == _BLANK:
                at += 1
                stretch, first = at, n
                continue
            begin, key, is_word = at, _SEED, False
            while at < stop:
                kind = classes[raw[at]]
                if _LETTER <= kind <= _LINE:
                    is_word |= kind != _LINE
                elif is_word and kind >= _COLON and at + 1 < stop:
                    left, right = classes[raw[at - 1]], classes[raw[at + 1]]
                    if left != right or left > _DIGIT or kind == (_COMMA if left == _LETTER else _COLON):
                        break
                else:
                    break
                key = (key ^ _U(raw[at])) * _PRIME
                at += 1
            if n == len(keys) and first > 0:
                state[1] = stretch
                ends[text + 1] += first - before
                return first
            if n == len(keys) or at - begin > LONGEST or (at < stop and kind == _HIGH):
                at, key, n = stretch, _SEED, first
                while at < stop and classes[raw[at]] != _BLANK:
                    key = (key ^ _U(raw[at])) * _PRIME
                    at += 1
                spans[n, 0], spans[n, 1], spans[n, 2], keys[n] = stretch, at, own + 1, (key & _EVEN) + _U(own + 1)
                n += 1
            elif is_word:
                spans[n, 0], spans[n, 1], spans[n, 2], keys[n] = begin, at, own, (key & _EVEN) + _U(own)
                n += 1
            elif begin == at:
                at += 1
        ends[text + 1] += n - before
        state[0], state[1] = text + 1, 0
    return n


@compiled
def number(
    raw: Array,
    spans: Array,
    keys: Array,
    done: int,
    slots: Array,
    known: Array,
    kinds: Array,
    known_ends: Array,
    known_raw: Array,
    size: Array,
    units: Array,
) -> Any:
    """Number units by a hash table, until there is no room for a new unit.

    Args:
        raw, spans, keys: result of `scan`.
        done: units that are numbered already.
        slots: int32[S], units by hash; -1: none. S is a power of two, and more than twice the units; changed.
        known: uint64[U], the hash of each unit in the table; changed.
        kinds: uint8[U], their kinds; changed.
        known_ends: int64[U + 1], ends of their bytes, from 0; changed.
        known_raw: uint8, their bytes, one after another; changed.
        size: int64[1], the units in the table; changed.
        units: uint32, the number of each unit; changed.

    Returns:
        The units that are numbered now.
    """
    mask = len(slots) - 1
    for i in range(done, len(keys)):
        key, start, length = keys[i], spans[i, 0], spans[i, 1] - spans[i, 0]
        slot = np.int64(key ^ (key >> _U(32))) & mask
        while True:
            unit = np.int64(slots[slot])
            if unit < 0:
                break
            begin = known_ends[unit]
            if known[unit] == key and known_ends[unit + 1] - begin == length:
                same = 0
                while same < length and known_raw[begin + same] == raw[start + same]:
                    same += 1
                if same == length:
                    break
            slot = (slot + 1) & mask
        if unit < 0:
            unit = size[0]
            begin = known_ends[unit]
            if unit == len(known) or begin + length > len(known_raw):
                return i
            known_raw[begin : begin + length] = raw[start : start + length]
            slots[slot], known[unit], kinds[unit], known_ends[unit + 1] = unit, key, spans[i, 2], begin + length
            size[0] = unit + 1
        units[i] = unit
    return len(keys)


@compiled
def fill(slots: Array, known: Array) -> None:
    """Enter units with these hashes into empty slots."""
    mask = len(slots) - 1
    for unit in range(len(known)):
        slot = np.int64(known[unit] ^ (known[unit] >> _U(32))) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = unit
