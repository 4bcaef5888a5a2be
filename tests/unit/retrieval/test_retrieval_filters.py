"""A filtered run is the full unfiltered run without the documents that do not match, score for score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import longrank
from collections_of_words import located, random_documents
from longrank.cli.main import main
from longrank.errors import InputError
from longrank.formats.trec import read_run
from longrank.index import Index, build_index
from longrank.index.filter_parsing import parse_filter
from longrank.protocols import MaskedRetriever
from longrank.ranking.pipeline import filtered, open_pipeline
from longrank.retrieval import PRESETS, SIMILARITIES, Dense, Hybrid, Replay, make_retriever
from longrank.retrieval.deferred import Deferred, masked
from longrank.types import Document, Notes, Query, Run
from stored import encode, random_vectors, store

QUERIES = [Query("q1", "a b abc"), Query("q2", "zürich"), Query("q3", "title"), Query("q4", "nowhere")]
WORDS = [name for name, stage in PRESETS.items() if stage.analyzer in ("", "porter") and stage.kind == "words"]
FILTERS: list[dict[str, Any]] = [
    {"year": {"$gte": 2000}},
    {"lang": "en", "year": {"$lt": 2010}},
    {"year": 2007},
    {"lang": {"$ne": "en"}},
    {"year": {"$gt": 3000}},
]


def dated(n: int) -> list[Document]:
    made = []
    for number, document in enumerate(random_documents(n)):
        metadata = {"year": 1990 + number % 30, "lang": ("en", "de", "fr")[number % 3]}
        made.append(Document(document.doc_id, document.title, document.text, document.passages, metadata))
    return made


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return build_index(located(dated(120)), tmp_path_factory.mktemp("filters") / "index")


def check_exact(index: Index, retriever: MaskedRetriever) -> None:
    for filter in FILTERS:
        kept = retriever.within(index.mask(parse_filter(filter)))
        for query in QUERIES:
            full = [row for row in retriever.retrieve(query, len(index)) if matches(index, filter, row.doc_id)]
            for k in (1, 5, 1000):
                assert kept.retrieve(query, k) == full[:k], (filter, query, k)


def matches(index: Index, filter: dict[str, Any], doc_id: str) -> bool:
    return bool(index.mask(parse_filter(filter))[index.number(doc_id)])


@pytest.mark.parametrize("preset", WORDS)
def test_presets_of_words(index: Index, preset: str) -> None:
    check_exact(index, make_retriever(index, preset))


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_similarities(index: Index, similarity: str) -> None:
    check_exact(index, make_retriever(index, similarity=similarity))


@pytest.mark.parametrize("best", [1, 2])
def test_dense_passages(index: Index, best: int) -> None:
    dense = Dense(index, store(index, random_vectors(index)), encode, best=best)
    check_exact(index, dense)
    deferred = Deferred(lambda: dense).within(index.mask(parse_filter(FILTERS[0])))
    assert deferred.retrieve(QUERIES[0], 5) == dense.within(index.mask(parse_filter(FILTERS[0]))).retrieve(
        QUERIES[0], 5
    )


def test_a_hybrid_fuses_the_filtered_rankings(index: Index) -> None:
    bm25, dense = make_retriever(index), Dense(index, store(index, random_vectors(index)), encode)
    assert not isinstance(bm25, Dense | Hybrid)
    mask = index.mask(parse_filter(FILTERS[0]))
    expected = Hybrid(bm25.within(mask), dense.within(mask)).retrieve(QUERIES[0], 7)
    assert Hybrid(bm25, dense).within(mask).retrieve(QUERIES[0], 7) == expected
    assert all(mask[index.number(row.doc_id)] for row in expected)


def test_the_mask_of_all_documents_changes_nothing(index: Index) -> None:
    bm25 = make_retriever(index)
    everything = bm25.within(np.ones(len(index), np.bool_))
    assert [everything.retrieve(query, 9) for query in QUERIES] == [bm25.retrieve(query, 9) for query in QUERIES]


def test_a_replayed_run_takes_no_filter(index: Index) -> None:
    with pytest.raises(InputError, match="takes no filter"):
        masked(Replay(Run("tag", [])), index.mask(parse_filter(FILTERS[0])))


def test_verbs_and_pipelines_take_a_filter(index: Index) -> None:
    for filter in FILTERS[:3]:
        run = longrank.retrieve(index, {"q1": "a b abc"}, k=5, filter=filter)
        assert list(run["q1"]) == make_retriever(index).within(index.mask(parse_filter(filter))).retrieve(QUERIES[0], 5)
        results = longrank.search(index, "a b abc", pipeline="lexical", k=5, filter=json.dumps(filter))
        assert 0 < len(results) <= 5
        assert all(matches(index, filter, result.doc_id) for result in results)
    pipeline = open_pipeline(index, "lexical")
    assert filtered(pipeline, None) is pipeline
    with pytest.raises(InputError, match="filter must be an object"):
        longrank.search(index, "a", pipeline="lexical", filter=3)
    with pytest.raises(InputError, match="a filter needs a LongRank index"):
        longrank.retrieve("lucene:nowhere", ["a"], filter={"year": 1})


def test_commands_take_filters(index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries, run = tmp_path / "queries.tsv", tmp_path / "out.run"
    queries.write_text("q1\ta b abc\n")
    options = ["--where", "year>=2000", "--where", "lang=en"]
    assert main(["retrieve", str(index.path), str(queries), "-o", str(run), *options, "-k", "4"]) == 0
    expected = longrank.retrieve(index, {"q1": "a b abc"}, k=4, filter={"year": {"$gte": 2000}, "lang": "en"})
    assert [row.doc_id for row in read_run(run, Notes())["q1"]] == [row.doc_id for row in expected["q1"]]
    capsys.readouterr()
    command = ["search", str(index.path), "a b abc", "--pipeline", "lexical", "--json", "--filter", '{"lang": "de"}']
    assert main([*command, "-k", "3"]) == 0
    found = [json.loads(line)["doc_id"] for line in capsys.readouterr().out.splitlines()]
    assert len(found) == 3
    assert all(matches(index, {"lang": "de"}, doc_id) for doc_id in found)
    assert main([*command[:-1], '{"lagn": "de"}']) == 2
    assert "--filter/lagn: no document has this field (got 'lagn'); did you mean 'lang'?" in capsys.readouterr().err
