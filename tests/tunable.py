"""A collection whose best b can be worked out by hand.

Of two documents that hold a query's term twice and once, and are d2 and d1 terms long, BM25 ranks the first
higher if and only if  b < 1 / (d2/avgdl + 1 - 2 * d1/avgdl), whatever k1. With the lengths below (avgdl 22.5):

    alpha    long-a (twice, 30 terms) is relevant, short-a (once, 10) is not:   right if and only if b < .692
    beta     short-b (once, 10 terms) is relevant, long-b (twice, 40) is not:   right if and only if b > .529

So of 0, .2, .4, .6, .8 and 1 only .6 gives every query a reciprocal rank of 1; of queries with alpha the first best
is 0. A wrong order gives 1/2.
"""

from __future__ import annotations

import json
from pathlib import Path

from longrank.evaluation.tuning.search import Search
from longrank.formats.corpora import Located
from longrank.index import Index, build_index
from longrank.index.shared import SharedIndex
from longrank.types import Document, Query

TEXTS = {
    "long-a": "alpha " * 2 + "filler " * 28,
    "short-a": "alpha " + "filler " * 9,
    "short-b": "beta " + "filler " * 9,
    "long-b": "beta " * 2 + "filler " * 38,
}
QUERIES = {"a1": "alpha", "b1": "beta", "a2": "alpha", "b2": "beta"}
QRELS = {query_id: {"long-a" if text == "alpha" else "short-b": 1} for query_id, text in QUERIES.items()}
FOLDS = {  # each chooses on the other kind: b = 0 for beta, where it is wrong, and .6 for alpha, where it is right
    "s1": {"train": ["a1"], "dev": ["a2"], "test": ["b1", "b2"]},
    "s2": {"train": ["b1"], "dev": ["b2"], "test": ["a1", "a2"]},
}


def build(folder: Path) -> Path:
    """Build the index; return its folder."""
    documents = [Document(doc_id, "", text) for doc_id, text in TEXTS.items()]
    build_index([Located(document, "docs", line) for line, document in enumerate(documents, 1)], folder / "index")
    return folder / "index"


def shared(folder: Path) -> SharedIndex:
    """Return the state of an index."""
    return SharedIndex.of(Index.open(folder))


def write_inputs(folder: Path) -> None:
    """Write what the command reads: the index, queries.jsonl, qrels.txt and folds.json."""
    build(folder)
    rows = [json.dumps({"query_id": query_id, "text": text}) for query_id, text in QUERIES.items()]
    (folder / "queries.jsonl").write_text("\n".join(rows) + "\n")
    judged = [f"{q} 0 {doc_id} {grade}\n" for q, docs in QRELS.items() for doc_id, grade in docs.items()]
    (folder / "qrels.txt").write_text("".join(judged))
    (folder / "folds.json").write_text(json.dumps(FOLDS))


def search_of(index: Path, preset: str = "bm25-anserini", measure: str = "RR") -> Search:
    """Return what `tabulate` takes."""
    queries = tuple(Query(query_id, text) for query_id, text in QUERIES.items())
    return Search(shared(index), preset, {}, queries, QRELS, measure, 10)
