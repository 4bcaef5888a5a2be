"""train with a frozen encoder: only the aggregator learns, and no passage is read twice."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fakes import documents, index_of, queries
from longrank.cli.main import main
from longrank.formats.trec import read_run
from longrank.types import Notes
from tiny_models import save_document_network

pytestmark = pytest.mark.neural

SMALL = {
    "loop.steps": "4",
    "loop.batch": "2",
    "loop.validate_every": "2",
    "loop.optimizer.learning_rate": "0.01",
    "loop.schedule": '{name="constant"}',
    "read.passages": "windows",
    "read.options": "{length=20, stride=20}",
    "read.max_tokens": "48",
    "samples.depth": "8",
    "validation.depth": "4",
    "network.name": "parade-attn",
    "network.frozen": "true",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection in which every other document of a run is relevant, and an untrained network."""
    folder = tmp_path_factory.mktemp("frozen")
    index_of(documents(20, words=60), folder / "index")
    rows = [{"query_id": q.query_id, "text": q.text} for q in queries(6)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["retrieve", str(folder / "index"), str(folder / "queries.jsonl"), "-o", str(folder / "bm25.run")]) == 0
    run = read_run(folder / "bm25.run", Notes())
    judged = [f"{q} 0 {row.doc_id} {n % 2}\n" for q in run for n, row in enumerate(run[q])]
    (folder / "qrels.txt").write_text("".join(judged))
    save_document_network(folder / "network", "parade-attn")
    return folder


def train(folder: Path, output: Path, *more: str, **changed: str) -> int:
    places = [str(folder / name) for name in ("index", "queries.jsonl", "qrels.txt", "bm25.run")]
    settings = (
        SMALL | {"network.model": str(folder / "network")} | {k.replace("__", "."): v for k, v in changed.items()}
    )
    assignments = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    return main(["train", "parade", *places, "-o", str(output), "--make-folds", "3", *more, *assignments])


def weights(folder: Path) -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file

    return load_file(folder / "model.safetensors")


def test_only_the_aggregator_learns(folder: Path, tmp_path: Path) -> None:
    assert train(folder, tmp_path / "new", "--fold", "s1") == 0
    before, after = weights(folder / "network"), weights(tmp_path / "new" / "s1" / "model")
    changed = {name for name in before if (before[name] != after[name]).any()}
    assert changed <= {"attention.weight", "head.weight", "head.bias"}
    assert "head.weight" in changed


def test_a_cache_changes_last_bits_alone_and_spares_the_next_training_all_reading(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = ("--score-cache", str(tmp_path / "cache"))
    assert train(folder, tmp_path / "without") == 0
    assert train(folder, tmp_path / "with", *cache) == 0
    for name in ("s1", "s2", "s3"):
        one, other = (weights(tmp_path / where / name / "model") for where in ("without", "with"))
        assert all(np.allclose(one[key], other[key], atol=1e-5) for key in one)
    rows = [list(read_run(tmp_path / where / "test.run", Notes()).rows()) for where in ("without", "with")]
    assert [row[:2] for row in rows[0]] == [row[:2] for row in rows[1]]
    capsys.readouterr()
    assert train(folder, tmp_path / "again", *cache) == 0
    assert "were not in the score cache" not in capsys.readouterr().err


def test_with_nothing_left_to_train_it_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_document_network(tmp_path / "maxp", "maxp")
    changed = {"network__model": str(tmp_path / "maxp"), "network__name": "maxp"}
    assert train(folder, tmp_path / "new", "--fold", "s1", **changed) == 2
    assert "with a frozen encoder there is nothing to train in maxp" in capsys.readouterr().err


def test_a_cache_for_an_encoder_that_is_trained_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(folder, tmp_path / "new", "--score-cache", str(tmp_path / "cache"), network__frozen="false") == 2
    assert "a score cache is for encoders that are not trained; set network.frozen = true" in capsys.readouterr().err
    assert not (tmp_path / "cache").exists()


def test_a_frozen_classifier_reads_a_passage_alike_in_training_and_in_use(folder: Path, tmp_path: Path) -> None:
    model = str(save_document_network(tmp_path / "scores", "birch-passage"))
    of = {"network__name": "birch-passage", "network__model": model}
    assert train(folder, tmp_path / "fresh", **of) == 0
    assert train(folder, tmp_path / "kept", "--score-cache", str(tmp_path / "rows.cache"), **of) == 0
    # what training has kept is what testing reads: with a dropout of the head it would be another
    kept, fresh = (list(read_run(tmp_path / name / "test.run", Notes()).rows()) for name in ("kept", "fresh"))
    scores = {(row.query_id, row.doc_id): row.score for row in fresh}
    assert [scores[row.query_id, row.doc_id] for row in kept] == pytest.approx([row.score for row in kept], abs=1e-5)
