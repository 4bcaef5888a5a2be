"""Contracts of segmenters: every preset and rule of `longrank.text.segment`."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank.errors import InputError
from longrank.protocols import Segmenter
from longrank.text.segment import PRESETS, make_segmenter
from longrank.text.sentences import SPLITTERS
from longrank.types import Document

PIECE = re.compile(r"\w{1,4}|[^\w\s]")


class PieceTokenizer:
    """Cuts words into pieces of four letters, as a wordpiece tokenizer might."""

    fingerprint, room = "pieces-of-four", 300

    def offsets(self, text: str) -> list[tuple[int, int]]:
        assert len(text) <= 1 << 16, "a tokenizer never sees a whole long document"
        return [match.span() for match in PIECE.finditer(text)]


VARIANTS = [(name, {}) for name in PRESETS] + [
    ("sentences", {"splitter": splitter})
    for splitter in SPLITTERS
    if splitter not in {"spacy", "punkt"} and (splitter != "spacy-rules" or find_spec("spacy"))
]
READS_A_PART = ("cedr", "even", "given")
UNCAPPED = [v for v in VARIANTS if "max_passages" not in PRESETS[v[0]] and v[0] not in READS_A_PART]


def made(variant: tuple[str, dict[str, str]]) -> Segmenter:
    return make_segmenter(*variant, tokenizer=PieceTokenizer())


TEXTS = st.lists(
    st.sampled_from(["word", "U.S", ".", "?", "Dr.", "\n\n", "  ", "😀", "𝒳y", "é\u0301", "longerword", '"', "End. "]),
    max_size=400,
).map(" ".join)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@given(text=TEXTS)
@settings(max_examples=25, deadline=None)
def test_a_passage_is_its_stretch_of_the_text(variant: tuple[str, dict[str, str]], text: str) -> None:
    document = Document("d", "a title", text, ((0, len(text) // 2), (len(text) // 2, len(text))))
    result = made(variant).segment(document)
    assert result.passages
    assert result.n_passages >= len(result.passages)
    indices = [passage.index for passage in result.passages]
    assert indices == sorted(set(indices))
    assert indices[-1] < result.n_passages
    for passage in result.passages:
        assert passage.doc_id == "d"
        assert passage.text == text[passage.start : passage.end]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("text", ["", " ", "\n\t \u2003"])
def test_a_blank_document_is_one_empty_passage(variant: tuple[str, dict[str, str]], text: str) -> None:
    result = made(variant).segment(Document("d", "title", text))
    assert result.n_passages == 1
    (passage,) = result.passages
    assert (passage.index, passage.text, passage.start, passage.end) == (0, "", 0, 0)


@pytest.mark.parametrize("variant", UNCAPPED, ids=str)
@given(text=TEXTS)
@settings(max_examples=25, deadline=None)
def test_every_word_is_in_a_passage(variant: tuple[str, dict[str, str]], text: str) -> None:
    result = made(variant).segment(Document("d", "", text))
    read = {at for passage in result.passages for at in range(passage.start, passage.end)}
    assert all(character.isspace() or at in read for at, character in enumerate(text))


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_segmenting_depends_on_nothing_but_the_document(variant: tuple[str, dict[str, str]]) -> None:
    documents = [Document(f"d{i}", "", "Some words here. " * 900) for i in range(4)]
    segmenter, other = made(variant), made(variant)
    forwards = [segmenter.segment(document) for document in documents]
    backwards = [other.segment(document) for document in reversed(documents)]
    assert forwards == backwards[::-1]
    assert segmenter.fingerprint == other.fingerprint


def test_fingerprints_tell_presets_apart() -> None:
    same = {"birch", "santos", "sentences"}  # the same rule under the papers' names
    prints = {name: made((name, {})).fingerprint for name in PRESETS if name not in same}
    assert len(set(prints.values())) == len(prints)
    assert len({made((name, {})).fingerprint for name in same}) == 1


@pytest.mark.parametrize("name", PRESETS)
def test_an_unknown_option_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="has no option 'lenght'"):
        make_segmenter(name, {"lenght": 3}, PieceTokenizer())
