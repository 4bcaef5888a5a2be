"""`longrank.train` with values in memory: the same bytes as with files, and what it returns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import longrank
from longrank.errors import InputError
from longrank.formats.folds import Fold
from longrank.index import Index
from longrank.types import Notes
from training_collections import ranked, write_collection

pytestmark = pytest.mark.neural


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tiny_models import save_encoder

    folder = write_collection(tmp_path_factory.mktemp("verb"))
    save_encoder(folder / "encoder")
    return folder


def rankings(folder: Path, **loop: Any) -> dict[str, Any]:
    return {
        "network": {"name": "parade-max", "model": str(folder / "encoder")},
        "read": {"passages": "windows", "options": {"length": 12, "stride": 8}, "max_tokens": 32},
        "loss": [{"name": "hinge"}],
        "loop": {"steps": 2, "batch": 2, "optimizer": {"learning_rate": 0.01}} | loop,
        "validation": {"depth": 6},
    }


def examples(folder: Path) -> dict[str, Any]:
    return {
        "network": {"name": "cross-encoder", "model": str(folder / "encoder")},
        "read": {"max_tokens": 32},
        "loss": [{"name": "cross-entropy"}],
        "loop": {"steps": 2, "batch": 2, "validate_every": 1, "optimizer": {"learning_rate": 0.01}},
    }


def test_values_in_memory_train_to_the_bytes_of_files(folder: Path, tmp_path: Path) -> None:
    files = [folder / name for name in ("index", "queries.jsonl", "qrels.txt", "first.run")]
    notes = Notes()
    from_files = longrank.train(rankings(folder), *files, output=tmp_path / "files", notes=notes)
    rows = [json.loads(line) for line in files[1].read_text().splitlines()]
    queries = {row.pop("query_id"): row for row in rows}
    judgments: dict[str, dict[str, int]] = {}
    for line in files[2].read_text().splitlines():
        query_id, _, doc_id, grade = line.split()
        judgments.setdefault(query_id, {})[doc_id] = int(grade)
    run = {f"q{n:02d}": {doc_id: 12.0 - rank for rank, doc_id in enumerate(ranked(n))} for n in range(12)}
    in_memory = longrank.train(
        rankings(folder), Index.open(files[0]), queries, judgments, run, output=str(tmp_path / "memory")
    )
    assert (from_files.network, from_files.best, from_files.run) == ("parade-max", {}, None)
    for name in ("model/model.safetensors", "record.json"):
        assert (from_files.folder / name).read_bytes() == (in_memory.folder / name).read_bytes()


def test_folds_give_a_model_and_a_measure_each_and_a_run(folder: Path, tmp_path: Path) -> None:
    files = [folder / name for name in ("index", "queries.jsonl", "qrels.txt", "first.run")]
    trained = longrank.train(rankings(folder, validate_every=1), *files, output=tmp_path / "t", folds=3)
    assert list(trained.models) == list(trained.best) == ["s1", "s2", "s3"]
    assert all((model / "model.safetensors").exists() for model in trained.models.values())
    assert trained.run is not None and len(trained.run) == 12
    assert any(line.startswith("s1: best nDCG@20 on dev") for line in trained.notes.lines())
    with pytest.raises(InputError, match=r"3 folds have a model each; use models\[FOLD\]"):
        _ = trained.model


def test_examples_in_memory_train_a_passage_network(folder: Path, tmp_path: Path) -> None:
    rows = [{"query": "river", "text": text, "label": label} for text, label in (("water", 1), ("stone", 0))]
    trained = longrank.train(examples(folder), rows, output=tmp_path / "t", dev=rows[::-1])
    assert set(trained.best) == {"training"} and (trained.model / "model.safetensors").exists()
    assert trained.run is None


def test_a_fault_of_examples_in_memory_names_them(tmp_path: Path) -> None:
    faulty = [{"query": "a", "text": "b", "label": 1}, {"query": "a", "text": "b"}]
    with pytest.raises(InputError, match=r"^examples:2: not the keys of a row"):
        longrank.train("monobert", faulty, output=tmp_path / "out", assignments={"loop.validate_every": None})


def test_data_of_another_kind_are_refused(folder: Path, tmp_path: Path) -> None:
    index, output = folder / "index", tmp_path / "t"
    with pytest.raises(InputError, match="parade-max learns from rankings: no qrels, run"):
        longrank.train(rankings(folder), index, ["a query"], output=output)
    with pytest.raises(InputError, match="parade-max learns from rankings, which take no dev"):
        longrank.train(rankings(folder), index, output=output, dev=[])
    files = [folder / name for name in ("index", "queries.jsonl", "qrels.txt", "first.run")]
    with pytest.raises(InputError, match=r"no such fold \(got 's9'\)"):
        longrank.train(rankings(folder, validate_every=1), *files, output=output, folds=2, only="s9")
    leaking = {"s1": Fold(train=("q00", "q01"), dev=(), test=("q01",))}
    with pytest.raises(InputError, match=r"'s1' has a test query that is also in its train or dev list \(got 'q01'\)"):
        longrank.train(rankings(folder, validate_every=1), *files, output=output, folds=leaking)
    assert not output.exists()
    with pytest.raises(InputError, match="cross-encoder learns from examples, which take no folds"):
        longrank.train(examples(folder), [], output=output, folds=3)
    with pytest.raises(InputError, match="cross-encoder learns from examples, which take no fold_seed"):
        longrank.train(examples(folder), [], output=output, fold_seed=3)
    with pytest.raises(InputError, match=r"unknown network .*did you mean 'cross-encoder'"):
        longrank.train({"network": {"name": "cross-encoderr"}}, [], output=output)
    assert not output.exists()
