"""Windows that fit: whatever the text, the title and the tokenizer, the packer of a model cuts none of them."""

from __future__ import annotations

import random
import re
import string
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank.errors import InputError
from longrank.ranking.passages import texts_read
from longrank.text.segment import make_segmenter
from longrank.types import Document, Segmentation


class Letters:
    """Every letter is a token."""

    fingerprint = "letters"

    def __init__(self, room: int = 100) -> None:
        self.room = room

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return [(i, i + 1) for i, c in enumerate(text) if not c.isspace()]


def windows(text: str, *, title: str | None = None, room: int = 100, **options: Any) -> Segmentation:
    segmenter = make_segmenter("tokens", options, Letters(room), title=title is not None)
    return segmenter.segment(Document("d", title or "", text))


def texts(text: str, **options: Any) -> list[str]:
    return [passage.text for passage in windows(text, **options).passages]


def test_a_window_has_as_many_words_as_fit_and_the_next_begins_within_the_stride() -> None:
    text = "aa bb cc dd ee ff gg"
    assert texts(text, length=6, stride=6, border="word") == ["aa bb cc", "dd ee ff", "gg"]
    assert texts(text, length=6, stride=4, border="word") == ["aa bb cc", "cc dd ee", "ee ff gg"]
    assert texts(text, length=7, stride=5, border="word") == ["aa bb cc", "cc dd ee", "ee ff gg"]
    assert texts(text, length=14, stride=1, border="word") == [text]


def test_a_window_begins_and_ends_at_sentences() -> None:
    text = "He ran. She sat. We all ate the bread. It was good."
    assert texts(text, length=17, stride=17) == ["He ran. She sat.", "We all ate the bread.", "It was good."]
    assert texts(text, length=24, stride=6) == ["He ran. She sat.", "She sat. We all ate the bread.", "It was good."]


def test_a_sentence_longer_than_a_window_is_split_at_words() -> None:
    text = "He ran. She sat. We all ate the bread. It was good."
    assert texts(text, length=13, stride=13) == ["He ran. She sat.", "We all ate the", "bread.", "It was good."]


def test_a_window_that_would_lie_in_the_window_before_is_left_out() -> None:
    long = "x" * 9
    assert texts(f"aa bb {long}", length=10, stride=2, border="word") == ["aa bb", long]
    assert texts("aa bb cc", length=6, stride=1, border="word") == ["aa bb cc"]


def test_a_word_longer_than_a_window_is_split_at_wordpieces() -> None:
    assert texts("aa bbbbbbb cc", length=3, stride=3, border="word") == ["aa b", "bbb", "bbb", "cc"]
    assert texts("aa. bbbbbbb cc", length=3, stride=3) == ["aa.", "bbb", "bbb", "b cc"]


def test_a_window_has_at_most_a_hundred_characters_per_token() -> None:
    class Unknown(Letters):
        def offsets(self, text: str) -> list[tuple[int, int]]:
            return [match.span() for match in re.finditer(r"\S+", text)]

    segmenter = make_segmenter("tokens", {"length": 5, "stride": 5, "border": "word"}, Unknown())
    found = [len(passage.text) for passage in segmenter.segment(Document("d", "", "a " + "x" * 1200)).passages]
    assert found == [1, 500, 500, 200]
    blanks = Document("d", "", "a" + " " * 600 + "b")
    assert [passage.text for passage in segmenter.segment(blanks).passages] == ["a", "b"]


def test_a_window_is_no_longer_than_the_room_and_overlaps_in_proportion() -> None:
    text = " ".join("ab" for _ in range(20))
    assert texts(text, length=16, stride=8, room=8, border="word") == texts(
        text, length=8, stride=4, room=8, border="word"
    )


def test_a_title_takes_its_part_of_the_room() -> None:
    result = windows("aa bb cc dd", title="ttt", room=9, length=8, stride=8, border="word")
    assert [passage.text for passage in result.passages] == ["aa bb cc", "dd"]
    assert result.title is None
    assert texts("aa bb cc dd", room=9, length=8, stride=8, border="word") == ["aa bb cc dd"]


def test_a_title_longer_than_half_the_room_is_cut_to_this_half_and_the_cut_is_told() -> None:
    document = Document("d", "t" * 30, "aa bb cc dd")
    segmenter = make_segmenter("tokens", {"length": 8, "stride": 8, "border": "word"}, Letters(9), title=True)
    result = segmenter.segment(document)
    assert result.title == "tttt"
    assert texts_read(document, result, title=True) == ("tttt aa bb", "tttt cc dd")


def test_a_cap_leaves_out_windows() -> None:
    result = windows("aa bb cc dd", length=2, stride=2, border="word", max_passages=3, overflow="first_last_random")
    assert (len(result.passages), result.n_passages) == (3, 4)


def test_windows_depend_on_the_room_only_where_it_is_narrow() -> None:
    def fingerprint(room: int, *, title: bool = False) -> str:
        return make_segmenter("tokens", {"border": "word"}, Letters(room), title=title).fingerprint

    assert fingerprint(254) == "tokens(length=128,stride=64,border=word,tokenizer=letters)" == fingerprint(445)
    assert fingerprint(138) != fingerprint(139)
    assert fingerprint(254, title=True) != fingerprint(445, title=True)


def test_windows_need_a_tokenizer_and_overlap_or_touch() -> None:
    with pytest.raises(InputError, match="need the tokenizer"):
        make_segmenter("tokens")
    with pytest.raises(InputError, match="never be read"):
        make_segmenter("tokens", {"stride": 201}, Letters())
    with pytest.raises(InputError, match="an option of sentences"):
        make_segmenter("tokens", {"border": "word", "splitter": "sentencex"}, Letters())
    with pytest.raises(InputError, match="has no option 'title'"):
        make_segmenter("tokens", {"title": True}, Letters())


def base64(n: int, seed: int) -> str:
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits + "+/", k=n))


PARTS = st.one_of(
    st.sampled_from(
        ["ba de", "kilo.", " Mu ran! ", "\n\n", "   ", "\u3000", "\t", "=" * 300, "é\u0301", "👩‍👩‍👧‍👦🏳️‍🌈" * 9]
    ),
    st.sampled_from(
        ["\x00\ufeff", "\u200b" * 200, "ﷺ" * 20, "我们的河水很长。" * 12, "ครอบครัว" * 9, "x" * 900, "ba" * 700]
    ),
    st.integers(1, 2000).map(lambda n: base64(n, n)),
    st.integers(1, 60).map(lambda n: "  ".join(["solving"] * n)),
    st.text(max_size=40),
)
TEXTS = st.lists(PARTS, max_size=12).map("".join) | st.lists(PARTS, max_size=12).map(" ".join)


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Any]:
    pytest.importorskip("tokenizers", reason="needs the extra neural")
    from small_tokenizers import KINDS

    return {make.__name__: make() for make in KINDS}


@pytest.mark.parametrize("kind", ["wordpiece", "byte_level", "qwen", "unigram", "unsplit"])
@given(text=TEXTS, heading=TEXTS, data=st.data())
@settings(max_examples=25, deadline=None)
def test_nothing_is_cut_and_nothing_is_left_out(
    tokenizers: dict[str, Any], kind: str, text: str, heading: str, data: Any
) -> None:
    from longrank.networks.feeding import OffsetTokenizer
    from longrank.text.packing import Packer
    from longrank.text.words import readable

    text, heading = readable(text), readable(heading)
    packer = Packer(tokenizers[kind], data.draw(st.sampled_from([60, 100, 256])))
    length = data.draw(st.sampled_from([40, packer.text_room - 1, packer.text_room, 500]))
    tokenizer = OffsetTokenizer(tokenizers[kind], packer.text_room)
    stride = data.draw(st.sampled_from([1, length // 2, length]))
    options = {"length": length, "stride": stride, "border": data.draw(st.sampled_from(["word", "sentence"]))}
    document, title = Document("d", heading, text), data.draw(st.booleans())
    result = make_segmenter("tokens", options, tokenizer, title=title).segment(document)
    for packed in packer.texts(texts_read(document, result, title=title)):
        assert not packed.truncated
    covered = {at for passage in result.passages for at in range(passage.start, passage.end)}
    assert all(character.isspace() or at in covered for at, character in enumerate(text))
    for before, after in pairwise(result.passages):
        assert before.start <= after.start and before.end < after.end


@pytest.mark.parametrize("kind", ["wordpiece", "byte_level", "qwen", "unigram", "unsplit"])
@given(text=TEXTS, query=TEXTS)
@settings(max_examples=20, deadline=None)
def test_no_passage_is_cut_beside_any_query(tokenizers: dict[str, Any], kind: str, text: str, query: str) -> None:
    from longrank.networks.feeding import OffsetTokenizer
    from longrank.text.packing import Packer
    from longrank.text.prompts import PromptPacker
    from longrank.text.words import readable

    text, query = readable(text), readable(query) * 9
    pairs = Packer(tokenizers[kind], 100, 30)
    prompts = PromptPacker(tokenizers[kind], "est: {query}\nsol: {passage}\n\nving:", 160, 40)
    for packer, pack in ((pairs, pairs.pairs), (prompts, prompts.prompts)):
        tokenizer = OffsetTokenizer(tokenizers[kind], packer.passage_room)
        passages = make_segmenter("tokens", {"length": 500, "stride": 400}, tokenizer).segment(Document("d", "", text))
        for packed in pack(query, [passage.text for passage in passages.passages]):
            assert not packed.truncated
