"""Our runs against those that Lucene made of the same collections, and against Anserini's published figures."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from longrank.evaluation.measures import evaluate_rankings, summarise
from longrank.evaluation.names import parse_measures
from longrank.formats.queries import read_queries
from longrank.formats.records import CorpusOptions
from longrank.formats.trec import read_qrels
from longrank.index import Index, index_files
from longrank.retrieval import SIMILARITIES, Searcher, WithFeedback, first_stage, make_feedback
from longrank.types import Notes, Query, ScoredDoc

COLLECTIONS = ("cacm", "cranfield", "time", "scifact")
PRESETS_OF_RUNS = {
    "bm25-k0.9-b0.4": "bm25-anserini",
    "bm25-k1.2-b0.75": "bm25-lucene",
    "qld-mu1000": "ql",
    "bm25+rm3": "bm25-anserini+rm3",
    "bm25+rocchio": "bm25-anserini+rocchio",
    "bm25+bm25prf": "bm25-anserini+bm25prf",
    "bm25+axiom": "bm25-anserini+axiomatic",
}
PUBLISHED = {
    "bm25-anserini": (0.3123, 0.1942),
    "bm25-anserini+rm3": (0.3648, 0.2224),
    "bm25-anserini+axiomatic": (0.3077, 0.1955),
    "ql": (0.3265, 0.1942),
    "ql+rm3": (0.3629, 0.2250),
    "ql+axiomatic": (0.2907, 0.1840),
}
"""AP and P@30 of presets on CACM (Anserini's regression configuration cacm.yaml)."""

Ranking = list[tuple[str, float]]
"""Document ids and scores, best first."""


@dataclass(frozen=True)
class Agreement:
    """How far two runs agree.

    Attributes:
        queries: how many were compared.
        top: of them, those with the same first ten documents in the same order.
        all: those with all the same documents in the same order.
        score: the largest difference of two scores, over those.
    """

    queries: int
    top: int
    all: int
    score: float


def indexed(folder: Path, output: Path) -> Index:
    """Index a collection as Lucene's runs had it: title and text, of CACM the whole entry."""
    fields = ("raw",) if folder.name == "cacm" else ("title", "text")
    return index_files([str(folder / "docs.jsonl.gz")], output, corpus=CorpusOptions(fields=fields))


def retriever(index: Index, preset: str) -> Searcher | WithFeedback:
    """The first stage of a preset, with Lucene's order of ties."""
    stage = first_stage(preset, {})
    make: Callable[..., Searcher] = SIMILARITIES[stage.similarity]
    searcher = make(index, ties="lucene", **stage.parameters)
    feedback = make_feedback(stage)
    return searcher if feedback is None else WithFeedback(searcher, feedback)


def queries_of(folder: Path) -> list[Query]:
    return read_queries(folder / "queries.jsonl", Notes())


def lucene_run(folder: Path, name: str) -> dict[str, Ranking]:
    """One of Lucene's runs, cut to 100 documents per query; empty if there is none of that name."""
    path = folder / "lucene-runs" / f"{name}.run.gz"
    run: dict[str, Ranking] = {}
    for line in gzip.decompress(path.read_bytes()).decode().splitlines() if path.exists() else ():
        query_id, _, doc_id, _, score, _ = line.split()
        run.setdefault(query_id, []).append((doc_id, float(score)))
    return run


def agreement(found: Mapping[str, list[ScoredDoc]], expected: Mapping[str, Ranking]) -> Agreement:
    """Compare rankings of the same queries."""
    pairs = [
        ([row.doc_id for row in found[query_id]], [doc_id for doc_id, _ in wanted])
        for query_id, wanted in expected.items()
    ]
    differences = [
        abs(row.score - score)
        for query_id, wanted in expected.items()
        if [row.doc_id for row in found[query_id]] == [doc_id for doc_id, _ in wanted]
        for row, (_, score) in zip(found[query_id], wanted, strict=True)
    ]
    same_top, same = (sum(ours[:n] == theirs[:n] for ours, theirs in pairs) for n in (10, None))
    return Agreement(len(pairs), same_top, same, max(differences))


def compared(index: Index, folder: Path, name: str, n: int | None = None) -> Agreement | None:
    """How far we agree with one of Lucene's runs, over its first `n` queries; None if there is no such run."""
    expected = dict(list(lucene_run(folder, name).items())[:n])
    if not expected:
        return None
    ours = retriever(index, PRESETS_OF_RUNS[name])
    queries = {query.query_id: query for query in queries_of(folder)}
    found = {query_id: ours.retrieve(queries[query_id], len(wanted)) for query_id, wanted in expected.items()}
    return agreement(found, expected)


def effectiveness(index: Index, folder: Path, preset: str) -> tuple[float, float]:
    """AP and P@30 on CACM, with the judgments as Anserini ships them, from 1000 documents per query."""
    qrels = read_qrels(folder / "qrels-anserini.txt", Notes())
    ours = retriever(index, preset)
    rankings = {
        query.query_id: [row.doc_id for row in ours.retrieve(query, 1000)]
        for query in queries_of(folder)
        if query.query_id in qrels
    }
    values = evaluate_rankings(qrels, rankings, parse_measures(["AP", "P@30"]))
    return summarise("AP", values["AP"].values()), summarise("P@30", values["P@30"].values())
