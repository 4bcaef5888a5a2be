"""Work that the kill tests start, kill and start again: ``python killable.py WORK ADDRESS``, in a prepared folder.

Without an address, one process does it. The same again in the same folder resumes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import longrank
from longrank.engines import Engine, open_engine
from longrank.formats.trec import write_run
from longrank.index import Index, batches
from longrank.retrieval import blocks
from training_collections import SMALL, write_collection


def shards_and_runs(engine: Engine) -> None:
    """Build an index of three shards, retrieve from it, and rerank with evidence."""
    batches._CHARS, blocks._BLOCK = 20000, 8
    words = [f"w{n % 97} w{n % 89} dogs bark " * 10 for n in range(2000)]
    queries = {f"q{n}": f"w{n % 97} w{n % 53} dogs" for n in range(160)}
    index = Index.build([(f"d{n:04d}", text) for n, text in enumerate(words)], "index", shards=3, engine=engine)
    run = longrank.retrieve(index, queries, k=20, engine=engine)
    write_run(run, "first.run")
    options: dict[str, Any] = {"pipeline": "lexical", "depth": 20, "assignments": {"final.block_queries": 4}}
    run = longrank.rerank(index, queries, run, evidence="evidence", engine=engine, **options)
    write_run(run, "last.run")


def folds(engine: Engine) -> None:
    """Train a tiny network on each of four folds, with checkpoints, and test it."""
    inputs = ["index", "queries.jsonl", "qrels.txt", "first.run"]
    network = ["network.name=parade-max", "network.model=encoder", "validation.depth=5"]
    sets = [*SMALL, *network, "loop.steps=12", "loop.validate_every=2"]
    longrank.train("parade", *inputs, output="trained", folds=4, assignments=sets, engine=engine)


def prepare(work: str, folder: Path) -> None:
    """Write what a work reads to an empty folder."""
    if work == "folds":
        from tiny_models import save_encoder

        write_collection(folder)
        save_encoder(folder / "encoder")


WORKS: dict[str, Callable[[Engine], None]] = {"shards and runs": shards_and_runs, "folds": folds}

if __name__ == "__main__":
    os.fsync = lambda descriptor: None
    work, address = sys.argv[1:]
    with open_engine(f"ray={address}", workers=3) if address else open_engine("local") as engine:
        WORKS[work](engine)
