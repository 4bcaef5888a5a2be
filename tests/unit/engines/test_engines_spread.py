"""Trainings, weights, recipes and sparse vectors by two processes: the bytes are those of one process."""

from __future__ import annotations

import signal
import time
from importlib import import_module
from pathlib import Path

import pytest

import longrank
import preloaded
import spread
from longrank.engines import Local
from longrank.errors import InputError
from longrank.types import Query
from reproductions import workplace
from spread import started
from training_collections import write_collection

__all__ = ["workplace"]  # fixture


@pytest.fixture
def quick_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start workers with PyTorch imported; others of these tests start them as users do."""
    monkeypatch.setattr("longrank.engines.local.get_context", lambda method: preloaded.context())


@pytest.mark.neural
@pytest.mark.slow
def test_sparse_vectors_by_two_processes_are_those_of_one(tmp_path: Path, quick_starts: None) -> None:
    here, there = spread.sparse(tmp_path, Local(2))
    assert here == there
    assert "passages cut at the encoder's length limit" in "\n".join(here[1])


@pytest.mark.neural
def test_folds_trained_by_two_processes_are_those_of_one(tmp_path: Path, quick_starts: None) -> None:
    here, there = spread.folds(tmp_path, Local(2))
    assert here == there
    assert {"output/test.run", "output/s1/record.json", "output/s3/model/model.safetensors"} <= here[0].keys()


def test_weights_by_two_processes_are_those_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longrank.evaluation.tuning.weights._BLOCK", 3)
    here, there = spread.weights(tmp_path, Local(2))
    assert here == there
    assert {"output/weights.json", "output/run.txt"} <= here[0].keys()


def test_recipes_by_two_processes_are_those_of_one(workplace: Path) -> None:
    here, there = spread.recipes(workplace, Local(2))
    assert here == there
    assert here["failures"].keys() == {"fails.toml"}
    assert len(here["phases"]) == 6  # an index that is built once, and first stages


def test_what_belongs_to_one_process_is_refused_with_an_engine(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra neural")
    place = write_collection(tmp_path)
    inputs = [place / name for name in ("index", "queries.jsonl", "qrels.txt", "first.run")]
    options = {"output": tmp_path / "out", "workers": 2}
    with pytest.raises(
        InputError, match=r"the workers of an engine train folds, and there are none .got 'engine=local'"
    ):
        longrank.train("parade", *inputs, **options)
    with pytest.raises(InputError, match="a score cache belongs to one process"):
        longrank.train("parade", *inputs, folds=2, score_cache=tmp_path / "cache", **options)
    with pytest.raises(InputError, match="learns from examples, which take no workers"):
        longrank.train("monobert", [{"query": "a", "text": "b", "label": 1}], **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.neural
@pytest.mark.slow
def test_a_worker_out_of_memory_halves_its_batches_as_this_process_does(
    tmp_path: Path, quick_starts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = spread.starved(tmp_path, Local(2), monkeypatch)
    assert here == there
    assert len([line for line in here[1] if "halved because memory ran out" in line]) == 1


def test_a_worker_that_cannot_open_what_the_work_needs_names_its_node(tmp_path: Path) -> None:
    from longrank.retrieval import first_stage
    from longrank.retrieval.blocks import Search

    lacking = Search(str(tmp_path / "no.index"), first_stage("bm25-anserini", {}), None, 10)
    with pytest.raises(InputError, match=r"the node \S+ cannot do the work: .*no.index.*; every node needs the same"):
        list(Local(2).each(lacking, [[Query("1", "dogs")]] * 2))


@pytest.mark.neural
@pytest.mark.parametrize("made", ["longrank.ranking.build:Encoder", "longrank.ranking.build_sparse:SparseEncoding"])
def test_a_node_without_the_model_is_one_sentence(made: str) -> None:
    module, _, name = made.partition(":")
    encoding = getattr(import_module(module), name)("./no-model", "windows", 1)
    with pytest.raises(InputError, match=r"^the node \S+ cannot do the work: .*no-model") as caught:
        encoding([])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("cause", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_a_command_that_is_interrupted_or_killed(tmp_path: Path, cause: signal.Signals) -> None:
    process = started("local", tmp_path)
    workers = [int(path.name) for path in tmp_path.iterdir()]
    process.send_signal(cause)
    assert process.wait(60) != 0
    for _ in range(600):
        if not any(Path(f"/proc/{pid}").exists() for pid in workers):
            return
        time.sleep(0.1)
    raise AssertionError(workers)
