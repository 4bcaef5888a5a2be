"""Windows inside sections against windows over the whole text, on Markdown files with headings.

    python -m benchmarks.section_windows DATA/squad-dev-mixed --queries 500 [--pipeline minilm] [--headings numbers]

Writes each document as a Markdown file in which every paragraph stands below a heading: the title of the article that
it is from, or its number in the document. Reranks the first documents of BM25 by a pipeline with the passages of each
preset. Prints a Markdown table: RR@10; the share of relevant documents whose best passage wholly contains
an answer; and words of the best passage. p: paired t-tests against `windows`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import longrank
from benchmarks.passages import sampled
from longrank.collections import read_answers, read_documents, read_qrels, read_queries
from longrank.evaluation.measures import evaluate
from longrank.evaluation.significance import differences, t_test
from longrank.formats.evidence import read_evidence
from longrank.index import Index
from longrank.types import Document, Notes, Qrels, Query

BASE = "windows"
PRESETS = {"lexical": (BASE, "sections"), "minilm": (BASE, "tokens", "sections")}
MEASURE = "RR@10"
Values = dict[str, float]


def main() -> None:
    """Measure all presets, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", help="a collection folder of SQuAD")
    parser.add_argument("--queries", type=int)
    parser.add_argument("--depth", type=int, default=20)
    parser.add_argument("--pipeline", choices=list(PRESETS), default="lexical")
    parser.add_argument("--headings", choices=["titles", "numbers"], default="titles")
    args = parser.parse_args()
    notes = Notes()
    queries = sampled(read_queries(args.collection, notes), args.queries)
    all_qrels = read_qrels(args.collection, notes)
    qrels = {query.query_id: {f"{d}.md": g for d, g in all_qrels[query.query_id].items()} for query in queries}
    with TemporaryDirectory() as name:
        work = Path(name)
        write_markdown(args.collection, work / "documents", titles=args.headings == "titles")
        index = Index.build(str(work / "documents"), work / "index")
        rows = {preset: measured(index, queries, qrels, preset, args) for preset in PRESETS[args.pipeline]}
    print("\n".join(table(rows)))


def write_markdown(collection: str, folder: Path, *, titles: bool) -> None:
    """Write the documents of a collection as Markdown files with a heading above each paragraph."""
    folder.mkdir()
    for document in read_documents(collection):
        (folder / f"{document.doc_id}.md").write_text("\n\n".join(_sections(document, titles)), encoding="utf-8")


def _sections(document: Document, titles: bool) -> Iterator[str]:
    spans = zip(document.metadata["source"], document.passages, strict=True)
    for number, (source, (start, end)) in enumerate(spans, 1):
        yield f"## {source.partition('#')[0].replace('_', ' ') if titles else f'Section {number}'}"
        yield " ".join(document.text[start:end].split())


def measured(
    index: Index, queries: list[Query], qrels: Qrels, preset: str, args: argparse.Namespace
) -> dict[str, Values]:
    """Return the values of each measure by query."""
    path = index.path.parent / f"{preset}.evidence"
    run = longrank.rerank(
        index,
        queries,
        longrank.retrieve(index, queries, k=args.depth),
        pipeline=args.pipeline,
        assignments=[f"passages.preset={preset}", f"final.depth={args.depth}", "final.block_queries=10000"],
        evidence=path,
    )
    answers = read_answers(args.collection)
    hits, words = dict[str, float](), dict[str, float]()
    for one in read_evidence(path)[1]:
        if qrels[one.query_id].get(one.doc_id, 0) > 0:
            best = one.best_first()[0]
            text = index.document(one.doc_id).text[one.passage_start[best] : one.passage_end[best]]
            hits[one.query_id] = float(any(answer in text for answer in answers[one.query_id]))
            words[one.query_id] = len(text.split())
    return {MEASURE: dict(evaluate(qrels, run, [MEASURE])[MEASURE]), "hit": hits, "words": words}


def table(rows: Mapping[str, Mapping[str, Values]]) -> Iterator[str]:
    """Yield a Markdown table."""
    yield f"| passages | queries | {MEASURE} | p | answer in the best passage | p | words of the best passage |"
    yield "|---|---|---|---|---|---|---|"
    for preset, row in rows.items():
        cells: list[Any] = [f"`{preset}`", len(row[MEASURE])]
        for name in (MEASURE, "hit"):
            p = "" if preset == BASE else f"{t_test(differences(row[name], rows[BASE][name])):.2g}"
            cells += [f"{_mean(row[name]):.4f}", p]
        yield f"| {' | '.join(map(str, cells))} | {_mean(row['words']):.0f} |"


def _mean(values: Values) -> float:
    return sum(values.values()) / len(values)


if __name__ == "__main__":
    main()
