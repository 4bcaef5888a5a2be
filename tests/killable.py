"""Work that the kill tests start, kill and start again, in a folder that `prepare` has filled.

The same again in the same folder resumes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import longrank
import reproductions
from longrank.engines import Engine, open_engine
from longrank.formats.trec import write_run
from longrank.index import Index, batches
from longrank.reproduction.rows import ObtainedRow
from longrank.reproduction.workbench import Workbench
from longrank.retrieval import blocks
from training_collections import SMALL, write_collection

RECIPES = [f"{n}.toml" for n in range(4)]


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


def chain(bench: Workbench) -> Iterator[ObtainedRow]:
    """Rerank the second of two runs."""
    yield bench.ranked("b = .4", bench.retrieve("first", "bm25-anserini"))
    better = bench.retrieve("better", "bm25-anserini", {"b": 0.6})
    yield bench.ranked("b = .6", bench.rerank("last", better, "lexical", cached=False).run)


def know_chain() -> Commands:
    """Let this process know the program of the recipes, and draw nothing, which takes most of the time."""
    from longrank.reproduction.papers import PROGRAMS

    PROGRAMS["tiny:chain"] = chain
    sys.modules["matplotlib"] = None  # type: ignore[assignment]
    return Commands()


class Commands:
    """Runs commands of recipes in new processes; a worker that unpickles it knows the recipes' program."""

    def __reduce__(self) -> tuple[Callable[[], Commands], tuple[()]]:
        return know_chain, ()

    def __call__(self, command: Sequence[str], number: str) -> None:
        from longrank.reproduction.phases import run_in_new_process

        run_in_new_process(command, number)


def recipes(engine: Engine) -> None:
    """Obtain recipes of three commands, which are processes of their own."""
    done = longrank.reproduce(RECIPES, "tiny", "out", run=know_chain(), engine=engine)
    assert not done.failures, done.failures


def prepare(work: str, folder: Path) -> None:
    """Write what a work reads to an empty folder."""
    if work == "recipes":
        reproductions.write_collection(folder / "tiny")
        for n, name in enumerate(RECIPES):
            text = reproductions.RECIPE.replace("tiny:table", "tiny:chain").replace("Table 0", f"Table {n}")
            (folder / name).write_text(text)
    if work == "folds":
        from tiny_models import save_encoder

        write_collection(folder)
        save_encoder(folder / "encoder")


WORKS: dict[str, Callable[[Engine], None]] = {"shards and runs": shards_and_runs, "folds": folds, "recipes": recipes}


def do(work: str, folder: Path, engine: str, workers: int) -> None:
    """Begin or resume a work in a folder."""
    os.chdir(folder)
    os.environ["OMP_NUM_THREADS"] = "1"
    os.fsync = lambda descriptor: None
    with open_engine(engine, workers=workers) as opened:
        WORKS[work](opened)
