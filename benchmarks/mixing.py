"""Choose the weights of the pipeline `mixed` on dev queries, and report it on other queries.

    python -m benchmarks.mixing DATA --dev        values of every setting on dev, and their mean
    python -m benchmarks.mixing DATA              the shipped pipelines on test, into RESULTS/mixing.json

Dev and test queries of a collection differ in their articles, meetings or splits:

    collection           dev                                       test
    squad-dev-mixed      500 questions about training articles     1,000 about the other articles
    squad-dev-sections   500 questions about training articles     1,000 about the other articles
    qmsum                the split "val", among 70 meetings        the split "test", among the same meetings
    scifact              500 claims of the split "train"           the split "dev", 300 claims
    cranfield            all 225 queries                           none
    cacm                 none                                      all 52 judged queries
    time                 none                                      all 83 queries

Training articles are those of `benchmarks.training_pools.is_training_article`. QMSum's meetings are those of its splits
"val" and "test". Indexes, vectors, runs and evidence stay in the folder and are not made again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import longrank
from benchmarks.gains_tasks import articles_of
from benchmarks.training_examples import sample
from benchmarks.training_pools import is_training_article
from longrank.collections import read_qrels, read_queries
from longrank.collections.documents import locate_documents
from longrank.formats.trec import read_run, write_run
from longrank.ranking.build import add_vectors
from longrank.ranking.settings import load_pipeline
from longrank.scoring.speed import machine
from longrank.types import Notes, Query, Run

FIRST_STAGES = ("bm25-anserini", "bm25-lucene")
GRID = {"lexical": "0:1:0.1", "alpha": "0:0.5:0.1"}
WORDS = ("first_stage.preset=bm25-anserini", "passages.preset=windows")
"""Settings of the pipeline minilm before windows were counted in wordpieces."""

LONGER = ("passages.options.length=200", "passages.options.stride=100")
"""Settings of pipelines before windows had 128 wordpieces, half overlapping."""

_BLOCK = ("final.block_queries=1000",)  # a passage is analysed and encoded once for each block


class Task(NamedTuple):
    """A collection with its measure, its dev and test split, and numbers of queries.

    A split is a value of the queries' field ``split``, "training" or "other" articles, "all", or "" for none. `before`:
    the pipelines of earlier versions are measured, too, which need other vectors.
    """

    name: str
    measure: str
    dev: str = ""
    test: str = ""
    n_dev: int = 500
    n_test: int = 1000
    before: bool = False


TASKS = (
    Task("time", "nDCG@10", test="all", before=True),
    Task("squad-dev-mixed", "RR@10", "training", "other", before=True),
    Task("squad-dev-sections", "RR@10", "training", "other"),
    Task("qmsum", "RR@10", "val", "test"),
    Task("scifact", "RR@10", "train", "dev"),
    Task("cranfield", "nDCG@10", "all"),
    Task("cacm", "nDCG@10", test="all"),
)


class System(NamedTuple):
    """A row of the report: a pipeline with settings; without a pipeline, the first stage."""

    name: str
    first_stage: str
    pipeline: str | None = None
    settings: tuple[str, ...] = ()


SYSTEMS = (
    System("BM25 .9/.4", "bm25-anserini"),
    System("BM25 1.2/.75", "bm25-lucene"),
    System("`lexical`", "", "lexical"),
    System("`minilm`, windows of words", "bm25-anserini", "minilm", WORDS),
    System("`mixed`, windows of 200", "", "mixed", LONGER),
    System("`minilm`", "", "minilm"),
    System("MiniLM, MaxP alone", "", "mixed", ("mix.lexical=0", "final.interpolate=")),
    System("`mixed`", "", "mixed"),
)
BASELINES = ("BM25 .9/.4", "`lexical`", "`minilm`, windows of words", "`minilm`", "`mixed`, windows of 200")


class Prepared(NamedTuple):
    """An index with vectors, and the queries of a split."""

    task: Task
    index: longrank.Index
    queries: Sequence[Query]
    folder: Path
    qrels: Any

    def run(self, preset: str) -> Run:
        """Return the first stage of the queries."""
        path = self.folder / f"{preset}.run"
        if not path.exists():
            write_run(longrank.retrieve(self.index, self.queries, preset=preset, k=1000), path)
        return read_run(path, Notes())

    def reranked(self, system: System) -> Run:
        """Return the ranking of a system."""
        preset = system.first_stage or load_pipeline(str(system.pipeline), list(system.settings)).first_stage.preset
        run = self.run(preset)
        if system.pipeline is None:
            return run
        return longrank.rerank(
            self.index,
            self.queries,
            run,
            pipeline=system.pipeline,
            assignments=(*system.settings, *_BLOCK),
            evidence=self.evidence(system),
        )

    def evidence(self, system: System) -> Path:
        """Return the evidence file of a system."""
        return self.folder / f"{_file(system)}.evidence"


def main() -> None:
    """Print dev values of the grid, or report the shipped pipelines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--dev", action="store_true", help="choose on dev")
    parser.add_argument("--only", action="append", help="a collection; repeatable")
    parser.add_argument("--folder", type=Path, default=Path("work/mixing"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    tasks = [task for task in TASKS if not args.only or task.name in args.only]
    if args.dev:
        _print_dev([task for task in tasks if task.dev], args.data, args.folder)
        return
    tasks = [task for task in tasks if task.test]
    path = args.results / "mixing.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["collections"] if path.exists() else {}
    for task in tasks:
        rows[task.name] = report(prepared(task, args.data, args.folder, task.test, task.n_test))
        path.write_text(json.dumps({"machine": machine(), "collections": rows}, indent=1) + "\n", encoding="utf-8")
        print(task.name, json.dumps(rows[task.name], indent=1), flush=True)


def prepared(task: Task, data: Path, folder: Path, split: str, n: int) -> Prepared:
    """Index a collection with the vectors of the pipelines, and choose the queries of a split."""
    folder = folder / task.name
    folder.mkdir(parents=True, exist_ok=True)
    notes = Notes()
    source = data / task.name
    queries = read_queries(source, notes)
    if not (folder / "index").exists():
        keep = kept_documents(task.name, source, queries)
        located = locate_documents([str(source)], notes)
        longrank.Index.build([one.document for one in located if keep(one.document.doc_id)], folder / "index")
    add_vectors(folder / "index", "minilm", load_pipeline("mixed").passages.preset, notes, lambda done: None)
    chosen = sample(of_split(queries, split, data), n, 0, lambda query: query.query_id)
    work = folder / split
    work.mkdir(exist_ok=True)
    ids = {query.query_id for query in chosen}
    qrels = {query_id: judged for query_id, judged in read_qrels(source, notes).items() if query_id in ids}
    return Prepared(task, longrank.Index.open(folder / "index"), chosen, work, qrels)


def kept_documents(name: str, source: Path, queries: Sequence[Query]) -> Callable[[str], bool]:
    """Return the documents to index: all, but only the meetings of QMSum's splits "val" and "test"."""
    if name != "qmsum":
        return lambda doc_id: True
    qrels = read_qrels(source)
    kept = {doc_id for query in queries if query.fields["split"] != "train" for doc_id in qrels[query.query_id]}
    return kept.__contains__


def of_split(queries: Sequence[Query], split: str, data: Path) -> Sequence[Query]:
    """Return the queries of a split: a value of their field `split`, "training" or "other" articles, or "all"."""
    if split == "all":
        return queries
    if split not in ("training", "other"):
        return [query for query in queries if query.fields["split"] == split]
    articles = articles_of(data, list(queries))
    return [query for query in queries if is_training_article(articles[query.query_id]) == (split == "training")]


def _print_dev(tasks: Sequence[Task], data: Path, folder: Path) -> None:
    """Print the value of every setting on each dev collection, and the mean; the best last."""
    values: dict[tuple[str, str, float, float], list[float]] = {}
    for task in tasks:
        dev = prepared(task, data, folder, task.dev, task.n_dev)
        for preset in FIRST_STAGES:
            run, evidence = dev.run(preset), dev.folder / f"{preset}.evidence"
            longrank.rerank(dev.index, dev.queries, run, pipeline="mixed", assignments=_BLOCK, evidence=evidence)
            table = longrank.weigh(dev.qrels, run, evidence, GRID, normalize="minmax", measure=task.measure).table
            for place, setting in enumerate(table.settings):
                key = ("minmax", preset, float(setting["lexical"]), float(setting["alpha"]))
                values.setdefault(key, []).append(table.figure(place, table.query_ids))
    print(*("method", "first stage", "lexical", "alpha"), *(task.name for task in tasks), "mean", sep="\t")
    for key, row in sorted(values.items(), key=lambda item: sum(item[1])):
        print(*key, *(f"{value:.4f}" for value in row), f"{sum(row) / len(row):.4f}", sep="\t")


def report(test: Prepared) -> dict[str, Any]:
    """Return the figure of each system, and its differences from the baselines with Holm's p over all systems."""
    systems = [system for system in SYSTEMS if test.task.before or not {*WORDS, *LONGER}.intersection(system.settings)]
    runs = {system.name: test.reranked(system) for system in systems}
    rows: dict[str, Any] = {}
    for baseline in filter(runs.__contains__, BASELINES):
        compared = longrank.evaluate(test.qrels, runs, test.task.measure, baseline=baseline, correction="holm")
        for row in compared.rows:
            figures = rows.setdefault(row.name, {"value": round(row.values[0], 4)})
            if (comparison := row.comparisons[0]) is not None and comparison.p_corrected is not None:
                figures[f"p against {baseline}"] = float(f"{comparison.p_corrected:.2g}")
    return {"measure": test.task.measure, "queries": len(test.queries), "documents": test.index.n_docs, "systems": rows}


def _file(system: System) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in f"{system.pipeline} {' '.join(system.settings)}")


if __name__ == "__main__":
    main()
