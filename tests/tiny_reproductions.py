"""A tiny collection, models and settings with which any recipe of trained networks runs in seconds."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from training_collections import N_QUERIES, documents, ranked, write_collection

TRAIN = (
    "read.passages=windows",
    "read.options={length=12, stride=8}",
    "read.max_tokens=32",
    "read.max_query_tokens=8",
    "loop.batch=4",
    "loop.steps=1",
    "samples.depth=12",
    "test.depth=4",
)
VALIDATED = ("loop.validate_every=1", "validation.depth=4")


def published_sums(name: str) -> dict[str, float]:
    """Return the sum of the figures of each column of a recipe."""
    from longrank.reproduction.recipe_files import load_recipe

    recipe, _ = load_recipe(name)
    return {column: sum(row.values.get(column, 0.0) for row in recipe.expected) for column in recipe.columns}


class TinyLab:
    """A folder with a collection of 30 documents and 12 queries in two folds, and with models where they are asked for.

    Recipes run there share an index and scores, in ``output``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.collection, self.output = folder, folder / "tiny", folder / "output"
        _write_collection(self.collection)

    @property
    def encoder(self) -> Path:
        """An encoder."""
        from tiny_models import save_encoder

        path = self.folder / "encoder"
        return path if path.exists() else save_encoder(path)

    @property
    def cross_encoder(self) -> Path:
        """A cross-encoder with two outputs."""
        from tiny_models import save_cross_encoder

        path = self.folder / "cross-encoder"
        return path if path.exists() else save_cross_encoder(path)

    def rows(
        self, name: str, models: Mapping[str, Path], *sets: str, validated: bool = True, trained: bool = True
    ) -> dict[str, dict[str, float]]:
        """Run a recipe by its command line; return what it obtained, row by row.

        Its trainings are made tiny, also those that validate. Only figures are drawn.
        """
        from longrank.cli.main import main

        tiny = [f"train.{one}" for one in (*TRAIN, *(VALIDATED if validated else ()))] if trained else []
        options = [word for role, model in models.items() for word in ("--model", f"{role}={model}")]
        options += [word for one in (*tiny, *sets) for word in ("--set", one)]
        with pytest.MonkeyPatch.context() as patch:
            if "figure" not in name:  # the figure of a table is drawn as any other
                patch.setitem(sys.modules, "matplotlib", None)
            command = ["reproduce", name, "--collection", str(self.collection), "-o", str(self.output), *options]
            assert main(command) == 0
        found = json.loads((self.output / name / "results.json").read_text())
        return {row["row"]: row["obtained"] for row in found["rows"] if row["obtained"]}


def _write_collection(folder: Path) -> None:
    parts = folder.with_name("parts")
    folder.mkdir()
    parts.mkdir()
    write_collection(parts)
    texts = {document.doc_id: document.text for document in documents()}
    with (folder / "docs.jsonl").open("w") as stream:
        stream.writelines(json.dumps({"doc_id": doc_id, "text": text}) + "\n" for doc_id, text in texts.items())
    with (folder / "queries.jsonl").open("w") as stream:
        for n in range(N_QUERIES):
            words = [texts[doc_id].split()[0] for doc_id in ranked(n)[:6]]
            stream.write(json.dumps({"query_id": f"q{n:02d}", "text": " ".join(words)}) + "\n")
    (folder / "qrels.txt").write_text((parts / "qrels.txt").read_text())
    ids = [f"q{n:02d}" for n in range(N_QUERIES)]
    folds = {
        "s1": {"train": ids[:4], "dev": ids[4:8], "test": ids[8:]},
        "s2": {"train": ids[8:10], "dev": ids[10:], "test": ids[:8]},
    }
    (folder / "folds.json").write_text(json.dumps(folds))
