"""Every preset of windows, number by number: what the papers and their code say, worked out by hand."""

from __future__ import annotations

import pytest

from longrank.protocols import Segmenter
from longrank.text.segment import PRESETS, make_segmenter
from longrank.types import Document, Segmentation

FIRST_LAST = "max_passages={},overflow=first_last_random,seed={})"


class Words:
    """A tokenizer for which a wordpiece is a word."""

    fingerprint, room = "words", 300

    def offsets(self, text: str) -> list[tuple[int, int]]:
        ends = [i for i, c in enumerate(text + " ") if c == " "]
        return list(zip([0, *(end + 1 for end in ends)], ends, strict=False))


def made(name: str) -> Segmenter:
    return make_segmenter(name, tokenizer=Words())


def segmented(name: str, n: int) -> Segmentation:
    if PRESETS[name].get("unit") == "sentence":
        return made(name).segment(Document("d", "", " ".join(["He ran."] * n)))
    return made(name).segment(Document("d", "", " ".join(["w"] * n)))


def sizes(name: str, n: int) -> list[int]:
    """Units in each window of a document of n units."""
    word = "ran." if PRESETS[name].get("unit") == "sentence" else "w"
    return [passage.text.split().count(word) for passage in segmented(name, n).passages]


KEEP_150_75 = {0: [0], 1: [1], 75: [75], 76: [76, 1], 150: [150, 75], 151: [150, 76, 1], 300: [150, 150, 150, 75]}
WINDOWS: dict[str, dict[int, list[int]]] = {
    "windows": {0: [0], 1: [1], 75: [75], 76: [76], 150: [150], 151: [150, 76], 300: [150, 150, 150]},
    "dai": KEEP_150_75,
    "ecir21": KEEP_150_75,
    "parade-paper": {0: [0], 1: [1], 200: [200], 201: [201], 225: [225], 226: [225, 26], 800: [225, 225, 225, 200]},
    "parade-standalone": {0: [0], 1: [1], 100: [100], 101: [101], 150: [150], 151: [150, 51], 300: [150, 150, 100]},
    "capreolus": {0: [0], 1: [1], 100: [100], 101: [101, 1], 150: [150, 50], 151: [150, 51], 300: [150, 150, 100]},
    "cedr": {0: [0], 1: [1], 489: [489], 490: [245, 245], 799: [400, 399], 800: [400, 400], 978: [400, 400]},
    "tokens": {0: [0], 1: [1], 64: [64], 65: [65], 128: [128], 129: [128, 65], 256: [128, 128, 128]},
    "doct5query": {0: [0], 1: [1], 5: [5], 6: [6], 10: [10], 11: [10, 6], 20: [10, 10, 10]},
}
"""At 0, 1, stride, stride + 1, window, window + 1 and several strides."""


@pytest.mark.parametrize(("name", "n"), [(name, n) for name, by_length in WINDOWS.items() for n in by_length])
def test_sizes_of_windows_at_the_lengths_where_rules_differ(name: str, n: int) -> None:
    assert sizes(name, n) == WINDOWS[name][n]


CAPS = {  # the longest document whose windows are all kept, and their number
    "dai": (30 * 75, 30),
    "ecir21": (30 * 75, 30),
    "parade-paper": (225 + 15 * 200, 16),
    "parade-standalone": (150 + 15 * 100, 16),
    "capreolus": (16 * 100, 16),
}


@pytest.mark.parametrize("name", CAPS)
def test_a_window_is_left_out_only_where_there_is_one_too_many(name: str) -> None:
    n, most = CAPS[name]
    whole, longer = segmented(name, n), segmented(name, n + 1)
    assert [p.index for p in whole.passages] == list(range(most))
    assert (whole.n_passages, longer.n_passages, len(longer.passages)) == (most, most + 1, most)
    last = most - 1 if name == "capreolus" else most  # Capreolus reads the beginning only
    assert (longer.passages[0].index, longer.passages[-1].index) == (0, last)


def test_presets_are_the_published_numbers() -> None:
    """Dai and Callan; Capreolus at d7d2631 and later; PARADE's text and code; CEDR; Birch; docTTTTTquery."""
    sentences = "splitter=sentencex-"
    expected = {
        "windows": "windows(unit=word,length=150,stride=75,tail=drop_contained)",
        "dai": "windows(unit=word,length=150,stride=75,tail=keep," + FIRST_LAST.format(30, 0),
        "ecir21": "windows(unit=wordpiece,length=150,stride=75,tail=keep,max_passages=30,overflow=first_last_random,",
        "parade-paper": "windows(unit=wordpiece,length=225,stride=200,tail=drop_contained,max_passages=16,"
        "overflow=first_last_random,",
        "parade-standalone": "windows(unit=word,length=150,stride=100,tail=drop_contained,"
        + FIRST_LAST.format(16, 118),
        "parade-efficiency": "windows(unit=wordpiece,length=150,stride=100,tail=drop_contained,max_passages=16,"
        "overflow=first_last_random,",
        "capreolus": "windows(unit=wordpiece,length=150,stride=100,tail=keep,max_passages=16,overflow=head,",
        "cedr": "even(unit=wordpiece,length=489,max_units=800,",
        "sentences": "windows(unit=sentence,length=1,stride=1,tail=drop_contained," + sentences,
        "birch": "windows(unit=sentence,length=1,stride=1,tail=drop_contained," + sentences,
        "santos": "windows(unit=sentence,length=1,stride=1,tail=drop_contained," + sentences,
        "doct5query": "windows(unit=sentence,length=10,stride=5,tail=drop_contained," + sentences,
        "tokens": "tokens(length=128,stride=64,border=sentence," + sentences,
        "sections": "sections(length=150,stride=75,shortest=30)",
        "even": "even(unit=word,length=150,max_units=800)",
        "given": "given()",
        "whole": "whole()",
    }
    found = {name: made(name).fingerprint for name in PRESETS}
    assert found.keys() == expected.keys()
    for name, beginning in expected.items():
        assert found[name].startswith(beginning), found[name]
        if PRESETS[name].get("unit") == "sentence":
            assert "language=en,max_words=512" in found[name]
