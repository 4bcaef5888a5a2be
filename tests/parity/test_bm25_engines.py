"""BM25 against Lucene's own runs and against bm25s."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from collections_of_words import located, random_documents
from longrank.formats.corpora import CorpusOptions, read_documents
from longrank.formats.queries import read_queries
from longrank.index import Index, IndexOptions, build_index
from longrank.retrieval import BM25
from longrank.types import Notes, Query

bm25s = pytest.importorskip("bm25s", reason="needs the extra dev")

COLLECTIONS = ["cacm", "cranfield", "time", "scifact"]


@pytest.fixture(scope="module")
def indexes(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Index]:
    folder, built = tmp_path_factory.mktemp("indexes"), {}
    for name in COLLECTIONS:
        fields = ("raw",) if name == "cacm" else ("title", "text")
        documents = read_documents([str(shared_data / name / "docs.jsonl.gz")], Notes(), CorpusOptions(fields=fields))
        built[name] = build_index(
            documents, folder / name, options=IndexOptions(index_title="title" in fields, fields=fields)
        )
    return built


def lucene_run(path: Path) -> dict[str, list[tuple[str, float]]]:
    run: dict[str, list[tuple[str, float]]] = {}
    with gzip.open(path, "rt") as lines:
        for query_id, _, doc_id, _, score, _ in map(str.split, lines):
            run.setdefault(query_id, []).append((doc_id, float(score)))
    return run


@pytest.mark.parametrize("collection", COLLECTIONS)
@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (1.2, 0.75)])
def test_every_rank_and_score_is_lucenes(
    shared_data: Path, indexes: dict[str, Index], collection: str, k1: float, b: float
) -> None:
    expected = lucene_run(shared_data / collection / "lucene-runs" / f"bm25-k{k1}-b{b}.run.gz")
    bm25 = BM25(indexes[collection], k1, b, ties="lucene")
    queries = {q.query_id: q for q in read_queries(shared_data / collection / "queries.jsonl", Notes())}
    assert sum(map(len, expected.values())) > 5000
    for query_id, wanted in list(expected.items())[:300]:
        found = bm25.retrieve(queries[query_id], 100)
        assert [row.doc_id for row in found] == [doc_id for doc_id, _ in wanted]
        # Anserini rounds to four decimals, then lowers ties by one millionth each.
        assert [row.score for row in found] == pytest.approx([score for _, score in wanted], abs=1.6e-4)


def test_cacm_has_the_statistics_that_anserini_publishes(indexes: dict[str, Index]) -> None:
    index = indexes["cacm"]
    assert (index.n_docs, index.n_terms, index.total_terms) == (3204, 14363, 320968)


def test_cacm_has_the_effectiveness_that_anserini_publishes(shared_data: Path, indexes: dict[str, Index]) -> None:
    import pytrec_eval

    qrels: dict[str, dict[str, int]] = {}
    for line in (shared_data / "cacm" / "qrels-anserini.txt").read_text().splitlines():
        query_id, _, doc_id, grade = line.split()
        qrels.setdefault(query_id, {})[doc_id] = int(grade)
    bm25 = BM25(indexes["cacm"], 0.9, 0.4)
    queries = read_queries(shared_data / "cacm" / "queries.jsonl", Notes())
    run = {q.query_id: {row.doc_id: row.score for row in bm25.retrieve(q, 1000)} for q in queries}
    values = pytrec_eval.RelevanceEvaluator(qrels, {"map", "P_30"}).evaluate(run)
    assert len(values) == 52
    assert np.mean([v["map"] for v in values.values()]) == pytest.approx(0.3123, abs=0.0005)
    assert np.mean([v["P_30"] for v in values.values()]) == pytest.approx(0.1942, abs=0.0001)


@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (1.5, 0.75)])
def test_exact_lengths_give_the_scores_of_bm25s(tmp_path: Path, k1: float, b: float) -> None:
    index = build_index(located([d for d in random_documents(200) if d.text.strip()]), tmp_path / "index")
    tokens = [index.analyzer(index.options.indexed(document)) for document in index]
    theirs = bm25s.BM25(method="lucene", k1=k1, b=b)
    theirs.index(tokens, show_progress=False)
    ours = BM25(index, k1, b, doc_lengths="exact")
    for text in ("a b abc", "ca zürich", "bb bb e", "東京 c"):
        terms = index.analyzer(text)
        expected = {index.doc_id(i): s for i, s in enumerate(theirs.get_scores(terms).tolist()) if s > 0}
        found = {row.doc_id: row.score for row in ours.retrieve(Query("q", text), 1000)}
        assert found == pytest.approx(expected, rel=1e-4)
        assert found
