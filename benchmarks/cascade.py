"""Compare budgets and selectors of the cascade with scoring every passage.

    make model
    python -m benchmarks.cascade DATA [--folder work/cascade] [--only time] [--dtype bf16]
    python -m benchmarks.cascade DATA --held-out --folder work/held-out-NAME --model NAME

DATA is a folder of collection folders. Candidates by BM25, windows of 150 words, half overlapping. Every
passage is scored once by the cross-encoder and by both cheap scorers; a selector only chooses rows of the
evidence, so all budgets follow from these three files. MaxP, alone and mixed with the first stage (min-max,
fixed weight). Early stopping is measured on held-out queries: each fifth by a bound learned from the others,
with the vectors' MaxP as the cheap score.

`--held-out` compares models on queries that are neither trained on nor reported: for choosing a recipe.

The folder keeps indexes and evidence: run the same command again to go on. It writes cascade.json and
cascade.svg there and prints a table for each collection.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cascade_report import plot, table
from benchmarks.gains_tasks import drawn
from benchmarks.training_pools import cascade_articles
from longrank.aggregation import make_aggregator
from longrank.aggregation.run import aggregate_run
from longrank.cli.console import cache_folder, note, progress
from longrank.evaluation.measures import evaluate
from longrank.evaluation.significance import differences
from longrank.formats.evidence import read_evidence
from longrank.formats.queries import read_queries
from longrank.formats.trec import read_qrels
from longrank.index import Index, index_files
from longrank.ranking.bounds import Pairs, held_out, held_out_bounds, n_read, walk
from longrank.ranking.build import add_vectors
from longrank.ranking.calibration import document_scores, joined
from longrank.ranking.cascade import Budget, choose
from longrank.ranking.pipeline import open_pipeline, rerank
from longrank.retrieval import make_retriever
from longrank.types import Evidence, Notes, Qrels, Query, Run

BUDGETS = (1, 2, 3, 4, 6, 8, 16, 32, 64)  # passages per candidate
SELECTORS = {"bm25": ("bm25",), "vectors": ("vectors",), "bm25+vectors": ("bm25", "vectors")}
ALPHAS = (None, 0.3)
RISKS = (0.05, 0.1)


class Task(NamedTuple):
    """A collection and its measure.

    `depth` documents of `n_queries` (None: all) are reranked; `k` is the top that early stopping is to keep.
    """

    collection: str
    measure: str
    depth: int
    n_queries: int | None
    k: int


TASKS = (
    Task("time", "nDCG@10", 50, None, 10),
    Task("squad-dev-mixed", "RR@10", 20, 200, 5),
    Task("qmsum", "RR@10", 10, 60, 3),
)

HELD_OUT = (
    Task("scifact", "nDCG@10", 20, 150, 10),
    Task("cacm", "nDCG@10", 30, None, 10),
    Task("adi", "nDCG@10", 20, None, 10),
)
"""What recipes of the training are compared by: neither trained on nor reported then (SciFact's are
among those of docs/recipes.md now, which says so)."""

MAXP = make_aggregator("maxp")

Candidates = dict[str, list[Evidence]]
"""Scorer -> the evidence of all candidates of one query, in one order."""


def main() -> None:
    """Score missing passages; compute, print and plot the trade-off."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("work/cascade"))
    parser.add_argument("--model", default=str(cache_folder() / "models" / "minilm-cross-encoder"))
    parser.add_argument("--dtype", default="float32", help="of the cross-encoder")
    parser.add_argument("--only", choices=[task.collection for task in TASKS], action="append")
    parser.add_argument("--cheap", action="store_true", help="only prepare: index, vectors and cheap evidence")
    parser.add_argument("--held-out", action="store_true", help="only compare the model with BM25 on other collections")
    args = parser.parse_args()
    if args.held_out:
        held_out_table(args.data, args.folder, args.model, args.dtype)
        return
    results = {}
    for task in TASKS:
        if args.only is None or task.collection in args.only:
            prepared = Prepared(args.data, task, args.folder / task.collection)
            paths = {"bm25": prepared.evidence("lexical", None), "vectors": prepared.evidence("minilm", None)}
            if not args.cheap:
                paths["cross-encoder"] = prepared.evidence("maxp", args.model, f"scorer.options.dtype={args.dtype}")
                results[task.collection] = trade_off(task, list(by_query(paths)), prepared)
                print(table(results[task.collection]))
    if results:
        (args.folder / "cascade.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
        plot(results, args.folder / "cascade.svg")


def held_out_table(data: Path, folder: Path, model: str, dtype: str) -> None:
    """Print the measure of the held-out queries, with every passage of all candidates scored; titles are read, too."""
    print("| collection | queries | depth | measure | BM25 | MaxP | with .3 BM25 |\n" + "|---" * 7 + "|")
    for task in HELD_OUT:
        prepared = Prepared(data, task, folder / task.collection)
        scored = list(read_evidence(prepared.evidence("maxp", model, "title=true", f"scorer.options.dtype={dtype}"))[1])
        first = evaluate(prepared.qrels, prepared.first, [task.measure])[task.measure]
        alone, mixed = (_mean(_measured(task, scored, alpha, prepared)) for alpha in ALPHAS)
        row = (task.collection, len(first), task.depth, task.measure, _mean(first), alone, mixed)
        print(f"| {' | '.join(map(str, row))} |", flush=True)


class Prepared:
    """A collection with its index, queries, judgments and candidates."""

    def __init__(self, data: Path, task: Task, folder: Path) -> None:
        self._task, self._folder, notes = task, folder, Notes()
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "index").exists():
            index_files([str(data / task.collection)], folder / "index", notes=notes)
        self.queries = evaluated_queries(data, task)
        wanted = {query.query_id for query in self.queries}
        judged = read_qrels(data / task.collection / "qrels.txt", notes)
        self.qrels: Qrels = {query_id: docs for query_id, docs in judged.items() if query_id in wanted}
        retriever = make_retriever(Index.open(folder / "index"), "bm25-anserini")
        self.first = Run("bm25", (row for query in self.queries for row in retriever.retrieve(query, task.depth)))

    def evidence(self, pipeline: str, model: str | None, *assignments: str) -> Path:
        """Score all windows of all candidates with the scorer of a shipped pipeline; goes on where it stopped."""
        notes, path = Notes(), self._folder / f"{pipeline}.evidence"
        if pipeline == "minilm":
            with progress(f"{self._task.collection}, vectors", None, "documents") as advance:
                add_vectors(self._folder / "index", "minilm", "windows", notes, advance)
        settings = ["passages.preset=windows", f"final.depth={self._task.depth}", "final.block_queries=4", *assignments]
        index = Index.open(self._folder / "index")
        bound = open_pipeline(index, pipeline, model=model, assignments=settings, notes=notes)
        with progress(f"{self._task.collection}, {pipeline}", len(self.queries), "queries") as advance:
            rerank(bound, self.queries, self.first, path, tag=pipeline, progress=advance, notes=notes)
        for line in notes.lines():
            note(f"{self._task.collection}, {pipeline}: {line}")
        return path


def evaluated_queries(data: Path, task: Task) -> list[Query]:
    """Return the queries of a task: none of them, and no question about their article, was trained on."""
    queries = read_queries(data / task.collection / "queries.jsonl", Notes())
    if task.collection == "squad-dev-mixed":
        articles = read_qrels(data / "squad-dev-v1.1" / "qrels.txt", Notes())
        trained = cascade_articles(sorted({doc_id for docs in articles.values() for doc_id in docs}))
        queries = [query for query in queries if trained.isdisjoint(articles[query.query_id])]
    return drawn(queries, task.collection, task.n_queries)


def by_query(paths: dict[str, Path]) -> Iterator[Candidates]:
    """Yield the evidence of query after query."""
    streams = [groupby(read_evidence(path)[1], key=lambda one: one.query_id) for path in paths.values()]
    for groups in zip(*streams, strict=True):
        found = dict(zip(paths, (list(group) for _, group in groups), strict=True))
        if len({tuple((one.query_id, one.doc_id, one.n_passages) for one in rows) for rows in found.values()}) != 1:
            raise ValueError("evidence of different candidates or passages")
        yield found


def trade_off(task: Task, queries: Sequence[Candidates], prepared: Prepared) -> dict[str, Any]:
    """Return the measure with every passage, and for each selector and budget its loss and its share of passages."""
    scored = [one for found in queries for one in found["cross-encoder"]]
    every = {alpha: _measured(task, scored, alpha, prepared) for alpha in ALPHAS}
    n_passages = sum(len(one.passage_index) for one in scored)
    points = []
    for selector, scorers in SELECTORS.items():
        for pooled in (False, True):
            for n in BUDGETS:
                chosen = [one for found in queries for one in selected(found, scorers, Budget(n, pooled=pooled))]
                share = sum(len(one.passage_index) for one in chosen) / n_passages
                for alpha in ALPHAS:
                    values = _measured(task, chosen, alpha, prepared)
                    points.append(
                        {"selector": selector, "n": n, "pooled": pooled, "alpha": alpha, "share": round(share, 4)}
                        | compared(values, every[alpha])
                    )
    return {
        **task._asdict(),
        "queries": len(queries),
        "passages": n_passages,
        "first_stage": _mean(evaluate(prepared.qrels, prepared.first, [task.measure])[task.measure]),
        "every_passage": {str(alpha): _mean(values) for alpha, values in every.items()},
        "cheap_alone": {
            name: _mean(_measured(task, [one for found in queries for one in found[name]], None, prepared))
            for name in ("bm25", "vectors")
        },
        "points": points,
        "early_stopping": [
            point for of in (None, ("bm25+vectors", 3)) for point in early_stopping(task, queries, of, prepared)
        ],
    }


def early_stopping(
    task: Task, queries: Sequence[Candidates], selection: tuple[str, int] | None, prepared: Prepared
) -> Iterator[dict[str, Any]]:
    """Yield savings and losses of early stopping for each risk, on every passage or on a budget per document."""
    every = [one for found in queries for one in found["cross-encoder"]]
    read = every
    if selection is not None:
        read = [one for found in queries for one in selected(found, SELECTORS[selection[0]], Budget(selection[1]))]
    cheap = [one for found in queries for one in found["vectors"]]
    pairs = joined(document_scores(cheap, MAXP), document_scores(read, MAXP), Path("vectors"))
    for risk in RISKS:
        kept = _kept(read, cheap, pairs, task.k, risk)
        missed, left_alone = held_out(pairs, task.k, risk)
        share = sum(len(one.passage_index) for one in kept) / sum(len(one.passage_index) for one in every)
        costs = compared(_measured(task, kept, None, prepared), _measured(task, every, None, prepared))
        yield {
            "selection": selection,
            "risk": risk,
            "missed": round(missed, 4),
            "left_alone": round(left_alone, 4),
            "share": round(share, 4),
        } | costs


def _kept(
    read: Sequence[Evidence], cheap: Sequence[Evidence], pairs: dict[str, Pairs], k: int, risk: float
) -> list[Evidence]:
    """Return the evidence of the documents that the walk of each query reads."""
    bounds, scores = held_out_bounds(pairs, k, risk), document_scores(cheap, MAXP)
    kept: set[tuple[str, str]] = set()
    for query_id, known in scores.items():
        order = walk(list(known), list(known.values()))[: n_read(pairs[query_id], bounds[query_id], k)]
        kept |= {(query_id, list(known)[n]) for n in order}
    return [one for one in read if (one.query_id, one.doc_id) in kept]


def selected(found: Candidates, scorers: Sequence[str], budget: Budget) -> list[Evidence]:
    """Return the cross-encoder's evidence of one query, cut to the rows that a selector chooses."""
    scored = found["cross-encoder"]
    places = choose([[one.passage_score for one in found[name]] for name in scorers], budget)
    names = ("passage_index", "passage_start", "passage_end", "passage_score", "passage_weight")
    return [
        replace(one, **{name: getattr(one, name)[rows] for name in names})
        for one, rows in zip(scored, places, strict=True)
    ]


def compared(values: dict[str, float], every: dict[str, float]) -> dict[str, Any]:
    """Return the measure and its difference to scoring every passage, with a 95% interval by a paired bootstrap."""
    d = differences(values, every)
    drawn = np.random.default_rng(0).integers(0, len(d), size=(10_000, len(d)))
    low, high = np.quantile(d[drawn].mean(axis=1), [0.025, 0.975])
    rounded = {"measure": _mean(values), "difference": float(d.mean()), "low": float(low), "high": float(high)}
    return {name: round(value, 4) for name, value in rounded.items()}


def _measured(task: Task, evidence: Sequence[Evidence], alpha: float | None, prepared: Prepared) -> dict[str, float]:
    run = aggregate_run(
        evidence,
        MAXP,
        first_stage=prepared.first,
        alpha=alpha,
        normalize="none" if alpha is None else "minmax",
        tail="keep",
        tag="cascade",
    )
    return dict(evaluate(prepared.qrels, run, [task.measure])[task.measure])


def _mean(values: dict[str, float] | Any) -> float:
    return round(sum(values.values()) / len(values), 4)


if __name__ == "__main__":
    main()
