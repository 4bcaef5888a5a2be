"""Measure how well the passages of each scorer and segmenter show the answers, or the judged spans.

    python -m benchmarks.evidence DATA [--only squad-dev-mixed] [--folder work/evidence] [--results docs/results]
    python -m benchmarks.evidence DATA --cross-encoder FOLDER [--only squad-dev-mixed]
    python -m benchmarks.evidence DATA --print

On each collection of `TASKS`, the relevant documents of the drawn questions are scored, found by a search or not:

    lexical, minilm, mixed    BM25 of the passage, MiniLM's cosine, and both, on each segmentation of `SEGMENTATIONS`
    as shown                  passages of `mixed` joined to places, as a search shows them
    marked sentence           the sentence that a search marks in the best place
    document order, random    passages as they stand in the document, and in random order: what no scorer knows

No model has learned from these questions (`benchmarks.gains_tasks`). Index and evidence are kept in the folder, and
remade with --again. Vectors that were stored with the index are used. RESULTS/evidence-COLLECTION.json has the figures;
all tables of a collection are printed. --print reads the figures, and prints the tables of docs/evidence.md.

With --cross-encoder, the rows are `mixed`, the cross-encoder (of `make model`), and the cross-encoder mixed half and
half with BM25, all on the default passages, and the questions are about articles that the cross-encoder has not learned
from either; RESULTS/evidence-COLLECTION-cross-encoder.json has the figures.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.gains_tasks import Task, evaluated_queries, run, unread_by_cascade, write_queries
from benchmarks.training_examples import sample
from longrank.analysis.estimates import Estimate
from longrank.analysis.shown_result import Shown, ShownResult
from longrank.collections import read_gold_spans, read_qrels, read_queries
from longrank.draws import permutation
from longrank.formats.evidence import read_evidence
from longrank.ranking.explain import best_passages
from longrank.ranking.found import Result
from longrank.ranking.highlights import sentences_of
from longrank.ranking.pipeline import open_pipeline
from longrank.scoring.speed import machine, use_threads
from longrank.types import Evidence, Query, Span
from longrank.verbs.analyze import analyze

SEED = 42
SEGMENTATIONS = ("tokens", "windows", "sentences", "given")
FIRST = "lexical, tokens"
"""The row from which differences are taken."""


class Measured(NamedTuple):
    """A collection: its gold, and the number of its questions and of their documents that are drawn."""

    collection: str
    gold: str
    n_queries: int
    n_documents: int


TASKS = (
    Measured("squad-dev-mixed", "answers", 500, 40),
    Measured("squad-dev-sections", "answers", 500, 40),
    Measured("squad-dev-v1.1", "answers", 500, 8),
    Measured("qmsum", "spans", 500, 10),
    Measured("scifact", "spans", 500, 200),
)


class Prepared:
    """The folder of a collection: queries.jsonl, gold.run (the relevant documents), index."""

    def __init__(self, data: Path, task: Measured, folder: Path, cross_encoder: Path | None = None) -> None:
        self.task, self.gold, self.cross_encoder = task, data / task.collection, cross_encoder
        self.folder = folder / f"{task.collection}{'-cross-encoder' if cross_encoder else ''}"
        self.folder.mkdir(parents=True, exist_ok=True)
        spans = {(row.query_id, row.doc_id) for row in read_gold_spans(self.gold)}
        judged, queries = read_qrels(self.gold), evaluated_queries(data, Task(task.collection, "", 0, None, ""))
        if cross_encoder and task.collection.startswith("squad"):
            queries = unread_by_cascade(data, queries)
        pairs = [(q, d) for q in queries for d in judged.get(q.query_id, {}) if (q.query_id, d) in spans]
        kept = set(sample(dict.fromkeys(d for _, d in pairs), task.n_documents, SEED, str))
        pairs = [(q, d) for q, d in pairs if d in kept]
        chosen = sample(dict.fromkeys(q.query_id for q, _ in pairs), task.n_queries, SEED, str)
        self._write([(q, d) for q, d in pairs if q.query_id in set(chosen)])

    def _write(self, pairs: list[tuple[Query, str]]) -> None:
        write_queries(list({q.query_id: q for q, _ in pairs}.values()), self["queries.jsonl"])
        self["gold.run"].write_text("".join(f"{q.query_id} Q0 {d} 1 1 gold\n" for q, d in pairs), encoding="utf-8")

    def __getitem__(self, name: str) -> Path:
        return self.folder / name

    def evidence(self, segmentation: str, *options: str) -> Path:
        """Return the evidence of the pipeline `mixed` on a segmentation; it has the scores of both scorers."""
        output = self[f"{segmentation}{'-cross-encoder' if options else ''}.run"]
        if not self["index"].exists():
            run("index", self.gold, "-o", self["index"])
        inputs = (self["index"], self["queries.jsonl"], self["gold.run"])
        settings = ("--pipeline", "mixed", "--set", f"passages.preset={segmentation}", *options)
        run("rerank", *inputs, "-o", output, *settings)
        return output.with_name(f"{output.name}.evidence")


def inputs_of(prepared: Prepared) -> dict[str, Any]:
    """Return the inputs of the table by name, `FIRST` first."""
    files = {segmentation: prepared.evidence(segmentation) for segmentation in SEGMENTATIONS}
    found: dict[str, Any] = {}
    for segmentation, path in files.items():
        mixed = list(read_evidence(path)[1])
        for name, part in (("lexical", "lexical"), ("minilm", "bi-encoder")):
            found[f"{name}, {segmentation}"] = [_by_part(evidence, part) for evidence in mixed]
        found[f"mixed, {segmentation}"] = mixed
    passages = found["mixed, tokens"]
    shown, marked = _shown(prepared, passages)
    found |= {"mixed, as shown": shown, "mixed, marked sentence": marked}
    return found | {name: [_ordered(evidence, name) for evidence in passages] for name in ("document order", "random")}


def inputs_beside(prepared: Prepared) -> dict[str, Any]:
    """Return `mixed`, the cross-encoder, and the cross-encoder with BM25, on the default passages."""
    options = ("--set", "scorer.name=cross-encoder", "--model", str(prepared.cross_encoder))
    both = list(read_evidence(prepared.evidence("tokens", *options))[1])
    return {
        "mixed, tokens": list(read_evidence(prepared.evidence("tokens"))[1]),
        "cross-encoder, tokens": [_by_part(evidence, "cross-encoder") for evidence in both],
        "cross-encoder + BM25, tokens": both,
    }


def _by_part(evidence: Evidence, part: str) -> Evidence:
    """Return evidence with the scores of one scorer of the mix."""
    assert evidence.passage_parts is not None
    return replace(evidence, passage_score=evidence.passage_parts[part], passage_parts=None)


def _shown(prepared: Prepared, scored: Sequence[Evidence]) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Return the five best places of each document, and the sentence that is marked in the best place."""
    pipeline = open_pipeline(prepared["index"], "mixed")
    queries = {query.query_id: query for query in read_queries(prepared["queries.jsonl"])}
    shown, marked = [], []
    for evidence in scored:
        document, query = pipeline.index.document(evidence.doc_id), queries[evidence.query_id]
        passages = best_passages(document, evidence, frozenset(), 5, pipeline.index.analyzer)
        best = Result(1, document.doc_id, document.title, 0.0, 0.0, None, 0, 0, 0, passages[:1])
        (sentence,) = sentences_of(pipeline.scorer, query, [best], pipeline.index).find()
        shown.append(_record(evidence, [(passage.start, passage.end) for passage in passages]))
        marked.append(_record(evidence, sentence))
    return shown, marked


def _record(evidence: Evidence, spans: Sequence[Span]) -> Mapping[str, Any]:
    passages = [{"start": start, "end": end} for start, end in spans]
    return {"query_id": evidence.query_id, "doc_id": evidence.doc_id, "passages": passages}


def _ordered(evidence: Evidence, name: str) -> Mapping[str, Any]:
    """Return the passages of evidence in the order of the document, or in random order."""
    order = np.arange(len(evidence.passage_start))
    if name == "random":
        order = permutation(len(order), SEED, evidence.query_id, evidence.doc_id)
    return _record(
        evidence, list(zip(evidence.passage_start[order].tolist(), evidence.passage_end[order].tolist(), strict=True))
    )


def table(result: ShownResult) -> str:
    """Return the measures as a table in markdown, with their confidence intervals."""
    names = [*(f"hit@{k}" for k in result.cutoffs), "RR", "characters", "F1"]
    lines = [f"| | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for name, shown in result.inputs.items():
        lines.append(f"| {name} | {' | '.join(_cell(measure, shown) for measure in names)} |")
    return "\n".join(lines)


def _cell(measure: str, shown: Shown) -> str:
    estimate = shown.measures[measure]
    if estimate is None:
        return "-"
    if measure == "characters":
        return f"{estimate.mean:,.0f} ± {_half(estimate):,.0f}"
    if measure == "RR":
        return f"{estimate.mean:.3f} ± {_half(estimate):.3f}"
    return f"{100 * estimate.mean:.1f} ± {100 * _half(estimate):.1f}"


def _half(estimate: Estimate) -> float:
    return (estimate.high - estimate.low) / 2


def summary(results: Path, measure: str) -> str:
    """Return a measure of all collections as a table in markdown, from the figures that were kept."""
    columns = [task.collection for task in TASKS]
    kept = [json.loads((results / f"evidence-{name}.json").read_text(encoding="utf-8"))["result"] for name in columns]
    lines = [f"| {measure} | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    lines.append(f"| relevant documents | {' | '.join(str(result['pairs']) for result in kept)} |")
    for name in kept[0]["inputs"]:
        values = [result["inputs"][name]["measures"][measure] for result in kept]
        lines.append(f"| {name} | {' | '.join(_summed(measure, value) for value in values)} |")
    return "\n".join(lines)


def _summed(measure: str, estimate: Mapping[str, float]) -> str:
    half = (estimate["high"] - estimate["low"]) / 2
    if measure == "characters":
        return f"{estimate['mean']:,.0f} ± {half:,.0f}"
    return f"{100 * estimate['mean']:.1f} ± {100 * half:.1f}"


def short(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record of an analysis without groups of documents, to four digits."""
    inputs = {
        name: {part: shown[part] for part in ("measures", "differences")}
        for name, shown in record["result"]["inputs"].items()
    }
    values = record | {"result": record["result"] | {"inputs": inputs, "groups": None}}
    return dict(json.loads(json.dumps(values), parse_float=lambda text: round(float(text), 4)))


def main() -> None:
    """Score and measure each collection, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", choices=[task.collection for task in TASKS], action="append")
    parser.add_argument("--folder", type=Path, default=Path("work/evidence"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    parser.add_argument("--cross-encoder", type=Path, metavar="FOLDER", help="measure the model of `make model`")
    parser.add_argument("--print", action="store_true", dest="prints", help="print the tables of all collections")
    parser.add_argument("--again", action="store_true", help="remove what an earlier call kept")
    args = parser.parse_args()
    if args.prints:
        print(summary(args.results, "hit@1"), summary(args.results, "characters"), sep="\n\n")
        return
    use_threads(1)
    for task in TASKS:
        if args.only is None or task.collection in args.only:
            if args.again:
                shutil.rmtree(args.folder / task.collection, ignore_errors=True)
            start = time.process_time()
            model = args.cross_encoder
            prepared = Prepared(args.data, task, args.folder, model)
            inputs = inputs_beside(prepared) if model else inputs_of(prepared)
            analysis = analyze.evidence(inputs, prepared.gold, by=task.gold)
            output = args.results / f"evidence-{task.collection}{'-cross-encoder' if model else ''}.json"
            analysis.write(output)
            record = json.loads(output.read_text(encoding="utf-8"))
            command = f"python -m benchmarks.evidence DATA --only {task.collection}"
            command += " --cross-encoder FOLDER" if model else ""
            record = {"command": command, "machine": machine(), "cpu_seconds": time.process_time() - start} | record
            record["gold"] = task.collection
            output.write_text(json.dumps(short(record), ensure_ascii=False) + "\n", encoding="utf-8")
            print(
                f"\n{task.collection}\n\n{analysis.text}\n\n{table(analysis.values)}\n",
                *analysis.notes.lines(),
                sep="\n",
            )


if __name__ == "__main__":
    main()
