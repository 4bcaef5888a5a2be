"""Measure blocks of work by one and two workers: local processes and a Ray cluster of this machine.

    python -m benchmarks.scaling --folder DIR [--docs 50000] [--tasks index,retrieve,rerank,vectors] [--repeat 1]

Generated documents (`benchmarks.million`); one CPU thread for each worker. Each task runs in this process, by local
processes and by Ray workers, one and two of each; a Ray cluster is started before the clock. Seconds include the start
of the workers and the loading of their models. Checks that all give the same bytes. Prints a JSON line for each task:
seconds of each run (the least of `--repeat`), speed-up of two workers over one, and overhead of one worker over this
process.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.million import documents, queries
from longrank.engines import Engine, Local, open_engine
from longrank.index import Index
from longrank.types import Run
from longrank.verbs.index import add_vectors
from longrank.verbs.rerank import rerank
from longrank.verbs.retrieve import retrieve

Work = Callable[[Path, Engine | None], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--docs", type=int, default=50_000, help="documents of the index; 1 in 100 for vectors")
    parser.add_argument("--queries", type=int, default=2000, help="queries to retrieve for; 1 in 10 is reranked")
    parser.add_argument("--tasks", default="index,retrieve,rerank,vectors")
    parser.add_argument("--repeat", type=int, default=1)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's 15 gives way to all other programs of the machine
    args.folder.mkdir(parents=True, exist_ok=True)
    tasks = prepared(args.folder, args.docs, args.queries)
    for name in args.tasks.split(","):
        report = measured(args.folder, tasks[name], args.repeat)
        print(json.dumps({"task": name, "documents": args.docs, "queries": args.queries, **report}), flush=True)


def prepared(folder: Path, n_docs: int, n_queries: int) -> dict[str, Work]:
    source, small = folder / "docs.jsonl", folder / "small.jsonl"
    for path, n in ((source, n_docs), (small, max(100, n_docs // 100))):
        with path.open("w") as stream:
            stream.writelines(documents(n, 0))
    index, few = Index.build(source, folder / "index"), Index.build(small, folder / "few")
    texts = queries(n_queries, 0)
    some: Run = retrieve(index, texts[: n_queries // 10], k=100)

    def vectors(place: Path, engine: Engine | None) -> object:
        shutil.copytree(few.path, place)
        return add_vectors(place, "minilm", engine=engine)

    def reranked(place: Path, engine: Engine | None) -> object:
        place.mkdir()
        return rerank(
            index,
            texts[: n_queries // 10],
            some,
            pipeline="lexical",
            evidence=place / "evidence",
            assignments={"final.block_queries": 2},
            engine=engine,
        )

    def retrieved(place: Path, engine: Engine | None) -> object:
        place.mkdir()
        run = retrieve(index, texts, feedback="rm3", engine=engine, threads=1)
        return (place / "run").write_text("\n".join(map(str, run.rows())))

    return {
        "index": lambda place, engine: Index.build(source, place, shards=8, engine=engine),
        "retrieve": retrieved,
        "rerank": reranked,
        "vectors": vectors,
    }


def measured(folder: Path, work: Work, repeat: int) -> dict[str, Any]:
    seconds, digests = {}, set()
    for name in ("here", "ray 1", "ray 2", "local 2"):
        with ExitStack() as stack:
            kind, _, number = name.partition(" ")
            engine: Engine | None = None if kind == "here" else Local(int(number))
            if kind == "ray":
                engine = stack.enter_context(open_engine("ray", workers=int(number)))
            times = []
            for _ in range(repeat):
                shutil.rmtree(folder / "work", ignore_errors=True)
                begun = time.perf_counter()
                work(folder / "work", engine)
                times.append(time.perf_counter() - begun)
            digests.add(digest(folder / "work"))
        seconds[name] = min(times)
    assert len(digests) == 1
    return {
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
        "ray: two workers over one": round(seconds["ray 1"] / seconds["ray 2"], 2),
        "two processes over this process": round(seconds["here"] / seconds["local 2"], 2),
        "ray: one worker over this process": round(seconds["ray 1"] / seconds["here"], 2),
    }


def digest(folder: Path) -> str:
    found = sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"):
        found.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return found.hexdigest()


if __name__ == "__main__":
    main()
