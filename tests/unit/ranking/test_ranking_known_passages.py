from __future__ import annotations

from dataclasses import replace

from longrank.ranking import known_passages
from longrank.ranking.known_passages import KnownPassages
from longrank.storage.kept import ENTRY_BYTES
from longrank.text.segment import make_segmenter
from longrank.types import Document, Segmentation


class Counting:
    """Counts the documents that it splits."""

    def __init__(self, preset: str = "windows", options: dict[str, object] | None = None) -> None:
        self._segmenter, self.n = make_segmenter(preset, options or {"length": 2, "stride": 1}), 0
        self.fingerprint = self._segmenter.fingerprint

    def segment(self, document: Document) -> Segmentation:
        self.n += 1
        return self._segmenter.segment(document)._replace(title=document.title[:2] or None)


DOCUMENT = Document("d", "title", "one two  three", ((0, 3), (4, 14)))


def test_a_document_is_split_once_and_its_passages_stay_the_same() -> None:
    counting = Counting()
    known = KnownPassages(counting)
    first = known.segment(DOCUMENT)
    assert first == Counting().segment(DOCUMENT) == known.segment(replace(DOCUMENT))
    assert counting.n == 1
    assert known.fingerprint == counting.fingerprint


def test_a_document_that_differs_in_anything_is_split_again() -> None:
    counting = Counting("given", {"max_passages": 1})
    known = KnownPassages(counting)
    others = [{"doc_id": "e"}, {"title": "other"}, {"text": "one two  four!"}, {"passages": ((0, 7),)}]
    for document in [DOCUMENT, *(replace(DOCUMENT, **other) for other in others)]:
        for _ in range(2):
            assert known.segment(document) == Counting("given", {"max_passages": 1}).segment(document)
    assert counting.n == 1 + len(others)


def test_passages_used_longest_ago_are_forgotten(monkeypatch) -> None:
    monkeypatch.setattr(known_passages, "_KEPT_BYTES", 2 * (2 * 3 * 4 + ENTRY_BYTES))  # two documents of two passages
    counting = Counting()
    known = KnownPassages(counting)
    for doc_id in "abab":
        known.segment(replace(DOCUMENT, doc_id=doc_id))
    assert counting.n == 2
    for doc_id in "cba":
        known.segment(replace(DOCUMENT, doc_id=doc_id))
    assert counting.n == 4
