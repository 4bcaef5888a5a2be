"""Measure blocks of work by one and two workers: local processes and a Ray cluster of this machine.

    python -m benchmarks.scaling --folder DIR --task rerank [--docs 50000] [--queries 2000] [--runs "here,ray 1"]

Tasks: ``index`` (8 shards), ``retrieve`` (BM25 with RM3), ``rerank`` (`minilm` reads every passage of 10 documents for
1 query in 20), ``lexical`` (reranks 100 documents by BM25 of their passages, for all queries) and ``vectors``
(`minilm`, 1 document in 100). Generated documents (`benchmarks.million`) of 300 words, kept in the folder. One CPU
thread for each worker. Runs: ``here``: this process, without an engine; ``local 1``, ``local 2``, ``ray 1``,
``ray 2``: engines with that many workers. Each is a process of its own; its seconds include the loading of models in
it and in its workers, but not the start of a Ray cluster, which comes beside them. Checks that all give the same
bytes. Prints a JSON line: seconds of each run, and ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.million import documents, queries
from longrank.collections import read_queries
from longrank.engines import Engine, EngineOptions, open_engine
from longrank.formats.trec import write_rankings
from longrank.index import Index
from longrank.retrieval import first_stage
from longrank.retrieval.blocks import Search
from longrank.types import Notes, Run
from longrank.verbs.index import add_vectors
from longrank.verbs.rerank import rerank
from longrank.verbs.retrieve import rankings, retrieve

RUNS = ("here", "local 1", "local 2", "ray 1", "ray 2")


class Material(NamedTuple):
    """Inputs of the tasks."""

    source: Path
    index: Path
    few: Path
    texts: list[str]

    def reranked(self, place: Path, pipeline: str, n_queries: int, depth: int, engine: Engine | None) -> Run:
        texts = self.texts[:n_queries]
        return rerank(
            self.index,
            texts,
            retrieve(self.index, texts, k=depth, threads=1),
            pipeline=pipeline,
            depth=depth,
            evidence=place / "evidence",
            assignments={"final.block_queries": 1},
            engine=engine,
        )


Work = Callable[[Material, Path, Engine | None], object]


def vectors(material: Material, place: Path, engine: Engine | None) -> object:
    shutil.copytree(material.few, place / "index")
    return add_vectors(place / "index", "minilm", engine=engine)


def retrieved(material: Material, place: Path, engine: Engine | None) -> None:
    notes, queries = Notes(), read_queries(material.texts)
    search = Search(Index(material.index), first_stage("bm25-anserini", {"feedback": "rm3"}), None, 1000)
    options = {"threads": 1, "engine": EngineOptions(engine), "notes": notes, "progress": None}
    write_rankings("longrank", rankings(search, search.open(notes), queries, **options), place / "run")


TASKS: dict[str, Work] = {
    "index": lambda material, place, engine: Index.build(material.source, place / "index", shards=8, engine=engine),
    "retrieve": retrieved,
    "rerank": lambda material, place, engine: material.reranked(
        place, "minilm", max(4, len(material.texts) // 20), 10, engine
    ),
    "lexical": lambda material, place, engine: material.reranked(place, "lexical", len(material.texts), 100, engine),
    "vectors": vectors,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--docs", type=int, default=50_000, help="documents of the index; 1 in 100 for vectors")
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--task", choices=TASKS, required=True)
    parser.add_argument("--runs", default=",".join(RUNS))
    parser.add_argument("--one", action="store_true", help="the first run, in this process")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's 15 gives way to all other programs of the machine
    material, runs = prepared(args.folder, args.docs, args.queries), args.runs.split(",")
    if args.one:
        print(json.dumps(measured(material, args.folder / "work", TASKS[args.task], runs[0])))
        return
    found = {run: separately(run) for run in runs}
    assert len({each["digest"] for each in found.values()}) == 1
    print(json.dumps({"task": args.task, "docs": args.docs, "queries": args.queries, **report(found)}), flush=True)


def separately(run: str) -> dict[str, Any]:
    """Return the measurements of a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scaling", *sys.argv[1:], "--runs", run, "--one"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def prepared(folder: Path, n_docs: int, n_queries: int) -> Material:
    """Return the sources and indexes of the folder, made where they are missing."""
    made: dict[str, Path] = {}
    for name, n in (("index", n_docs), ("few", max(100, n_docs // 100))):
        place = folder / f"{name}-{n}"
        if not place.exists():
            folder.mkdir(parents=True, exist_ok=True)
            with place.with_suffix(".jsonl").open("w") as stream:
                stream.writelines(documents(n, 0))
            Index.build(place.with_suffix(".jsonl"), place)
        made[name] = place
    return Material(made["index"].with_suffix(".jsonl"), made["index"], made["few"], queries(n_queries, 0))


def measured(material: Material, place: Path, work: Work, run: str) -> dict[str, Any]:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    started = time.perf_counter()
    with engine_of(run) as engine:
        begun = time.perf_counter()
        work(material, place, engine)
        end = time.perf_counter()
    return {"seconds": end - begun, "start": begun - started, "digest": digest(place)}


@contextmanager
def engine_of(run: str) -> Iterator[Engine | None]:
    if run == "here":
        yield None
        return
    kind, _, workers = run.partition(" ")
    with open_engine(kind, workers=int(workers)) as engine:
        yield engine


def report(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the seconds, the start of a cluster, and the ratios that the runs allow."""
    seconds = {run: each["seconds"] for run, each in found.items()}
    ratios = {
        f"{one} / {other}": round(seconds[one] / seconds[other], 2)
        for one, other in (
            ("local 1", "here"),
            ("ray 1", "here"),
            ("local 1", "local 2"),
            ("ray 1", "ray 2"),
            ("here", "local 2"),
            ("here", "ray 2"),
        )
        if one in seconds and other in seconds
    }
    start = max(each["start"] for each in found.values())
    return {"seconds": {run: round(value, 1) for run, value in seconds.items()}, "start": round(start, 1), **ratios}


def digest(folder: Path) -> str:
    found = sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"):
        found.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return found.hexdigest()


if __name__ == "__main__":
    main()
