"""Tasks on a Ray cluster of this machine, which the tests share.

Workers of a cluster import everything anew, so most kinds of work are slow (`make test-ray`); two processes of this
machine do each of them in `test_engines_spread` and the rooms' own tests.
"""

from __future__ import annotations

import math
import operator
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import longrank
import reproductions
import spread
import tunable
from longrank.engines import in_order
from longrank.errors import InputError, LongRankError
from longrank.index import Index, batches
from longrank.types import Notes
from reproductions import workplace
from training_collections import write_collection

__all__ = ["workplace"]  # fixture

pytest.importorskip("ray", reason="needs the extra ray")
pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning"
)


@pytest.fixture(scope="module")
def engine() -> Iterator[object]:
    import ray

    from longrank.engines.ray import Ray

    for module in (sys.modules[__name__], spread, reproductions, tunable):  # no worker finds them
        ray.cloudpickle.register_pickle_by_value(module)
    with Ray(2) as engine:
        yield engine


@pytest.fixture
def one_worker(engine, monkeypatch: pytest.MonkeyPatch) -> object:
    """The engine with one worker, since each imports PyTorch anew; two do so in the slow test of vectors."""
    monkeypatch.setattr(engine, "workers", 1)
    return engine


def _dying_once(mark: Path) -> str:
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return mark.name


def _waiting(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def test_every_task_is_done_once_in_order_of_completion(engine) -> None:
    assert list(in_order(engine.each(math.sqrt, (n * n for n in range(20))))) == list(range(20))
    assert next(engine.each(_waiting, [5.0, 0.0])) == (1, 0.0)  # and leaving frees the actors
    assert list(engine.each(math.sqrt, [])) == []


def test_an_error_of_a_task_is_raised_here(engine) -> None:
    with pytest.raises(ValueError, match="domain"):
        list(engine.each(math.sqrt, [4.0, -1.0, 9.0]))


def test_tasks_of_a_killed_worker_are_done_again(engine, tmp_path: Path) -> None:
    marks = [tmp_path / str(n) for n in range(4)]
    (tmp_path / "1").touch()
    assert list(in_order(engine.each(_dying_once, marks))) == ["0", "1", "2", "3"]


def test_a_task_that_kills_every_worker_ends_the_work(engine, monkeypatch) -> None:
    monkeypatch.setattr("longrank.engines.crew._MOST_KILLS", 1)
    said = "block 0 killed 2 workers of the Ray cluster, one after another: perhaps memory ran out, then use smaller"
    with pytest.raises(LongRankError, match=said):
        list(engine.each(signal.raise_signal, [signal.SIGKILL]))


def test_a_node_with_other_versions_is_refused(engine, monkeypatch) -> None:
    monkeypatch.setattr("longrank.engines.actors.installed", lambda: {"numpy": "0.1"})
    with pytest.raises(InputError, match=r"the Ray node \S+ has numpy \S+ instead of 0.1; install the same packages"):
        list(engine.each(math.sqrt, [4.0]))


def test_a_node_without_longrank_says_so(monkeypatch) -> None:
    from longrank.engines.actors import worker_class

    monkeypatch.setitem(sys.modules, "longrank.engines.versions", None)
    assert "cannot import longrank" in worker_class()().open(b"", {}, "/")


def test_a_worker_that_fits_no_node_is_refused(engine) -> None:
    from longrank.engines.ray import Ray

    with pytest.raises(InputError, match=r"no node of the Ray cluster has room for a worker .got 'CPU=1,GPU=64'."):
        Ray(None, "", {"GPU": 64})
    assert list(engine.each(math.sqrt, [4.0])) == [(0, 2.0)]  # the connection is the first engine's


def test_the_number_of_workers_leaves_a_cpu_free() -> None:
    from longrank.engines.actors import places

    nodes = [{"Alive": True, "Resources": {"CPU": 8.0, "GPU": 2.0}}, {"Alive": False, "Resources": {"CPU": 64.0}}]
    assert places(nodes, {"CPU": 1.0}) == 8
    assert places(nodes, {"CPU": 2.0, "GPU": 1.0}) == 2
    assert places(nodes, {"CPU": 16.0}) == 0


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.slow
def test_shards_by_a_cluster_are_the_bytes_of_a_local_build(engine, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # workers have another current folder
    monkeypatch.setattr(batches, "_CHARS", 2000)
    documents = [(f"d{n}", f"Dogs bark at number {n}. " * 9) for n in range(60)]
    Index.build(documents, "local", shards=3)
    Index.build(documents, "ray", shards=3, engine=engine)
    assert _contents(tmp_path / "ray") == _contents(tmp_path / "local")
    with pytest.raises(InputError, match="doc_id occurs twice, first at documents:1"):
        Index.build([*documents, documents[0]], "twice", shards=3, engine=engine)
    assert not Path("twice").exists()


def test_a_run_by_a_cluster_is_that_of_this_process(engine, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("longrank.retrieval.blocks._BLOCK", 2)
    monkeypatch.chdir(tmp_path)
    Index.build(
        [
            (
                f"d{n:02d}",
                f"dogs bark w{n % 7} w{n % 3}",
            )
            for n in range(50)
        ],
        "index",
        shards=3,
    )
    queries = ["dogs w1", "w2 w6", "the", "w0 w0 w3", "bark"]
    here, there = Notes(), Notes()
    options = {"feedback": "rm3", "fb_docs": 3, "k": 9}
    run = longrank.retrieve("index", queries, notes=here, **options)
    spread = longrank.retrieve("index", queries, notes=there, engine=engine, **options)
    assert list(run.rows()) == list(spread.rows())
    assert here.lines() == there.lines() != []


@pytest.mark.slow
def test_evidence_by_a_cluster_is_the_bytes_of_this_process(engine, tmp_path: Path) -> None:
    folder = write_collection(tmp_path)
    inputs = [folder / "index", folder / "queries.jsonl", folder / "first.run"]
    options = {"pipeline": "lexical", "depth": 5, "assignments": {"final.block_queries": 2}}
    runs = [
        longrank.rerank(*inputs, **options, evidence=tmp_path / name, engine=where)
        for name, where in (("here", None), ("there", engine))
    ]
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()
    assert list(runs[0].rows()) == list(runs[1].rows())


@pytest.mark.neural
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.slow
def test_vectors_by_a_cluster_are_the_bytes_of_this_process(engine, tmp_path: Path, monkeypatch, workers: int) -> None:
    from longrank.verbs.index import add_vectors
    from tiny_models import save_encoder

    monkeypatch.setattr(engine, "workers", workers)  # each imports PyTorch anew
    model = str(save_encoder(tmp_path / "m"))
    found, notes = {}, {}
    for name, where in (("here", None), ("there", engine)):
        index = Index.build([(f"d{n}", f"Dogs bark at number {n}. " * n) for n in range(40)], tmp_path / name)
        notes[name] = Notes()
        add_vectors(index, model, "windows", engine=where, notes=notes[name])
        found[name] = _contents(tmp_path / name)
    assert found["here"] == found["there"]
    assert notes["here"].lines() == notes["there"].lines()


@pytest.mark.slow
@pytest.mark.neural
def test_predicted_queries_by_a_cluster_are_the_bytes_of_this_process(one_worker, tmp_path: Path) -> None:
    from tiny_language_models import save_seq2seq

    model = str(save_seq2seq(tmp_path / "m"))
    documents = [(f"d{n}", f"Dogs bark at number {n}. " * n) for n in range(30)]
    options = {"n": 2, "max_query_tokens": 8, "batch": 4}
    made = [
        longrank.expand(documents, model, tmp_path / name, engine=where, **options)
        for name, where in (("here", None), ("there", one_worker))
    ]
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()
    assert made[0].notes.lines() == made[1].notes.lines()


@pytest.mark.slow
@pytest.mark.neural
def test_sparse_vectors_and_folds_by_a_cluster_are_the_bytes_of_this_process(one_worker, tmp_path: Path) -> None:
    for name, work in (("sparse", spread.sparse), ("folds", spread.folds)):
        (tmp_path / name).mkdir()
        here, there = work(tmp_path / name, one_worker)
        assert here == there, name


@pytest.mark.slow
@pytest.mark.neural
def test_a_worker_of_a_cluster_out_of_memory_halves_its_batches_as_this_process_does(
    engine, tmp_path, monkeypatch
) -> None:
    here, there = spread.starved(tmp_path, engine, monkeypatch)
    assert here == there
    assert len([line for line in here[1] if "halved because memory ran out" in line]) == 1


@pytest.mark.slow
def test_weights_and_recipes_by_a_cluster_are_those_of_this_process(engine, workplace: Path, monkeypatch) -> None:
    monkeypatch.setattr("longrank.evaluation.tuning.weights._BLOCK", 3)
    (workplace / "weights").mkdir()
    here, there = spread.weights(workplace / "weights", engine)
    assert here == there
    assert operator.eq(*spread.recipes(workplace, engine))


@pytest.mark.slow
@pytest.mark.neural
def test_a_node_without_the_model_is_one_sentence(engine) -> None:
    from longrank.ranking.build import Encoder

    with pytest.raises(InputError, match=r"^the node \S+ cannot do the work: .*no-model") as caught:
        list(engine.each(Encoder("./no-model", "windows", 1), [[]]))
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_an_interrupt_frees_the_cluster(engine, tmp_path: Path) -> None:
    import ray

    process = spread.started(f"ray={ray.get_runtime_context().gcs_address}", tmp_path)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) != 0
    workers = [Path(f"/proc/{path.name}") for path in tmp_path.iterdir()]
    deadline = time.monotonic() + 60
    while any(path.exists() for path in workers) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not any(path.exists() for path in workers)
    assert list(engine.each(math.sqrt, [4.0, 4.0])) != []  # there is room for others
