"""Stretches of documents as TREC Genomics judges them, in a stand-in of the shape that ir_datasets has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import longrank
from longrank.collections.collection import open_collection
from longrank.collections.documents import read_documents
from longrank.collections.gold import read_gold_spans, read_passage_qrels
from longrank.collections.irds import irds_passage_judgments
from longrank.errors import InputError
from longrank.types import Document, Notes, Query


class Span(NamedTuple):
    start: int
    length: int
    text: str


class Article(NamedTuple):
    doc_id: str
    journal: str
    title: str
    spans: tuple[Span, ...]

    def default_text(self) -> str:
        return " ".join(span.text for span in self.spans)


class Qrel(NamedTuple):
    query_id: str
    doc_id: str
    start: int
    length: int
    relevance: int


ARTICLES = (
    Article("7", "blood", "Iron", (Span(10, 20, "Iron binds."), Span(40, 5, " \n"), Span(60, 30, "Haem, too."))),
    Article("8", "rna", "Folds", (Span(0, 50, "RNA folds."), Span(50, 50, "It unfolds."), Span(100, 9, "End."))),
)
QRELS_2006 = (
    Qrel("160", "7", 65, 4, 1),  # inside the third span, which is the second with words
    Qrel("160", "7", 12, 3, 0),
    Qrel("160", "7", 41, 2, 2),  # in the span without words
    Qrel("160", "8", 40, 20, 2),  # over the border of the first two spans
    Qrel("160", "8", 0, 5, 1),  # another grade for the first
    Qrel("160", "8", 100, 9, 0),
)
QRELS_2007 = (Qrel("200", "8", 99, 2, 1),)  # the last byte of the second span and the first of the third


class Handler:
    """Documents, queries and judgments of one year."""

    def __init__(self, queries: dict[str, str], qrels: tuple[Qrel, ...]) -> None:
        self._queries, self._qrels = queries, qrels

    def docs_iter(self) -> Iterator[Article]:
        return iter(ARTICLES)

    def docs_store(self) -> Any:
        return self

    def get_many(self, doc_ids: list[str]) -> dict[str, Article]:
        return {article.doc_id: article for article in ARTICLES if article.doc_id in doc_ids}

    def queries_iter(self) -> Iterator[Any]:
        from ir_datasets.formats import GenericQuery

        return iter([GenericQuery(*query) for query in self._queries.items()])

    def qrels_iter(self) -> Iterator[Qrel]:
        return iter(self._qrels)

    def qrels_cls(self) -> type[Qrel]:
        return Qrel

    def docs_handler(self) -> Handler:
        return self

    queries_handler = qrels_handler = docs_handler


@pytest.fixture(autouse=True)
def _genomics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two years under the names of ir_datasets."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "irds"))
    ir_datasets = pytest.importorskip("ir_datasets", reason="needs the extra irds")
    years = {"2006": ({"160": "What binds iron?"}, QRELS_2006), "2007": ({"200": "What folds RNA?"}, QRELS_2007)}
    for year, parts in years.items():
        dataset = ir_datasets.Dataset(Handler(*parts))
        monkeypatch.setitem(ir_datasets.registry._registered, f"highwire/trec-genomics-{year}", dataset)
    monkeypatch.setitem(ir_datasets.registry._registered, "highwire", ir_datasets.Dataset(Handler({}, ())))


def test_the_catalogue_has_articles_queries_and_judgments_of_both_years() -> None:
    collection = open_collection("genomics")
    years = tuple(f"irds:highwire/trec-genomics-{year}" for year in (2006, 2007))
    assert collection.sources == ("irds:highwire",)
    assert (collection.queries, collection.qrels, collection.passage_qrels) == (years, years, years)
    assert list(longrank.read_queries("genomics")) == [
        Query("160", "What binds iron?", {"text": "What binds iron?"}),
        Query("200", "What folds RNA?", {"text": "What folds RNA?"}),
    ]


def test_an_article_has_its_paragraphs_as_passages() -> None:
    first, second = read_documents("genomics")
    assert first == Document("7", "Iron", "Iron binds.\nHaem, too.", ((0, 11), (12, 22)))
    assert [second.text[a:b] for a, b in second.passages] == ["RNA folds.", "It unfolds.", "End."]


def test_an_article_is_as_relevant_as_its_best_stretch() -> None:
    assert longrank.read_qrels("irds:highwire/trec-genomics-2006") == {"160": {"7": 2, "8": 2}}
    assert longrank.read_qrels("genomics") == {"160": {"7": 2, "8": 2}, "200": {"8": 1}}


def test_a_stretch_grades_every_passage_that_it_overlaps() -> None:
    notes = Notes()
    judged = irds_passage_judgments("highwire/trec-genomics-2006", notes)
    assert [row[:4] for row in judged] == [
        ("160", "7", 0, 0),
        ("160", "7", 1, 1),
        ("160", "8", 0, 2),
        ("160", "8", 1, 2),
        ("160", "8", 2, 0),
    ]
    assert [line for line in notes.lines() if "lie in no passage" in line and "document 7" in line]
    assert read_passage_qrels("genomics", Notes())["200"] == {"8#1": 1, "8#2": 1}
    assert [row.passage for row in read_gold_spans("genomics") if row.query_id == "200"] == [1, 2]


def test_relevant_passages_are_counted_per_article() -> None:
    result = longrank.analyze.relevant_passages("genomics").values
    # query 160: article 7 has one relevant passage, article 8 two; query 200: article 8 has two
    assert result.counts == {1: 1, 2: 2}


def test_a_dataset_that_judges_documents_has_no_judgments_of_passages() -> None:
    with pytest.raises(InputError, match="irds:vaswani: this dataset has no judgments of passages"):
        irds_passage_judgments("vaswani", Notes())


def test_the_table_of_relevant_passages_reads_the_collection(tmp_path: Path) -> None:
    from longrank.cli.main import main

    out = tmp_path / "out"
    assert main(["reproduce", "parade/table9-genomics", "--collection", "genomics", "-o", str(out)]) == 0
    rows = json.loads((out / "parade" / "table9-genomics" / "results.json").read_text())["rows"]
    assert rows[0]["obtained"] == pytest.approx({"exactly 1 (%)": 100 / 3, "1 or 2 (%)": 100, "3 or more (%)": 0})
    assert main(["reproduce", "parade/table3-genomics", "--collection", "genomics", "-o", str(out), "--dry-run"]) == 0
