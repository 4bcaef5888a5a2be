from __future__ import annotations

from collections.abc import Iterable

import pytest

from longrank.formats.corpora import Located
from longrank.index import batches
from longrank.index.batches import Batch
from longrank.types import Document


def cut(sizes: Iterable[int]) -> list[list[int]]:
    """Sizes of the texts in each batch."""
    stream = (Located(Document(f"d{i}", "", "x" * size), "f", None) for i, size in enumerate(sizes))
    return [[len(text) for text in batch.texts] for batch in batches.batches(stream, lambda located: "")]


def test_a_batch_ends_with_the_document_that_fills_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_CHARS", 1000)
    monkeypatch.setattr(batches, "_COSTS", 100)
    assert cut([300, 500, 10, 10, 2000, 1]) == [[300, 500], [10, 10, 2000], [1]]
    assert cut([900, 900]) == [[900], [900]]
    assert cut([]) == []


def test_documents_without_a_text_fill_a_batch_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_CHARS", 1000)
    monkeypatch.setattr(batches, "_COSTS", 100)
    assert [len(batch) for batch in cut([0] * 25)] == [10, 10, 5]


def test_batches_double_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_CHARS", 10)
    monkeypatch.setattr(batches, "_COSTS", 0)
    monkeypatch.setattr(batches, "_GROWTH", 2)
    assert [sum(batch) for batch in cut([10] * 22)] == [10, 10, 20, 20, 40, 40, 40, 40]


def test_every_column_has_its_value() -> None:
    batch = Batch()
    batch.append(Located(Document("d", "title", "text", ((0, 2),)), "file", 7, "what is asked"), "")
    batch.append(Located(Document("e", "", "another"), "irds:some", None), "german")
    assert (batch.ids, batch.titles, batch.texts) == (["d", "e"], ["title", ""], ["text", "another"])
    assert (batch.passages, batch.expansions) == ([((0, 2),), ()], ["what is asked", ""])
    assert (batch.paths, batch.lines, batch.analyzers) == (["file", "irds:some"], [7, None], ["", "german"])
