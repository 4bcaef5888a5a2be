"""Folders that version 0.1 wrote, half finished: they are opened, resumed and aggregated to the same bytes.

``written_by_0.1.tar.gz`` holds ``before`` (inputs, and what interrupted commands left) and ``after`` (what version 0.1
itself made of it). The texts are random words. Trained weights differ from one processor to another in their last
bits, so of trainings the identity and the steps before the interruption are compared.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from longrank.cli.main import main
from longrank.index import Index, verify_index
from longrank.retrieval import make_retriever
from longrank.types import Query

ARCHIVE = Path(__file__).with_name("written_by_0.1.tar.gz")
AFTER = Path("..", "after")
LOOP = ("network.model=encoder", "loop.steps=60", "loop.validate_every=20", "loop.checkpoint_every=10")
READ = ("read.passages=windows", "read.options={length=12, stride=8}", "read.max_tokens=32", "read.max_query_tokens=8")


@pytest.fixture
def before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Unpack the archive; its folder ``before`` is the working directory."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # absent before Python 3.11.4
        archive.extractall(tmp_path)
    monkeypatch.chdir(tmp_path / "before")
    return tmp_path / "before"


def settings(*assignments: str) -> list[str]:
    return [word for assignment in assignments for word in ("--set", assignment)]


def same(*names: str) -> None:
    """Compare files with those that version 0.1 wrote."""
    for name in names:
        assert Path(name).read_bytes() == (AFTER / name).read_bytes(), name


def test_an_index_is_opened_and_built_again_with_the_same_ranking(before: Path) -> None:
    """Postings are packed since; every other array has the bytes of version 0.1."""
    assert verify_index(Path("index")) > 0
    assert main(["index", "docs.jsonl", "-o", "again"]) == 0
    old, new = (next(Path(name).glob("data-*")) for name in ("index", "again"))
    arrays = {path.name for path in old.iterdir()} - {"manifest.json", "docs", "tfs"}
    assert {path.name for path in new.iterdir()} == arrays | {"manifest.json", "codes", "code_begins"}
    for name in arrays:
        assert (new / name).read_bytes() == (old / name).read_bytes(), name
    rankings = [make_retriever(Index.open(Path(name))) for name in ("index", "again")]
    query = Query("q", " ".join(json.loads(Path("docs.jsonl").read_text().splitlines()[0])["text"].split()[:5]))
    assert rankings[0].retrieve(query, 50) == rankings[1].retrieve(query, 50) != []


def test_an_interrupted_evidence_file_is_resumed_to_the_same_bytes(before: Path) -> None:
    inputs = ["index", "queries.jsonl", "first.run", "-o", "lexical.run", "--pipeline", "lexical"]
    assert Path("lexical.evidence").stat().st_size < (AFTER / "lexical.evidence").stat().st_size
    assert main(["rerank", *inputs, "--evidence", "lexical.evidence", *settings("final.block_queries=2")]) == 0
    same("lexical.evidence", "lexical.run")


def test_evidence_is_aggregated_and_weighed_to_the_same_bytes(before: Path) -> None:
    evidence = "maxp.run.evidence"
    assert main(["aggregate", evidence, "-o", "avgp.run", "--aggregator", "avgp"]) == 0
    birch = ["--aggregator", "birch", "--weights", "1,0.5,0.2", "--first-stage", "first.run", "--interpolate", "0.4"]
    assert main(["aggregate", evidence, "-o", "birch.run", *birch]) == 0
    assert main(["weigh", "qrels.txt", "first.run", evidence, "-o", "weighed", "--make-folds", "3"]) == 0
    same("avgp.run", "birch.run", *(f"weighed/{name}" for name in ("weights.json", "run.txt", "folds.json")))


def test_an_interrupted_tuning_is_resumed_to_the_same_bytes(before: Path) -> None:
    journal = Path("tuned/values.journal")
    begun = journal.read_bytes()
    grid = ["--grid", "k1=0.6:1.2:0.1", "--grid", "b=0.2:0.8:0.1", "--protocol", "folds", "--make-folds", "3"]
    assert main(["tune", "index", "queries.jsonl", "qrels.txt", "-o", "tuned", *grid]) == 0
    assert journal.read_bytes().startswith(begun[: len(begun) // 2])
    same("tuned/tuning.json", "tuned/run.txt", "tuned/values.journal", "tuned/folds.json")


@pytest.mark.neural
def test_an_interrupted_training_of_a_document_network_goes_on(before: Path) -> None:
    begun = Path("training/s1/log.jsonl").read_text()
    identity = Path("training/s1/run.json").read_bytes()
    inputs = ["t.toml", "index", "queries.jsonl", "qrels.txt", "first.run", "-o", "training", "--make-folds", "3"]
    assert main(["train", *inputs, "--fold", "s1", *settings(*READ, "loop.batch=4", *LOOP)]) == 0
    finished("training/s1", begun, identity)


@pytest.mark.neural
def test_an_interrupted_training_on_passages_goes_on(before: Path) -> None:
    begun, identity = Path("ptraining/log.jsonl").read_text(), Path("ptraining/run.json").read_bytes()
    inputs = ["p.toml", "e.jsonl", "--dev", "dev.jsonl", "-o", "ptraining"]
    assert main(["train-passages", *inputs, *settings(*LOOP)]) == 0
    finished("ptraining", begun, identity)


def finished(folder: str, begun: str, identity: bytes) -> None:
    """Check that the training went on after its checkpoint at step 40."""
    assert Path(folder, "run.json").read_bytes() == identity
    log = Path(folder, "log.jsonl").read_text()
    kept = "".join(line for line in begun.splitlines(keepends=True) if json.loads(line)["step"] <= 40)
    assert log.startswith(kept)
    assert json.loads(Path(folder, "record.json").read_text())["losses"]
    assert Path(folder, "model", "model.safetensors").exists()


@pytest.mark.neural
def test_a_reproduction_uses_the_index_and_the_figures_that_are_there(before: Path) -> None:
    phases = Path("repro/phases.json").read_bytes()
    collection = Path("repro/parade/table1-genomics/collection.json").read_bytes()
    options = ["--collection", "tiny", "-o", "repro", "--model", "tokenizer=encoder"]
    assert main(["reproduce", "parade/table1-genomics", *options]) == 0
    assert Path("repro/phases.json").read_bytes() == phases  # no phase was run again
    assert Path("repro/parade/table1-genomics/collection.json").read_bytes() == collection
    folder = "repro/parade/table1-genomics"
    same(*(f"{folder}/{name}" for name in ("results.json", "per-query.json", "commands.sh")))
