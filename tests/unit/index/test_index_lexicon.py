"""Documents counted by compiled loops have the terms that analyzers find in their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank.errors import MissingExtra
from longrank.index import lexicon as module
from longrank.index.lexicon import Inverted, Lexicon, Texts
from longrank.text.analysis import ANALYZERS

LIKELY = st.text(st.sampled_from("abS03_.':,; \n\t\v-\"é日ァกЖ’👍\u200d\u0301\x00\x1f"), max_size=40)
TEXTS = st.lists(LIKELY | st.text(st.characters(max_codepoint=127)) | st.text(), max_size=6)
PROSE = [
    "The dogs' U.S.A. paid 3,000.50; a:b, e-mail don't rock'n'roll",
    "__init__ snake_case __ _ 1_000 a.3 3.a a_.b b._c a,b 1:2 1;2 x:y",
    "naïve Straße Ελλάδα (Москва) well-known—dash 日本語 ひらカタカナ ภาษาไทย 👩‍👩‍👧",
    "x" * 127 + " " + "y" * 128 + " a." + "z" * 300 + ".b c",
    "",
    " .,-!? ",
    "communicate communicated communicates communication communicator running runner",
]


def names() -> list[str]:
    found = []
    for name, analyzer in ANALYZERS.items():
        try:
            analyzer.check()
        except MissingExtra:
            continue
        found.append(name)
    return found


def counted(texts: Sequence[str], names: Sequence[str], lexicon: Lexicon | None = None) -> Inverted:
    encoded = Texts.of([text.encode(errors="surrogatepass") for text in texts])
    return (lexicon or Lexicon()).inverted([(encoded, 1)], names)


def by_documents(found: Inverted) -> list[dict[str, int]]:
    terms = [term.decode(errors="surrogatepass") for term in found.terms]
    bounds = np.concatenate(([0], np.cumsum(found.counts)))
    rows = []
    for first, last in pairwise(bounds.tolist()):
        numbers = found.forward_terms[first:last].tolist()
        assert numbers == sorted(set(numbers))
        rows.append(dict(zip([terms[i] for i in numbers], found.forward_tfs[first:last].tolist(), strict=True)))
    return rows


def check(texts: Sequence[str], names: Sequence[str], lexicon: Lexicon | None = None) -> None:
    found = counted(texts, names, lexicon)
    expected = [Counter(ANALYZERS[name](text)) for text, name in zip(texts, names, strict=True)]
    assert by_documents(found) == expected
    terms = sorted(set().union(*expected))
    assert [term.decode(errors="surrogatepass") for term in found.terms] == terms
    assert found.lengths.tolist() == [sum(counts.values()) for counts in expected]
    for number, term in enumerate(terms):
        postings = slice(found.starts[number], found.starts[number + 1])
        having = [i for i, counts in enumerate(expected) if term in counts]
        assert found.docs[postings].tolist() == having
        assert found.tfs[postings].tolist() == [expected[i][term] for i in having]


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.sampled_from(names()))
def test_terms_are_those_of_the_analyzer(texts: list[str], name: str) -> None:
    check(texts, [name] * len(texts))


@pytest.mark.parametrize("name", names())
def test_terms_of_prose_are_those_of_the_analyzer(name: str) -> None:
    check(PROSE, [name] * len(PROSE))


def test_equal_words_have_the_terms_of_their_documents_analyzers() -> None:
    check([*PROSE, *PROSE, *PROSE], ["porter"] * len(PROSE) + ["none"] * len(PROSE) + ["porter"] * len(PROSE))


def test_little_room_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROOM", 1)
    monkeypatch.setattr(module, "_SCANNED", 5)
    check(PROSE, ["porter"] * len(PROSE))
    check(["a!b!c!d!e!f!g!h and!i j"], ["none"])  # more words between two blanks than are found at a time


@pytest.mark.parametrize("most", [0, 20, 1 << 18])
def test_what_came_before_changes_nothing(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_UNITS", most)
    lexicon = Lexicon()
    for name in ("porter", "none", "porter"):
        for text in PROSE:
            check([text, "words before"], [name, name], lexicon)


def test_words_count_as_often_as_their_part_weighs() -> None:
    parts = [(Texts.of([b"title", b""]), 3), (Texts.of([b"title words", b"words"]), 2), (Texts.of([b"words", b"w"]), 1)]
    found = Lexicon().inverted(parts, ["none", "none"])
    assert by_documents(found) == [{"title": 5, "words": 3}, {"words": 2, "w": 1}]
    assert found.lengths.tolist() == [8, 3]


def test_no_documents_and_no_words_have_no_terms() -> None:
    check([], [])
    check(["", "..."], ["porter", "porter"])
