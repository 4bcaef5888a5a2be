"""A tiny collection with documents of several sentences, on which recipes run in seconds, and what is asked of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longrank.evaluation.folds import make_folds
from longrank.formats.folds import write_folds
from longrank.registries import lookup
from longrank.reproduction.papers import PROGRAMS
from longrank.reproduction.phases import Phases
from longrank.reproduction.recipe_files import load_recipe
from longrank.reproduction.workbench import Workbench
from training_collections import N_QUERIES, documents, ranked, write_collection

_WORDS = 5  # of a sentence


def write_with_sentences(folder: Path) -> Path:
    """Write a collection folder of 30 documents of several sentences and 12 queries in three folds; return it."""
    parts = folder.with_name("parts")
    for path in (folder, parts):
        path.mkdir()
    write_collection(parts)
    (folder / "qrels.txt").write_text((parts / "qrels.txt").read_text())
    texts = {document.doc_id: document.text.split() for document in documents()}
    with (folder / "docs.jsonl").open("w") as stream:
        for doc_id, words in texts.items():
            some = [" ".join(words[n : n + _WORDS]).capitalize() for n in range(0, len(words), _WORDS)]
            stream.write(json.dumps({"doc_id": doc_id, "text": ". ".join(some) + "."}) + "\n")
    with (folder / "queries.jsonl").open("w") as stream:
        for n in range(N_QUERIES):
            words = sorted({word for doc_id in ranked(n)[:3] for word in texts[doc_id][:2]})
            text = " ".join(words).replace(" ", "\u2028 ", 1)  # no line end of JSON Lines
            stream.write(json.dumps({"query_id": f"q{n:02d}", "text": text}) + "\n")
    write_folds(make_folds([f"q{n:02d}" for n in range(N_QUERIES)], 3, 1), folder / "folds.json")
    return folder


def reproduced(
    name: str, collection: Path, output: Path, *, models: Sequence[str] = (), sets: Sequence[str] = ()
) -> dict[str, Any]:
    """Run a recipe by its command line; return what is in results.json."""
    from longrank.cli.main import main

    options = [word for one in models for word in ("--model", one)] + [word for one in sets for word in ("--set", one)]
    assert main(["reproduce", name, "--collection", str(collection), "-o", str(output), *options]) == 0
    found: dict[str, Any] = json.loads((output / name / "results.json").read_text())
    return found


def obtained(found: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return row -> measure -> figure, of the rows that were obtained."""
    return {row["row"]: row["obtained"] for row in found["rows"] if row["obtained"]}


def to_obtain(name: str) -> set[str]:
    """Return the rows of a recipe that its program makes: those without a reason why none does."""
    recipe, _ = load_recipe(name)
    return {row.row for row in recipe.expected if not row.reason or row.expected is not None}


def commands_of(name: str, collection: Path, sets: Sequence[str] = ()) -> list[list[str]]:
    """Return the commands of a recipe, with the paper's settings or others; none is run."""
    return _dry(name, collection, sets)[1]


def planned(name: str, collection: Path) -> set[str]:
    """Return the rows that a recipe's program makes, with the paper's settings; none of its commands is run."""
    return _dry(name, collection)[0]


def _dry(name: str, collection: Path, sets: Sequence[str] = ()) -> tuple[set[str], list[list[str]]]:
    from longrank.collections.available import open_whole

    recipe, _ = load_recipe(name, sets)
    make = lookup(PROGRAMS, str(recipe.program), "program")
    phases = Phases(collection / "none", _refuse, dry=True)
    bench = Workbench(
        recipe,
        collection / "none",
        collection / "index",
        models={},
        phases=phases,
        scores=collection / "scores",
        collection=open_whole(str(collection)),
        fold_names=["s1", "s2", "s3"],
        n_queries=10_000,
    )
    return {row.name for row in make(bench)}, phases.commands


def _refuse(command: object, number: str) -> None:
    raise AssertionError("a dry run runs nothing")


def published(name: str) -> dict[str, dict[str, float]]:
    """Return row -> measure -> published figure."""
    return {row.row: row.values for row in load_recipe(name)[0].expected}


def sums(name: str) -> dict[str, float]:
    """Return column -> the sum of its published figures."""
    rows = published(name).values()
    return {column: sum(row.get(column, 0.0) for row in rows) for column in load_recipe(name)[0].columns}
