"""Compare rules for the marked sentence of a passage, and time the highlights of a search.

    python -m benchmarks.highlights quality INDEX DATA/squad-dev-mixed [--queries 3000] [--rules bi-encoder BM25 both]
    python -m benchmarks.highlights cost INDEX DATA/squad-dev-mixed [--queries 200]

INDEX is an index of the collection with stored vectors: `longrank index DATA/squad-dev-mixed -o INDEX`, then
`longrank index --vectors minilm INDEX`.

quality: the best window of MiniLM in each query's relevant document, and its best sentence by each rule. Printed are
the shares of answers that lie wholly in the window, in its halves and in the sentence, and the mean number of
characters. Rules: the cosine of the sentence; the cosine of the sentence with the sentences beside it; BM25 of the
sentence; the sum of cosine and BM25, each scaled to 0 to 1 within the window. Articles are sorted by name: the rule is
chosen on the queries of every second article (dev), and reported on the queries of the other articles (test).

cost: milliseconds of a search with ten documents and two passages of each, with and without highlights. No query comes
twice, so no vector of a sentence is in memory unless another query showed the same passage.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.passages import sampled
from longrank import analyze
from longrank.collections import open_collection, read_gold_spans, read_queries
from longrank.formats.jsonl import read_objects
from longrank.fusion import scaled
from longrank.protocols import Candidate, ScoringTask
from longrank.ranking.explain import explained
from longrank.ranking.found import highlighted
from longrank.ranking.highlights import sentences_of
from longrank.ranking.one_query import rank_one
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.pipeline import Pipeline, open_pipeline
from longrank.scoring.lexical import LexicalScorer
from longrank.text.sentences import make_splitter
from longrank.types import Notes, Passage, Query, Span

Scores = NDArray[np.floating]


class Window(NamedTuple):
    """The best window of a query's relevant document: offsets, text, and offsets of its sentences."""

    query: Query
    doc_id: str
    start: int
    end: int
    text: str
    sentences: tuple[Span, ...]

    def texts(self, beside: int = 0) -> tuple[str, ...]:
        """Return the sentences, each with `beside` sentences before and after it."""
        firsts = [max(0, n - beside) for n in range(len(self.sentences))]
        lasts = [min(len(self.sentences) - 1, n + beside) for n in range(len(self.sentences))]
        spans = [(self.sentences[a][0], self.sentences[b][1]) for a, b in zip(firsts, lasts, strict=True)]
        return tuple(self.text[a - self.start : b - self.start] for a, b in spans)


def main() -> None:
    """Print the tables of `quality`, or the times of `cost`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("quality", "cost"))
    parser.add_argument("index", type=Path)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--queries", type=int, default=3000, help="sampled by SHA-256 of their ids")
    parser.add_argument("--rules", nargs="+", choices=list(RULES), default=list(RULES), help="of quality; default: all")
    args = parser.parse_args()
    pipeline = open_pipeline(args.index, "minilm", notes=Notes())
    queries = sampled(read_queries(open_collection(args.collection), Notes()), args.queries)
    if args.task == "quality":
        quality(pipeline, args.collection, queries, args.rules)
    else:
        cost(pipeline, queries)


def quality(pipeline: Pipeline, collection: Path, queries: Sequence[Query], rules: Sequence[str]) -> None:
    """Print a table for dev and a table for test."""
    articles, relevant = articles_of(collection)
    windows = list(best_windows(pipeline, queries, relevant))
    marks = {name: RULES[name](pipeline, windows) for name in rules}
    for part, place in (("dev", 0), ("test", 1)):
        chosen = {name for name, number in articles.items() if number % 2 == place}
        print(f"{part}: {sum(window.query.query_id in chosen for window in windows)} queries")
        table(collection, [(window, n) for n, window in enumerate(windows) if window.query.query_id in chosen], marks)


def articles_of(collection: Path) -> tuple[dict[str, int], dict[str, str]]:
    """Return the number of each query's article, in the order of their names, and each query's relevant document."""
    sources = {row["doc_id"]: row["source"] for _, row in read_objects(collection / "docs.jsonl.gz", Notes())}
    gold = {row.query_id: row for row in read_gold_spans(collection) if isinstance(row.passage, int)}
    names = {name: sources[row.doc_id][row.passage].partition("#")[0] for name, row in gold.items()}
    numbers = {name: number for number, name in enumerate(sorted(set(names.values())))}
    return {name: numbers[article] for name, article in names.items()}, {n: row.doc_id for n, row in gold.items()}


def best_windows(pipeline: Pipeline, queries: Sequence[Query], relevant: Mapping[str, str]) -> Iterator[Window]:
    assert pipeline.scorer is not None
    splitter = make_splitter("sentencex")
    block = [Candidate(query, pipeline.index.document(relevant[query.query_id]), 0.0) for query in queries]
    for candidate, evidence in zip(block, pipeline.scorer.evidence(block), strict=True):
        assert evidence is not None
        best = int(evidence.best_first()[0])
        start, end = int(evidence.passage_start[best]), int(evidence.passage_end[best])
        text = candidate.document.text[start:end]
        units = splitter.sentences(text, 512)
        spans = tuple((start + a, start + b) for a, b in zip(units.starts.tolist(), units.ends.tolist(), strict=True))
        yield Window(candidate.query, candidate.document.doc_id, start, end, text, spans)


Rule = Callable[[Pipeline, Sequence[Window]], list[Scores]]


def cosines(beside: int) -> Rule:
    """Return the rule "cosine of a sentence with its neighbours"."""

    def rule(pipeline: Pipeline, windows: Sequence[Window]) -> list[Scores]:
        assert isinstance(pipeline.scorer, PassageDocumentScorer)
        return _scores(pipeline.scorer.scorer, windows, beside)

    return rule


def bm25(pipeline: Pipeline, windows: Sequence[Window]) -> list[Scores]:
    return _scores(LexicalScorer(pipeline.index), windows, 0)


def mixed(pipeline: Pipeline, windows: Sequence[Window]) -> list[Scores]:
    pairs = zip(cosines(0)(pipeline, windows), bm25(pipeline, windows), strict=True)
    return [scaled(a) + scaled(b) for a, b in pairs]


def _scores(scorer: Any, windows: Sequence[Window], beside: int) -> list[Scores]:
    tasks = []
    for n, window in enumerate(windows):
        texts = window.texts(beside)
        passages = tuple(Passage(f"window {n}", i, text, 0, len(text)) for i, text in enumerate(texts))
        tasks.append(ScoringTask(window.query, f"window {n}", passages, texts))
    return [result.scores for first in range(0, len(tasks), 500) for result in scorer.score(tasks[first : first + 500])]


RULES: dict[str, Rule] = {
    "bi-encoder": cosines(0),
    "neighbours": cosines(1),
    "BM25": bm25,
    "both": mixed,
}


def table(collection: Path, windows: Sequence[tuple[Window, int]], marks: Mapping[str, Sequence[Scores]]) -> None:
    """Print shares of answers and characters of each row."""
    shown = {
        "window": [(window, (window.start, window.end)) for window, _ in windows],
        "first half": [(window, (window.start, _middle(window))) for window, _ in windows],
        "second half": [(window, (_middle(window), window.end)) for window, _ in windows],
    }
    for name, scores in marks.items():
        shown[name] = [(window, window.sentences[int(np.argmax(scores[n]))]) for window, n in windows]
    result = analyze.evidence({name: _lines(rows) for name, rows in shown.items()}, str(collection), k=[1]).values
    for name, rows in shown.items():
        hit = result.inputs[name].measures["hit@1"].mean
        characters = statistics.mean(end - start for _, (start, end) in rows)
        print(f"| {name} | {hit:.3f} | {characters:.0f} |")


def _middle(window: Window) -> int:
    """Return the place of the blank in the middle of a window, in words."""
    words = window.text.split(" ")
    return window.start + len(" ".join(words[: len(words) // 2]))


def _lines(rows: Iterable[tuple[Window, Span]]) -> list[dict[str, Any]]:
    return [
        {"query_id": window.query.query_id, "doc_id": window.doc_id, "passages": [{"start": start, "end": end}]}
        for window, (start, end) in rows
    ]


def cost(pipeline: Pipeline, queries: Sequence[Query]) -> None:
    """Print the number of sentences, and milliseconds of the clock and of the processor."""
    taken: dict[str, list[tuple[float, float]]] = {"search": [], "highlights": []}
    n_sentences = []
    for query in queries:
        start = _now()
        results = explained(pipeline, query, rank_one(pipeline, query, 10), k=10, passages=2)
        taken["search"].append(_since(start))
        start = _now()
        sentences = sentences_of(pipeline.scorer, query, results, pipeline.index)
        highlighted(results, sentences.find())
        taken["highlights"].append(_since(start))
        n_sentences.append(sum(map(len, sentences.spans)))
    print(f"{len(queries)} queries, {statistics.mean(n_sentences):.0f} sentences each")
    for name, times in taken.items():
        clock, processor = (np.quantile(values, [0.5, 0.95]) for values in zip(*times[10:], strict=True))
        print(f"{name}: median {clock[0]:.1f} ms, 95th percentile {clock[1]:.1f} ms")
        print(f"    of the processor: median {processor[0]:.1f} ms, 95th percentile {processor[1]:.1f} ms")


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _since(start: tuple[float, float]) -> tuple[float, float]:
    return 1000 * (time.perf_counter() - start[0]), 1000 * (time.process_time() - start[1])


if __name__ == "__main__":
    main()
