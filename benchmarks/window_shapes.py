"""Windows of words against windows of the scorer's wordpieces: effectiveness, passages, cut passages and time.

    python -m benchmarks.window_shapes --out LOG demo
    python -m benchmarks.window_shapes --out LOG DATA/scifact --split train --queries 200 --depth 20
    python -m benchmarks.window_shapes --out LOG DATA/squad-dev-mixed --queries 500 --measure RR@10 --alpha 0.5

The first `depth` documents of BM25 are reranked with MiniLM, with an evidence file per shape. LOG gets a JSON line
per shape, and shapes that it has are not measured again. Then a table is printed: MaxP alone and mixed with BM25
(min-max), passages and cut passages of the reranked documents, and seconds of processor time. p: paired t-test against
windows of words.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.passages import sampled
from longrank.aggregation import make_aggregator
from longrank.aggregation.run import aggregate_run
from longrank.collections import read_documents, read_qrels, read_queries
from longrank.demo.collection import load
from longrank.evaluation.measures import evaluate
from longrank.evaluation.significance import differences, t_test
from longrank.formats.evidence import read_evidence
from longrank.index import Index
from longrank.networks.model_files import find_model
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.pipeline import Pipeline, rerank
from longrank.ranking.settings import load_pipeline
from longrank.retrieval import make_retriever
from longrank.scoring.bi_encoder import BiEncoder
from longrank.text.segment import make_segmenter
from longrank.text.select import make_selector
from longrank.types import Document, Notes, Qrels, Query, Run

WORDS = "150/75 words"
SHAPES = (
    *((length, 0.5, "sentence") for length in (128, 160, 200, 254)),
    *((200, overlap, "sentence") for overlap in (0.25, 0)),
    (200, 0.5, "word"),
)
"""Wordpieces, overlap and border: one of them varies at a time."""


def shapes() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return preset and options of each shape, by its name."""
    found: dict[str, tuple[str, dict[str, Any]]] = {WORDS: ("windows", {})}
    for length, overlap, border in SHAPES:
        options = {"length": length, "stride": round(length * (1 - overlap)), "border": border}
        found[f"{length} wordpieces, overlap {overlap:g}, {border}"] = ("tokens", options)
    return found


class Data(NamedTuple):
    """Documents, queries and judgments."""

    documents: Sequence[Document]
    queries: Sequence[Query]
    qrels: Qrels


def main() -> None:
    """Measure all shapes on one collection, and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", help="a collection folder, or demo")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--split", help="of queries")
    parser.add_argument("--queries", type=int)
    parser.add_argument("--documents", type=int, help="a sample of the judged documents of the split")
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--measure", default="nDCG@10")
    parser.add_argument("--alpha", type=float, default=0.3)
    args = parser.parse_args()
    rows = (
        {row["shape"]: row for row in map(json.loads, args.out.read_text().splitlines())} if args.out.exists() else {}
    )
    with args.out.open("a") as log:
        for row in _measured(args, set(rows)):
            rows[row["shape"]] = row
            log.write(json.dumps(row) + "\n")
            log.flush()
    print("\n".join(table(rows, args)))


def _measured(args: argparse.Namespace, done: set[str]) -> Iterator[dict[str, Any]]:
    data = _of_demo() if args.collection == "demo" else _of_folder(args)
    with TemporaryDirectory() as work:
        index = Index.build(data.documents, Path(work, "index"))
        retriever = make_retriever(index, "bm25-anserini")
        first = Run("bm25", (row for query in data.queries for row in retriever.retrieve(query, 1000)))
        scorer = BiEncoder(find_model("minilm"))
        yield from ([] if "BM25" in done else [{"shape": "BM25", "mixed": _values(first, data, args)}])
        for name, (preset, options) in shapes().items():
            if name in done:
                continue
            segmenter = _Timed(make_segmenter(preset, options, scorer.offset_tokenizer))
            documents = PassageDocumentScorer(segmenter, make_selector("all"), scorer, title=False)
            settings = load_pipeline("minilm", [f"final.depth={args.depth}", "final.block_queries=1000"])
            pipeline = Pipeline(settings, index, retriever, documents, make_aggregator("maxp"))
            path, began = Path(work, f"{name.replace('/', '-')}.evidence"), time.process_time()
            rerank(pipeline, data.queries, first, path, tag="minilm", notes=Notes())
            seconds = time.process_time() - began
            yield {"shape": name, **_row(path, first, data, args), "seconds": seconds, "segmenting": segmenter.seconds}


class _Timed:
    """A segmenter that adds up its processor time."""

    def __init__(self, segmenter: Any) -> None:
        self._segmenter, self.fingerprint, self.seconds = segmenter, segmenter.fingerprint, 0.0

    def segment(self, document: Document) -> Any:
        began = time.process_time()
        found = self._segmenter.segment(document)
        self.seconds += time.process_time() - began
        return found


def _row(evidence: Path, first: Run, data: Data, args: argparse.Namespace) -> dict[str, Any]:
    counts = {one.doc_id: (one.n_passages, one.n_truncated) for one in read_evidence(evidence)[1]}
    runs = [
        aggregate_run(
            read_evidence(evidence)[1],
            make_aggregator("maxp"),
            first_stage=first,
            alpha=alpha,
            normalize="none" if alpha is None else "minmax",
            tail="keep",
            tag="maxp",
        )
        for alpha in (None, args.alpha)
    ]
    passages, cut = map(sum, zip(*counts.values(), strict=True))
    alone, mixed = (_values(run, data, args) for run in runs)
    return {"passages": passages, "cut": cut, "alone": alone, "mixed": mixed}


def _values(run: Run, data: Data, args: argparse.Namespace) -> dict[str, float]:
    return dict(evaluate(data.qrels, run, [args.measure])[args.measure])


def _of_demo() -> Data:
    found = load(Notes())
    return Data(found.documents, found.queries, found.qrels)


def _of_folder(args: argparse.Namespace) -> Data:
    folder, notes = args.collection, Notes()
    queries = [query for query in read_queries(folder, notes) if not args.split or query.fields["split"] == args.split]
    qrels, documents = read_qrels(folder, notes), list(read_documents(folder))
    if args.documents:
        judged = {doc_id for query in queries for doc_id, grade in qrels[query.query_id].items() if grade > 0}
        chosen = {query.query_id for query in sampled([Query(doc_id, doc_id) for doc_id in judged], args.documents)}
        documents = [document for document in documents if document.doc_id in chosen]
        queries = [query for query in queries if chosen & set(qrels[query.query_id])]
    queries = sampled(queries, args.queries)
    return Data(documents, queries, {query.query_id: qrels[query.query_id] for query in queries})


def table(rows: dict[str, dict[str, Any]], args: argparse.Namespace) -> Iterator[str]:
    """Yield a Markdown table of the measured shapes."""
    words, bm25 = rows[WORDS], mean(rows["BM25"]["mixed"])
    yield f"{args.collection}: {len(words['mixed'])} queries, {args.measure}; BM25 {bm25:.4f}\n"
    yield f"| windows | passages | cut | MaxP | p | MaxP, {args.alpha} x BM25 | p | seconds | segmenting |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name in shapes():
        if row := rows.get(name):
            values = (f"{mean(row[key]):.4f} | {_p(row[key], words[key])}" for key in ("alone", "mixed"))
            times = f"{row['seconds']:.0f} | {row['segmenting']:.1f}"
            yield f"| {name} | {row['passages']:,} | {row['cut']:,} | {' | '.join(values)} | {times} |"


def mean(values: dict[str, float]) -> float:
    """Return the mean over queries."""
    return sum(values.values()) / len(values)


def _p(values: dict[str, float], base: dict[str, float]) -> str:
    return "" if values == base else f"{t_test(differences(values, base)):.2g}"


if __name__ == "__main__":
    main()
